"""Proxies with the provider's own tool search: requests are as a wrapped client sends them."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import MODES, Caller, client, wrapped
from tests.adapters.serving import SEND, TOOLS, WEATHER, conversation, definitions, names_in, served
from tests.fake_provider.answers import Answer, Call
from tests.retrieval.support import OFFICE
from tests.server.proxy.support import Proxied, message, proxied
from tests.server.proxy.test_replicas import replicas, talked
from toolsearch.api.scopes import KeyScope

MODELS = {"anthropic": "claude-opus-4-6", "openai_responses": "gpt-5.4"}
FORM = pytest.mark.parametrize("form", MODELS)


def search(query: str, call_id: str = "s1") -> Call:
    return Call(call_id, "tool_search", json.dumps({"queries": [query]}))


ERRAND = (
    Answer("Let me look.", (search("send an email message"),), reasoning="Hm."),
    Answer(calls=(SEND, search("current weather of a city", "s2"))),
    Answer(calls=(WEATHER,)),
    Answer("Sent."),
    Answer("Bye."),
)


def caller(through: Proxied, form: str, mode: str = "plain", **options: Any) -> Caller:
    asked = {"model": MODELS[form], **options}
    return Caller(form, through.client(form, mode), definitions(form, TOOLS), mode, options=asked)


@pytest.mark.parametrize("mode", MODES)
@FORM
def test_the_tools_of_a_task_stay_the_same_bytes(form: str, mode: str) -> None:
    with proxied(*ERRAND, proxy_delivery="native") as through:
        loop = caller(through, form, mode)
        assert [said[-5:] for said in loop.ask("Mail hi to Ann.", "Thanks.")] == ["Sent.", "Bye."]
    assert [name for name, _ in loop.ran] == ["mail__send_email", "get_weather"]
    assert not any("tool_search" in json.dumps(item, default=repr) for item in loop.history)
    bodies = through.provider.bodies
    assert len({json.dumps(body["tools"]) for body in bodies}) == 1
    assert "tool_search_output" in json.dumps(bodies) or "tool_reference" in json.dumps(bodies)
    for position in range(len(bodies) - 1):
        before, after = conversation(through.provider, position), conversation(through.provider, position + 1)
        assert after[: len(before)] == before


@FORM
def test_the_provider_is_sent_what_a_wrapped_client_sends(form: str) -> None:
    with proxied(*ERRAND, proxy_delivery="native") as through:
        caller(through, form).ask("Mail hi to Ann.", "Thanks.")
    with served(*ERRAND) as (provider, url):
        plain = wrapped(client(form, url), delivery="native", max_tools=128)
        options = {"model": MODELS[form]}
        Caller(form, plain, definitions(form, TOOLS), options=options).ask("Mail hi to Ann.", "Thanks.")
    assert through.provider.bodies == provider.bodies


@pytest.mark.parametrize(
    ("form", "model"),
    [
        ("openai_chat", "gpt-5.4"),
        ("openai_responses", "gpt-4.1"),
        ("openai_responses", "o3"),
        ("anthropic", "claude-3-5-haiku-latest"),
        ("anthropic", "glm-4.6"),
    ],
)
def test_where_no_search_of_the_model_is_known_tools_are_appended(form: str, model: str) -> None:
    find = Call("s1", "tool_search", '{"queries": ["send an email message"]}', native=False)
    with proxied(Answer(calls=(find,)), Answer("Found."), proxy_delivery="native") as through:
        loop = Caller(form, through.client(form), definitions(form, TOOLS), options={"model": model})
        assert loop.ask("Mail?") == ["Found."]
    assert list(map(names_in, through.provider.bodies)) == [
        ["tool_search"],
        ["tool_search", "mail__send_email"],
    ]
    assert "defer_loading" not in json.dumps(through.provider.bodies)


def test_an_alias_is_judged_by_the_name_that_the_provider_knows() -> None:
    rules: Any = {"proxy_model": ("best=claude-opus-4-6", "claude-3*"), "proxy_delivery": "native"}
    with proxied(Answer("Hi."), Answer("Hi."), **rules) as through:
        for _ in range(2):
            body = {**message("anthropic", "Hi."), "model": "best"}
            through.post("anthropic", {**body, "tools": definitions("anthropic", TOOLS)})
    first, second = through.provider.bodies
    assert first == second
    assert [tool.get("defer_loading") for tool in first["tools"]] == [None, *[True] * len(TOOLS)]


@FORM
def test_a_reference_of_the_caller_shows_it_no_tool_that_it_may_not_know(form: str) -> None:
    with proxied(then=Answer("Hi."), proxy_delivery="native", proxy_catalog=True) as through:
        key = through.service.key(KeyScope.SEARCH, deny=("web__*",))
        found: Any = {
            "anthropic": [
                {"role": "user", "content": "Hi."},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "x", "input": {}}]},
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "a",
                            "content": [{"type": "tool_reference", "tool_name": "web__search"}],
                        }
                    ],
                },
            ],
            "openai_responses": [
                {"role": "user", "content": "Hi."},
                {"type": "tool_search_call", "call_id": "a", "execution": "client", "arguments": {}},
                {
                    "type": "tool_search_output",
                    "call_id": "a",
                    "execution": "client",
                    "tools": [{"type": "function", "name": "web__search"}],
                },
            ],
        }
        body = message(form, "Hi.") | {"model": MODELS[form]}
        body["input" if "input" in body else "messages"] = found[form]
        through.post(form, body, {"X-ToolSearch-Key": key})
        hidden = next(tool for tool in OFFICE if tool.name == "web__search")
    assert all("web__search" not in json.dumps(body["tools"]) for body in through.provider.bodies)
    assert hidden.description not in json.dumps(through.provider.bodies)


@pytest.mark.parametrize("streamed", [False, True])
def test_any_process_goes_on_with_a_conversation_that_the_provider_keeps(streamed: bool) -> None:
    again = Answer(calls=(search("current weather of a city", "s3"),))
    steps = (Answer(calls=ERRAND[0].calls, reasoning="Hm."), ERRAND[1], again, *ERRAND[2:])
    with replicas(*steps, proxy_delivery="native") as pair:
        assert talked(pair, streamed=streamed, model="gpt-5.4") == ["", "", "Sent.", "Bye."]
