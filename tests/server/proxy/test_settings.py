"""Settings of the proxies: the limit of what runs, and those that are read again while the service runs."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import FORMS, Caller
from tests.adapters.serving import SEND, conversation, definitions, names_in, searches
from tests.fake_provider.answers import Answer, Failure
from tests.server.proxy.scripted import WAIT, Reply, scripted
from tests.server.proxy.support import PATHS, PREFIXES, Proxied, message, proxied
from tests.server.support import Served, service, until
from toolsearch.server import ServerSettings
from toolsearch.server.current import RELOADED
from toolsearch.server.proxy.settings import ProxySettings

TOOLS = (("mail__send_email", "Send an email message."), ("get_weather", "Current weather of a city."))
RESTART = {
    *("proxy", "openai_upstream", "anthropic_upstream"),
    *("proxy_delivery", "proxy_tool_lists", "proxy_exchanges"),
}


@pytest.mark.parametrize("path", [*(PREFIXES[form] + PATHS[form] for form in FORMS), "/openai/v1/models"])
def test_more_requests_than_may_run_are_told_to_come_back(path: str) -> None:
    """Whether tools are searched in them or not; other requests of the service are answered meanwhile."""
    with (
        scripted(Reply((WAIT,)), Reply((b"{}",))) as (provider, url),
        service(openai_upstream=url, anthropic_upstream=url, proxy_max_running=1) as served,
    ):
        with occupied(served, path):
            assert provider.waits.wait(20)
            refused = served.http.post(path, json={"model": "m"})
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            told = refused.json()["error"]
            assert (told["type"], told["message"][-13:]) == ("rate_limit_error", " (toolsearch)")
            assert served.http.get("/v1/tools").status_code == 200
        assert provider.gone.wait(20)
        until(lambda: served.http.post(path, json={"model": "m"}).status_code == 200)
    assert len(provider.got) == 2


def test_what_is_not_read_again_is_known() -> None:
    assert ProxySettings.model_fields.keys() - RELOADED == RESTART


@dataclass
class Reloading:
    """A service whose settings change while it runs."""

    through: Proxied
    now: list[ServerSettings]

    def change(self, **settings: Any) -> None:
        running = self.through.service.app.state.service
        self.now[:] = [running.settings.model_copy(update=settings)]
        asyncio.run(running.reload())

    def ask(self, form: str = "openai_chat", headers: dict[str, str] | None = None) -> Any:
        body = {**message(form, "Hi."), "tools": definitions(form, TOOLS)}
        return self.through.post(form, body, headers)


@contextlib.contextmanager
def reloading(*steps: Any, **settings: Any) -> Iterator[Reloading]:
    now: list[ServerSettings] = []
    with proxied(*steps, read_settings=lambda: now[0], **settings) as through:
        yield Reloading(through, now)


@pytest.mark.parametrize("form", FORMS)
def test_pins_and_limits_of_lists_count_from_the_next_request_on(form: str) -> None:
    with reloading(*[Answer("Hi.")] * 5) as running:
        for change in (
            {},
            {"proxy_pin": ("get_*",)},
            {"proxy_whole_below_tokens": 4000},
            {"proxy_whole_below_tokens": 0, "proxy_pin": ()},
        ):
            running.change(**change)
            running.ask(form)
    sent = [names_in(body) for body in running.through.provider.bodies]
    whole = [name for name, _ in TOOLS]
    assert sent == [["tool_search"], ["tool_search", "get_weather"], whole, ["tool_search"]]


@pytest.mark.parametrize("form", FORMS)
def test_a_conversation_goes_on_byte_for_byte_under_other_settings(form: str) -> None:
    steps = (searches("send an email message"), Answer(calls=(SEND,)), Answer("Sent."), Answer("Bye."))
    with reloading(*steps) as running:
        client = running.through.client(form)
        loop = Caller(form, client, definitions(form, TOOLS))
        loop.ask("Mail hi to Ann.")
        running.change(proxy_max_tools=50, proxy_max_rounds=3, proxy_retries=0)
        loop.client = running.through.client(form)
        loop.ask("Thanks.")
    before, after = (conversation(running.through.provider, place) for place in (2, 3))
    assert after[: len(before)] == before
    assert running.through.provider.bodies[3]["tools"] == running.through.provider.bodies[2]["tools"]


def test_models_and_headers_count_from_the_next_request_on() -> None:
    with reloading(*[Answer("Hi.")] * 9) as running:
        headers = {"X-Team": "a", "X-Trace": "b"}
        assert running.ask(headers=headers).status_code == 200
        running.change(proxy_model=("other", "m=real"), proxy_drop_header=("x-team",))
        assert running.ask(headers=headers).status_code == 200
        running.change(proxy_model=("other",), proxy_drop_header=())
        assert running.ask(headers=headers).status_code == 404
        running.change(proxy_model=(), proxy_only_header=("x-team",))
        assert running.ask(headers=headers).status_code == 200
    told = running.through.provider
    assert [body["model"] for body in told.bodies] == ["m", "real", "m"]
    kept = [{name for name in ("x-team", "x-trace") if name in got} for got in told.headers]
    assert kept == [{"x-team", "x-trace"}, {"x-trace"}, {"x-team"}]


def test_the_catalog_is_searched_from_the_next_request_on() -> None:
    with reloading(Answer("Hi."), Answer("Hi.")) as running:
        for wanted in (False, True):
            running.change(proxy_catalog=wanted)
            running.through.post("openai_chat", message("openai_chat", "Hi."))
    assert ["tools" in body for body in running.through.provider.bodies] == [False, True]


BUSY = Failure(503, '{"error": {"message": "busy"}}', {"retry-after": "0"})


@pytest.mark.parametrize(
    ("steps", "change", "status"),
    [
        ((BUSY, Answer("Hi.")), {"proxy_retries": 0}, 503),
        ((Failure(503, "{}", {"retry-after": "2"}), Answer("Hi.")), {"proxy_retry_wait_s": 1}, 503),
        ((searches("mail"), searches("weather")), {"proxy_max_rounds": 1}, 502),
        ((), {"proxy_max_body_bytes": 100}, 413),
        ((), {"proxy_max_tools": 4, "proxy_pin": ("*",)}, 200),
    ],
    ids=["retries", "wait", "rounds", "body", "tools"],
)
def test_limits_count_from_the_next_request_on(steps: Any, change: dict[str, Any], status: int) -> None:
    with reloading(Answer("Hi."), *steps, Answer("Hi.")) as running:
        assert running.ask().status_code == 200
        running.change(**change)
        assert running.ask().status_code == status


@pytest.mark.parametrize("change", [{"proxy_timeout_s": 0.05}, {"proxy_max_running": 1}])
def test_time_outs_and_what_may_run_count_from_the_next_request_on(change: dict[str, Any]) -> None:
    now: list[ServerSettings] = []
    with (
        scripted(Reply((WAIT,)), Reply((WAIT,))) as (provider, url),
        service(openai_upstream=url, read_settings=lambda: now[0]) as served,
    ):
        running = served.app.state.service
        with occupied(served, "/openai/v1/responses"):
            assert provider.waits.wait(20)
            now[:] = [running.settings.model_copy(update=change)]
            asyncio.run(running.reload())
            if "proxy_timeout_s" in change:
                with pytest.raises(httpx.RemoteProtocolError):  # its status had come in time
                    served.http.post("/openai/v1/responses", json={})
            else:
                assert served.http.post("/openai/v1/responses", json={}).status_code == 429


@contextlib.contextmanager
def occupied(served: Served, path: str) -> Iterator[None]:
    """A request for `path` whose answer is waited for; it goes away at the end."""
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as running:
        running.sendall(f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        yield


def test_a_provider_at_another_address_takes_a_restart(caplog: pytest.LogCaptureFixture) -> None:
    with reloading(Answer("Hi.")) as running:
        running.change(openai_upstream="http://127.0.0.1:9/v1", proxy_exchanges=1, proxy_pin=("get_*",))
        assert running.ask().status_code == 200
    assert names_in(running.through.provider.bodies[0]) == ["tool_search", "get_weather"]
    (told,) = [record.getMessage() for record in caplog.records if "restart" in record.getMessage()]
    assert told.endswith(": openai_upstream, proxy_exchanges")
