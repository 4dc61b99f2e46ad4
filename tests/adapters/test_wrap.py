"""`wrap` with the official clients, against a provider that speaks HTTP and refuses what providers refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.adapters.callers import FORMS, MODES, Caller, client, wrapped
from tests.adapters.serving import (
    SEND,
    TOOLS,
    WEATHER,
    conversation,
    definitions,
    names_in,
    search_call,
    searches,
    served,
)
from tests.fake_provider.answers import Answer, Call
from tests.fake_provider.provider import FakeProvider


def caller(form: str, url: str, mode: str = "plain", **options: Any) -> Caller:
    plain = client(form, url, is_async="async" in mode)
    return Caller(form, wrapped(plain, **options), definitions(form, TOOLS), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_a_loop_gets_only_calls_of_its_own_tools(form: str, mode: str) -> None:
    steps = (searches("send an email message"), Answer(calls=(SEND,)), Answer("Sent."))
    with served(*steps) as (provider, url):
        loop = caller(form, url, mode)
        assert loop.ask("Mail hi to Ann.") == ["Sent."]
    assert loop.ran == [("mail__send_email", {"text": "hi"})]
    assert list(map(names_in, provider.bodies)) == [
        ["tool_search"],
        ["tool_search", "mail__send_email"],
        ["tool_search", "mail__send_email"],
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_usage_is_that_of_all_rounds_of_a_call(form: str, mode: str) -> None:
    steps = (searches("send an email message"), searches("weather", call_id="s2"), Answer("Sent."))
    with served(*steps) as (_, url):
        loop = caller(form, url, mode)
        loop.ask("Mail hi to Ann.")
    # Anthropic counts what was read from the cache apart from the input.
    assert loop.usages == [(3 * (11 - 3 * (form == "anthropic")), 3 * 7)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_each_request_continues_the_one_before(form: str, mode: str) -> None:
    """Search rounds are put back where they happened, so a provider's prompt cache holds."""
    steps = (
        searches("send an email message"),
        Answer(calls=(SEND,)),
        searches("current weather of a city", call_id="s2"),
        Answer(calls=(WEATHER,)),
        Answer("All done."),
        Answer("You are welcome."),
    )
    with served(*steps) as (provider, url):
        loop = caller(form, url, mode)
        assert loop.ask("Mail the weather to Ann.", "Thanks.") == ["All done.", "You are welcome."]
    for position in range(len(steps) - 1):
        before, after = conversation(provider, position), conversation(provider, position + 1)
        assert after[: len(before)] == before
    assert names_in(provider.bodies[-1]) == ["tool_search", "mail__send_email", "get_weather"]
    assert not any("tool_search" in json.dumps(item, default=repr) for item in loop.history)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_a_search_beside_a_call_is_run_and_kept_from_the_caller(form: str, mode: str) -> None:
    steps = (
        searches("send an email message"),
        Answer(calls=(search_call("current weather of a city", call_id="s2"), SEND)),
        Answer(calls=(WEATHER,)),
        Answer("Done."),
    )
    with served(*steps) as (provider, url):
        loop = caller(form, url, mode)
        assert loop.ask("Mail hi to Ann, then tell me the weather.") == ["Done."]
    assert [name for name, _ in loop.ran] == ["mail__send_email", "get_weather"]
    assert names_in(provider.bodies[2]) == ["tool_search", "mail__send_email", "get_weather"]
    sent = json.dumps(conversation(provider, 2))
    assert sent.count('"s2"') == 2
    assert "- get_weather: Current weather of a city." in sent


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_a_call_of_a_hidden_tool_is_sent_back_to_the_model(form: str, mode: str) -> None:
    steps = (
        Answer(calls=(WEATHER,)),
        searches("current weather of a city"),
        Answer(calls=(Call("c3", "get_weather", "{}"),)),
        Answer("Rain."),
    )
    with served(*steps) as (provider, url):
        loop = caller(form, url, mode)
        assert loop.ask("Weather?") == ["Rain."]
    assert loop.ran == [("get_weather", {})]
    assert "There is no tool 'get_weather'. Find tools with tool_search first" in json.dumps(
        conversation(provider, 1)
    )


