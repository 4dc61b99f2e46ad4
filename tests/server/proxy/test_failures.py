"""What goes wrong at the provider, and what its official client makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import FORMS, MODES, Caller
from tests.adapters.serving import SEND, definitions, searches
from tests.fake_provider.answers import Answer, Failure
from tests.server.proxy.support import Proxied, message, proxied

TOOLS = (("mail__send_email", "Send an email message."), ("get_weather", "Current weather of a city."))
NOW = {"retry-after": "0"}
BUSY = {
    "anthropic": '{"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}',
    "openai_chat": '{"error": {"message": "slow down", "type": "requests", "param": null, "code": "rate"}}',
}
STATUS_ERRORS = (openai.APIStatusError, anthropic.APIStatusError)


def busy(form: str, status: int = 429, headers: dict[str, str] | None = None) -> Failure:
    body = BUSY.get(form, BUSY["openai_chat"])
    return Failure(status, body, {"content-type": "application/json", **(headers or {})})


def caller(through: Proxied, form: str, mode: str = "plain", **options: Any) -> Caller:
    return Caller(form, through.client(form, mode, **options), definitions(form, TOOLS), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_a_busy_provider_is_asked_again(form: str, mode: str) -> None:
    steps = (
        busy(form, 429, NOW),
        searches("send an email message"),
        busy(form, 503, NOW),
        Answer(calls=(SEND,)),
        Answer("Sent."),
    )
    with proxied(*steps) as through:
        loop = caller(through, form, mode)
        assert loop.ask("Mail hi to Ann.") == ["Sent."]
    assert through.provider.raw[0] == through.provider.raw[1]
    assert through.provider.raw[2] == through.provider.raw[3]


@pytest.mark.parametrize("form", FORMS)
def test_a_wait_in_milliseconds_goes_first(form: str) -> None:
    """As the official clients read it; by the seconds the caller would hear of it at once."""
    asked = {"retry-after-ms": "1", "retry-after": "900"}
    with proxied(busy(form, 429, asked), Answer("Here.")) as through:
        assert caller(through, form).ask("Hello.") == ["Here."]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_what_the_service_does_not_try_again_the_client_does(form: str, mode: str) -> None:
    """Nothing has been sent on when a later round fails, not even of a stream: so the client may."""
    steps = (
        busy(form, 429, NOW),
        searches("send an email message"),
        busy(form, 529, NOW),
        searches("send an email message"),
        Answer("Nothing to do."),
    )
    with proxied(*steps, proxy_retries=0) as through:
        loop = caller(through, form, mode, max_retries=2)
        assert loop.ask("Mail hi to Ann.") == ["Nothing to do."]
    assert len(through.provider.bodies) == 5


@pytest.mark.parametrize(
    "failure",
    [
        lambda form: busy(form, 429, {"retry-after": "900"}),
        lambda form: busy(form, 429, {"retry-after-ms": "900000", "retry-after": "0"}),
        lambda form: busy(form, 429, {"x-should-retry": "false"}),
        lambda form: Failure(429, '{"error": {"message": "slow down: insufficient_quota"}}', NOW),
        lambda form: busy(form, 400),
    ],
    ids=["too long a wait", "too many milliseconds", "told not to", "no credit", "a fault of the request"],
)
def test_what_waiting_does_not_mend_is_told_at_once(failure: Callable[[str], Failure]) -> None:
    for form in FORMS:
        with proxied(failure(form)) as through, through.client(form) as client:
            with pytest.raises(STATUS_ERRORS, match="slow down") as caught:
                ask(client, form, definitions(form, TOOLS))
            assert len(through.provider.bodies) == 1
        told: Any = caught.value
        assert told.status_code == failure(form).status
        for name, value in failure(form).headers.items():
            assert told.response.headers[name] == value


@pytest.mark.parametrize("form", FORMS)
def test_a_failure_after_something_was_shown_comes_as_an_event(form: str) -> None:
    steps = (searches("send an email message", text="Let me look."), busy(form, 500))
    with proxied(*steps, proxy_retries=0) as through, through.client(form) as client:
        stream = ask(client, form, definitions(form, TOOLS), stream=True)
        with pytest.raises((openai.APIError, anthropic.APIError), match="slow down"):
            list(stream)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_a_model_that_goes_on_searching_is_stopped(form: str, stream: bool) -> None:
    steps = searches("send an email message")
    with proxied(then=steps, proxy_max_rounds=3) as through, through.client(form, max_retries=2) as client:
        with pytest.raises(STATUS_ERRORS, match="went on searching for 3 rounds") as caught:
            list(ask(client, form, definitions(form, TOOLS), stream=stream))
        assert len(through.provider.bodies) == 3
    told: Any = caught.value
    assert told.status_code == 502


@pytest.mark.parametrize("form", FORMS)
def test_a_model_that_speaks_and_goes_on_searching_is_stopped_in_its_stream(form: str) -> None:
    steps = searches("send an email message", text="Hm.")
    with proxied(then=steps, proxy_max_rounds=2) as through, through.client(form) as client:
        stream = ask(client, form, definitions(form, TOOLS), stream=True)
        with pytest.raises((openai.APIError, anthropic.APIError), match="went on searching"):
            list(stream)


@pytest.mark.parametrize("form", FORMS)
def test_a_provider_that_cannot_be_reached_is_a_bad_gateway(form: str) -> None:
    nowhere = "http://127.0.0.1:9"
    settings: Any = {"openai_upstream": nowhere, "anthropic_upstream": nowhere, "proxy_retries": 0}
    told: Any = None
    with proxied(**settings) as through, through.client(form) as client:
        try:
            ask(client, form, definitions(form, TOOLS))
        except STATUS_ERRORS as exc:
            told = exc
    assert "could not be reached" in str(told)
    assert told.status_code == 502
    assert "127.0.0.1:9" not in str(told)


def test_a_body_that_is_too_large_is_told_in_the_form_of_the_provider() -> None:
    with proxied(proxy_max_body_bytes=2000) as through:
        for form in FORMS:
            answer = through.post(form, {**message(form, "x" * 3000)})
            assert answer.status_code == 413
            kind = "request_too_large" if form == "anthropic" else "invalid_request_error"
            assert answer.json()["error"]["type"] == kind
        assert through.provider.bodies == []


def ask(client: Any, form: str, tools: Any, **more: Any) -> Any:
    request = {**message(form, "Mail hi to Ann."), "tools": tools, **more}
    match form:
        case "openai_chat":
            request.pop("max_tokens")
            return client.chat.completions.create(**request)
        case "openai_responses":
            return client.responses.create(**request)
    return client.messages.create(**request)


def test_errors_of_the_service_are_those_of_the_provider_in_form() -> None:
    with proxied() as through:
        answer = through.post("openai_chat", {}, {"X-ToolSearch-Catalog": "other"})
        assert json.loads(answer.text) == {
            "error": {
                "message": "x-toolsearch-catalog must be one of default, none. (toolsearch)",
                "type": "invalid_request_error",
                "param": None,
                "code": "refused",
            }
        }
        answer = through.post("anthropic", {}, {"X-ToolSearch-Session": "no spaces"})
        told = answer.json()
        assert (told["type"], told["error"]["type"]) == ("error", "invalid_request_error")
        assert told["request_id"] == answer.headers["x-request-id"]
