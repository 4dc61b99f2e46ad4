"""Rules for the members of requests, and the time in which a provider must be reached."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import FORMS
from tests.adapters.serving import definitions
from tests.fake_provider.answers import Answer
from tests.server.proxy.scripted import Reply, scripted
from tests.server.proxy.support import PATHS, PREFIXES, message, proxied
from tests.server.proxy.test_settings import TOOLS, reloading
from tests.server.support import service
from toolsearch.exceptions import ServerSettingsError
from toolsearch.server.proxy.members import MemberRules
from toolsearch.server.settings import made_settings

RULES: dict[str, Any] = {
    "proxy_drop_member": ("store", "x_*"),
    "proxy_set_member": ('user="service"', "temperature=0"),
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("tools", [TOOLS, ()], ids=["searched", "passed"])
@pytest.mark.parametrize("form", FORMS)
def test_members_are_dropped_and_set(form: str, tools: Any, *, streamed: bool) -> None:
    body = {**message(form, "Hi."), "Store": True, "x_trace": "1", "temperature": 1.0, "top_p": 0.5}
    with proxied(Answer("Hi."), **RULES) as through:
        brought = {"tools": definitions(form, tools)} if tools else {}
        answer = through.post(form, {**body, **brought, "stream": streamed})
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(
            "text/event-stream" if streamed else "application/json"
        )
    (got,) = through.provider.bodies
    assert got["temperature"] == 0
    assert got["user"] == "service"
    assert got["top_p"] == 0.5
    assert not {"Store", "store", "x_trace"} & got.keys()
    assert ("tools" in got) == bool(tools)


@pytest.mark.parametrize("form", FORMS)
def test_a_body_that_no_rule_changes_goes_out_byte_for_byte(form: str) -> None:
    body = {**message(form, "Hi, \u00e9."), "user": "service", "temperature": 0}
    raw = json.dumps(body, indent=3, ensure_ascii=False).encode()
    with (
        scripted(Reply((b"{}",)), Reply((b"{}",))) as (provider, url),
        service(openai_upstream=url, anthropic_upstream=url, **RULES) as served,
    ):
        path = PREFIXES[form] + PATHS[form]
        headers = {"Content-Type": "application/json"}
        assert served.http.post(path, content=raw, headers=headers).status_code == 200
        changed = raw.replace(b'"temperature": 0', b'"temperature": 1')
        assert served.http.post(path, content=changed, headers=headers).status_code == 200
    first, second = (got.body for got in provider.got)
    assert first == raw
    assert json.loads(second) == body
    assert second != raw


def test_rules_of_members_count_from_the_next_request_on() -> None:
    with reloading(*[Answer("Hi.")] * 2) as running:
        running.ask()
        running.change(proxy_set_member=("seed=7",))
        running.ask()
    assert [body.get("seed") for body in running.through.provider.bodies] == [None, 7]


def test_a_body_that_rules_cannot_read_is_refused() -> None:
    with proxied(proxy_drop_member=("store",)) as through:
        for content in (b'{"model": "m", "store": true, "store": false}', b"no json"):
            assert through.service.http.post(through.url("openai_chat"), content=content).status_code == 400
    assert through.provider.bodies == []


def test_a_count_of_tokens_gets_no_member() -> None:
    rules = MemberRules(drop=["store"], put=["temperature=0"])
    assert rules.applied({"model": "m", "store": True}, sets=False) == {"model": "m"}


def test_a_set_member_stays_in_its_place_and_true_is_not_one() -> None:
    rules = MemberRules(drop=["*"], put=["n=1"])
    assert list(rules.applied({"n": True, "model": "m", "N": 2, "seed": 3}).items()) == [
        ("n", 1),
        ("model", "m"),
    ]
    assert rules.applied({"n": True})["n"] is not True


@pytest.mark.parametrize(
    "rule",
    [
        {"proxy_drop_member": ("messages",)},
        {"proxy_set_member": ('Model="m"',)},
        {"proxy_set_member": ("temperature",)},
        {"proxy_set_member": ("user=me",)},
        {"proxy_set_member": ("x_*=1",)},
    ],
)
def test_rules_of_members_that_cannot_be_used_are_told(rule: dict[str, Any]) -> None:
    with pytest.raises(ServerSettingsError, match=next(iter(rule))):
        made_settings(rule)


def test_a_provider_that_cannot_be_reached_is_not_waited_for() -> None:
    """`proxy_connect_s`, beside which an answer may take much longer."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        # The queue of a server that takes nobody is full after these.
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        url = f"http://{address[0]}:{address[1]}"
        with service(openai_upstream=url, proxy_connect_s=0.3, proxy_retries=0) as served:
            begun = time.monotonic()
            answer = served.http.post("/openai/v1/chat/completions", json={"model": "m", "messages": []})
            took = time.monotonic() - begun
        for each in waiting:
            each.close()
    assert answer.status_code in {502, 504}
    assert 0.2 < took < 5