def calls_of(form: str, provider: FakeProvider, position: int) -> list[tuple[str, Any]]:
    """Id and arguments of each call that a request told of, as a provider reads them."""
    items = conversation(provider, position)
    if form == "openai_chat":
        calls = [call for item in items for call in item.get("tool_calls") or ()]
        return [(call["id"], json.loads(call["function"]["arguments"])) for call in calls]
    if form == "openai_responses":
        calls = [item for item in items if item.get("type") == "function_call"]
        return [(call["call_id"], json.loads(call["arguments"])) for call in calls]
    blocks = [block for item in items for block in item["content"]]
    return [(block["id"], block["input"]) for block in blocks if block["type"] == "tool_use"]


def results_of(form: str, provider: FakeProvider, position: int) -> list[tuple[str, str]]:
    """Id and text of each result that a request told of."""
    items = conversation(provider, position)
    if form == "openai_chat":
        return [(item["tool_call_id"], item["content"]) for item in items if item.get("role") == "tool"]
    if form == "openai_responses":
        outputs = [item for item in items if item.get("type") == "function_call_output"]
        return [(item["call_id"], item["output"]) for item in outputs]
    blocks = [block for item in items for block in item["content"]]
    return [(block["tool_use_id"], block["content"]) for block in blocks if block["type"] == "tool_result"]


QUERIES = {"queries": ["send an email message"]}
MALFORMED = [
    ('{"queries": ["unterm', False),
    ("", False),
    ("null", False),
    ("[1]", False),
    (json.dumps(json.dumps(QUERIES)), True),
]


@pytest.mark.parametrize(("arguments", "finds"), MALFORMED)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_broken_arguments_of_a_search_go_back_as_an_object(
    form: str, mode: str, arguments: str, finds: bool
) -> None:
    """(E83, E85, E87, E94)"""
    broken = Call("s1", "tool_search", arguments, native=False)
    steps = (Answer(calls=(broken,)), searches("send an email message", call_id="s2"), Answer("Done."))
    with served(*steps) as (provider, url):
        assert caller(form, url, mode).ask("Mail hi to Ann.") == ["Done."]
    ((call_id, sent),) = calls_of(form, provider, 1)
    assert isinstance(sent, dict)
    assert (sent == QUERIES) is finds
    assert [result[0] for result in results_of(form, provider, 1)] == [call_id]
    assert ("mail__send_email" in names_in(provider.bodies[1])) is finds


@pytest.mark.parametrize(("arguments", "finds"), MALFORMED)
@pytest.mark.parametrize("form", FORMS)
def test_broken_arguments_beside_a_call_go_back_as_an_object(form: str, arguments: str, finds: bool) -> None:
    """(E83, E85, E87, E94)"""
    broken = Call("s2", "tool_search", arguments, native=False)
    steps = (searches("send an email message"), Answer(calls=(broken, SEND)), Answer("Done."))
    with served(*steps) as (provider, url):
        loop = caller(form, url)
        assert loop.ask("Mail hi to Ann.") == ["Done."]
    assert [name for name, _ in loop.ran] == ["mail__send_email"]
    sent = dict(calls_of(form, provider, 2))
    assert sent.keys() == {"s1", "s2", "c1"}
    assert isinstance(sent["s2"], dict)
    assert (sent["s2"] == QUERIES) is finds


