"""`wrap(delivery="native")`: the provider's own tool search, so that the tools of a request never change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.adapters.callers import MODES, Caller, client, wrapped
from tests.adapters.serving import SEND, TOOLS, WEATHER, conversation, definitions, served
from tests.fake_provider.answers import Answer, Call
from toolsearch.session.memory import MemorySessionStore

FORMS = ("openai_responses", "anthropic")
FORM = pytest.mark.parametrize("form", FORMS)


def search(*queries: str, call_id: str = "s1") -> Call:
    return Call(call_id, "tool_search", json.dumps({"queries": list(queries)}))


def caller(form: str, url: str, mode: str = "plain", **options: Any) -> Caller:
    plain = client(form, url, is_async="async" in mode)
    return Caller(form, wrapped(plain, delivery="native", **options), definitions(form, TOOLS), mode)


def visible(body: dict[str, Any]) -> list[str]:
    """Names, or types where there are none, of the tools that the model sees from the start."""
    return [tool.get("name", tool.get("type")) for tool in body["tools"] if not tool.get("defer_loading")]


@pytest.mark.parametrize("mode", MODES)
@FORM
def test_a_loop_is_served_and_the_tools_stay_the_same_bytes(form: str, mode: str) -> None:
    steps = (
        Answer("Let me look.", (search("send an email message"),), reasoning="Hm."),
        Answer(calls=(search("current weather of a city", call_id="s2"), SEND)),
        Answer(calls=(WEATHER,)),
        Answer("Sent."),
        Answer("Bye."),
    )
    with served(*steps) as (provider, url):
        loop = caller(form, url, mode)
        assert [said.split("\n")[-1][-5:] for said in loop.ask("Mail hi to Ann.", "Thanks.")] == [
            "Sent.",
            "Bye.",
        ]
    assert [name for name, _ in loop.ran] == ["mail__send_email", "get_weather"]
    assert len({json.dumps(body["tools"]) for body in provider.bodies}) == 1
    assert visible(provider.bodies[0]) == ["tool_search"]
    assert not any("tool_search" in json.dumps(item, default=repr) for item in loop.history)
    for position in range(len(steps) - 1):
        before, after = conversation(provider, position), conversation(provider, position + 1)
        assert after[: len(before)] == before


def test_results_of_anthropic_refer_to_tools_that_are_declared() -> None:
    with served(Answer(calls=(search("send an email message"),)), Answer("Found.")) as (provider, url):
        caller("anthropic", url).ask("Mail?")
    first = provider.bodies[0]["tools"]
    deferred = [{**tool, "defer_loading": True} for tool in definitions("anthropic", sorted(TOOLS))]
    assert first[1:] == deferred
    (result,) = conversation(provider, 1)[-1]["content"]
    assert result["content"] == [{"type": "tool_reference", "tool_name": "mail__send_email"}]


def test_results_of_responses_bring_the_tools() -> None:
    """The model calls its search by an item of its own, which the client answers by another."""
    with served(Answer(calls=(search("send an email message"),)), Answer("Found.")) as (provider, url):
        caller("openai_responses", url).ask("Mail?")
    (tool,) = provider.bodies[0]["tools"]
    assert (tool["type"], tool["execution"]) == ("tool_search", "client")
    assert "queries" in tool["parameters"]["properties"]
    _, asked, result = conversation(provider, 1)
    assert (asked["type"], result["type"], result["call_id"]) == (
        "tool_search_call",
        "tool_search_output",
        "s1",
    )
    (mail,) = definitions("openai_responses", TOOLS[:1])
    assert result["tools"] == [{**mail, "defer_loading": True}]


@FORM
def test_a_search_that_finds_nothing_says_so(form: str) -> None:
    """Also in the form whose result has no place for words."""
    with served(Answer(calls=(search(),)), Answer("No.")) as (provider, url):
        assert caller(form, url).ask("Mail?") == ["No."]
    last = conversation(provider, 1)[-1]
    words = last["content"] if form == "openai_responses" else last["content"][0]["content"]
    assert "queries" in words


@FORM
def test_a_call_of_a_hidden_tool_is_sent_back_to_the_model(form: str) -> None:
    with served(Answer(calls=(WEATHER,)), Answer("I see.")) as (provider, url):
        loop = caller(form, url)
        assert loop.ask("Weather?") == ["I see."]
    assert loop.ran == []
    assert "There is no tool 'get_weather'." in json.dumps(conversation(provider, 1)[-1])


@FORM
def test_what_no_result_tells_of_any_more_is_shown_openly(form: str) -> None:
    store = MemorySessionStore()
    steps = (Answer(calls=(search("send an email message"),)), Answer("Found."), Answer("Again."))
    with served(*steps) as (provider, url):
        for text in ("Mail?", "What now?"):
            loop = caller(form, url, session_store=store)
            loop.options = {"toolsearch_session": "one"}
            loop.ask(text)
    assert visible(provider.bodies[2]) == ["tool_search", "mail__send_email"]


def test_a_response_that_goes_on_at_the_provider_keeps_its_tools() -> None:
    steps = (Answer(calls=(search("send an email message"),)), Answer("Found."), Answer(calls=(SEND,)))
    tools = definitions("openai_responses", TOOLS)
    with (
        served(*steps) as (provider, url),
        wrapped(client("openai_responses", url), delivery="native") as searching,
    ):
        first = searching.responses.create(model="m", input="Mail?", tools=tools)
        then = searching.responses.create(model="m", input="Do.", tools=tools, previous_response_id=first.id)
    assert [item.name for item in then.output] == ["mail__send_email"]
    assert provider.bodies[2]["tools"] == provider.bodies[0]["tools"]


def test_the_mark_of_a_cached_list_goes_to_the_last_tool_that_is_shown() -> None:
    tools = definitions("anthropic", TOOLS)
    tools[-1]["cache_control"] = {"type": "ephemeral"}
    with (
        served(Answer("Hi.")) as (provider, url),
        wrapped(client("anthropic", url), delivery="native", pinned=("get_weather",)) as searching,
    ):
        message = {"role": "user", "content": [{"type": "text", "text": "Hi."}]}
        searching.messages.create(model="m", max_tokens=9, messages=[message], tools=tools)
    marked = [tool["name"] for tool in provider.bodies[0]["tools"] if "cache_control" in tool]
    assert marked == visible(provider.bodies[0])[-1:] == ["get_weather"]


@FORM
def test_a_small_list_is_sent_as_it_came(form: str) -> None:
    with served(Answer("Hi.")) as (provider, url):
        caller(form, url, whole_below_tokens=100_000).ask("Hello.")
    assert provider.bodies[0]["tools"] == definitions(form, TOOLS)


@pytest.mark.parametrize(
    ("form", "model"),
    [("openai_chat", "gpt-5.4"), ("openai_responses", "gpt-4.1"), ("anthropic", "claude-3-5-haiku-latest")],
)
def test_what_has_no_search_of_its_own_is_refused(form: str, model: str) -> None:
    with served() as (provider, url):
        loop = caller(form, url)
        loop.options = {"model": model}
        with pytest.raises(ValueError, match="wrap with delivery='append'"):
            loop.ask("Hello.")
    assert provider.bodies == []


def test_other_deliveries_are_refused() -> None:
    told = "must be one of append, native"
    with (
        served() as (_, url),
        client("openai_chat", url) as plain,
        pytest.raises(ValueError, match=told),
    ):
        wrapped(plain, delivery="bridge")