@pytest.mark.parametrize("call_id", ["", "1"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_searches_with_empty_or_repeated_ids_each_get_their_result(
    form: str, mode: str, call_id: str
) -> None:
    """(E101)"""
    both = ("send an email message", "current weather of a city")
    steps = (
        Answer(calls=tuple(search_call(query, call_id=call_id) for query in both)),
        searches("search the web", call_id=call_id),
        Answer("Done."),
    )
    with served(*steps) as (provider, url):
        assert caller(form, url, mode).ask("Mail the weather to Ann.") == ["Done."]
    called = [call for call, _ in calls_of(form, provider, 2)]
    assert len(set(called)) == 3
    assert "" not in called
    answered = results_of(form, provider, 2)
    assert [result for result, _ in answered] == called
    found = ("mail__send_email", "get_weather", "web__search")
    assert all(name in text for name, (_, text) in zip(found, answered, strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_a_search_with_the_id_of_a_call_beside_it_gets_another(form: str) -> None:
    """(E101)"""
    beside = Answer(calls=(search_call("current weather of a city", call_id="c1"), SEND))
    steps = (searches("send an email message", call_id=""), beside, Answer("Done."), Answer("Bye."))
    with served(*steps) as (provider, url):
        assert caller(form, url).ask("Mail hi to Ann.", "Thanks.") == ["Done.", "Bye."]
    for position in (2, 3):
        called = [call for call, _ in calls_of(form, provider, position)]
        assert len(set(called)) == 3
        assert sorted(result for result, _ in results_of(form, provider, position)) == sorted(called)
    assert ("c1", "mail__send_email ran") in results_of(form, provider, 3)


@pytest.mark.parametrize("form", FORMS)
def test_a_search_with_the_id_of_a_call_after_it_gets_another_that_stays(form: str) -> None:
    """(E101)"""
    steps = (
        searches("send an email message", call_id="c1"),
        Answer(calls=(SEND,)),
        searches("current weather of a city", call_id="c1"),
        Answer("Done."),
        Answer("Bye."),
    )
    with served(*steps) as (provider, url):
        assert caller(form, url).ask("Mail hi to Ann.", "Thanks.") == ["Done.", "Bye."]
    called = [call for call, _ in calls_of(form, provider, 4)]
    assert len(set(called)) == 3
    assert sorted(result for result, _ in results_of(form, provider, 4)) == sorted(called)
    assert ("c1", "mail__send_email ran") in results_of(form, provider, 4)
    before, after = conversation(provider, 3), conversation(provider, 4)
    assert after[: len(before)] == before


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_called_beside_the_search_that_finds_it_is_sent_back(form: str) -> None:
    both = Answer(calls=(search_call("current weather of a city"), WEATHER))
    with served(both, Answer(calls=(Call("c3", "get_weather"),)), Answer("Rain.")) as (provider, url):
        loop = caller(form, url)
        assert loop.ask("Weather?") == ["Rain."]
    assert [name for name, _ in loop.ran] == ["get_weather"]
    assert "There is no tool 'get_weather'." in dict(results_of(form, provider, 1))["c2"]


@pytest.mark.parametrize("form", FORMS)
def test_streams_show_what_a_round_says_before_it_searches(form: str) -> None:
    steps = (searches("send an email message", text="Let me look."), Answer("Found it."))
    with served(*steps) as (_, url):
        loop = caller(form, url, "streamed")
        (said,) = loop.ask("Mail?")
    assert said.replace("\n\n", "") == "Let me look.Found it."


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", FORMS)
def test_what_a_search_round_said_is_told_once(form: str, mode: str) -> None:
    """Streams have shown it, so the caller's history has it, too; providers refuse the same item twice."""
    steps = (
        Answer("Let me look.", (search_call("send an email message"),), reasoning="Hm."),
        Answer("Sending.", (SEND,), reasoning="Ah."),
        Answer("Sent."),
        Answer("Bye."),
    )
    with served(*steps) as (provider, url):
        caller(form, url, mode).ask("Mail hi to Ann.", "Thanks.")
    for position in range(3):
        before, after = conversation(provider, position), conversation(provider, position + 1)
        assert after[: len(before)] == before
    sent = json.dumps(provider.bodies[3])
    assert [sent.count(words) for words in ("Let me look.", "Sending.", "Sent.")] == [1, 1, 1]


@pytest.mark.parametrize("form", FORMS)
def test_a_small_list_is_sent_as_it_came(form: str) -> None:
    with served(Answer("Hi.")) as (provider, url):
        loop = caller(form, url, whole_below_tokens=100_000)
        loop.ask("Hello.")
    with served(Answer("Hi.")) as (bare, url):
        Caller(form, client(form, url), definitions(form, TOOLS)).ask("Hello.")
    assert provider.raw == bare.raw


@pytest.mark.parametrize("form", FORMS)
def test_a_call_without_tools_goes_out_as_it_came(form: str) -> None:
    with served(Answer("Hi.")) as (provider, url):
        loop = caller(form, url)
        loop.tools = []
        loop.ask("Hello.")
    assert "tool_search" not in provider.raw[0].decode()


def test_the_helper_of_messages_shows_the_rounds_as_one_message() -> None:
    steps = (searches("send an email message", text="Let me look."), Answer("I can.", calls=(SEND,)))
    with served(*steps) as (_, url):
        searching = wrapped(client("anthropic", url))
        message = {"role": "user", "content": [{"type": "text", "text": "Mail?"}]}
        with (
            searching,
            searching.messages.stream(
                model="m", max_tokens=9, messages=[message], tools=definitions("anthropic", TOOLS)
            ) as stream,
        ):
            assert "".join(stream.text_stream) == "Let me look.I can."
            final = stream.get_final_message()
    assert [block.type for block in final.content] == ["text", "text", "tool_use"]
    assert final.usage.output_tokens == 14
