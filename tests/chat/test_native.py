"""Tool search that the provider knows of: declarations stay, and what is found comes with the result."""

import asyncio
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.chat.conftest import MODELS
from tests.fake_provider import Answer, Call, FakeProvider
from toolsearch.chat import ChatRequest, ChatResponse, NativeSearch
from toolsearch.chat.model import HttpChatModel
from toolsearch.exceptions import ChatRequestError
from toolsearch.formats import write_tools
from toolsearch.messages import AssistantMessage, SystemMessage, TextPart, ToolCall, ToolMessage, UserMessage
from toolsearch.tools import JsonObject, Tool

Connect = Callable[..., tuple[HttpChatModel, FakeProvider]]

SEARCH = Tool(
    raw_name="find_tools",
    description="Finds tools.",
    input_schema={
        "type": "object",
        "properties": {"queries": {"type": "array", "items": {"type": "string"}}},
    },
)
PINNED = Tool(raw_name="now", pinned=True)
HIDDEN = tuple(Tool(raw_name=name, description=f"Does {name}.") for name in ("add", "mail", "weather"))
ADD, MAIL, WEATHER = HIDDEN
NATIVE = NativeSearch("find_tools", HIDDEN)


def called(call_id: str, queries: str = '{"queries":["x"]}') -> AssistantMessage:
    return AssistantMessage(content=(ToolCall(id=call_id, name="find_tools", arguments=queries),))


def found(call_id: str, *names: str, text: str = "found") -> ToolMessage:
    part = TextPart(text=text)
    return ToolMessage(call_id=call_id, name="find_tools", content=(part,), discovered=names)


def rounds() -> list[ChatRequest]:
    """Three rounds: nothing known, one tool found, another found."""
    start = (SystemMessage(text="Be brief."), UserMessage.of("mail the weather"))
    one = (*start, called("c1"), found("c1", "weather"))
    two = (*one, called("c2"), found("c2", "mail", "weather"))
    return [
        ChatRequest(start, tools=(SEARCH, PINNED), native=NATIVE),
        ChatRequest(one, tools=(SEARCH, PINNED, WEATHER), native=NATIVE),
        ChatRequest(two, tools=(SEARCH, PINNED, WEATHER, MAIL), native=NATIVE),
    ]


def encoded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("form", ["anthropic", "openai_responses"])
def test_each_round_sends_the_one_before_unchanged_and_more(form: str) -> None:
    """Byte for byte, so that the provider's prompt cache holds."""
    bodies = [MODELS[form]("m").body(request) for request in rounds()]
    conversation = "messages" if form == "anthropic" else "input"
    for before, after in itertools.pairwise(bodies):
        assert encoded(after["tools"]) == encoded(before["tools"])
        assert encoded(after[conversation]).startswith(encoded(before[conversation]).removesuffix("]"))


def test_anthropic_declares_all_and_refers_to_what_was_found() -> None:
    body = MODELS["anthropic"]("claude-opus-4-8").body(rounds()[2])
    plain = write_tools((SEARCH, PINNED, *HIDDEN), "anthropic")
    assert body["tools"] == plain[:2] + [{**record, "defer_loading": True} for record in plain[2:]]
    reference = {"type": "tool_reference", "tool_name": "weather"}
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": [reference]}
    ]
    assert body["messages"][4]["content"][0]["content"] == [{**reference, "tool_name": "mail"}, reference]


def test_responses_bring_definitions_with_the_result_of_a_search() -> None:
    body = MODELS["openai_responses"]("gpt-5.4").body(rounds()[2])
    search, pinned, weather, mail = write_tools((SEARCH, PINNED, WEATHER, MAIL), "openai_responses")
    assert body["tools"] == [
        {
            "type": "tool_search",
            "execution": "client",
            "description": "Finds tools.",
            "parameters": search["parameters"],
        },
        {**pinned, "strict": False},
    ]
    loaded = {"strict": False, "defer_loading": True}
    assert body["input"][2:] == [
        {
            "type": "tool_search_call",
            "call_id": "c1",
            "execution": "client",
            "arguments": {"queries": ["x"]},
            "status": "completed",
        },
        {
            "type": "tool_search_output",
            "call_id": "c1",
            "execution": "client",
            "status": "completed",
            "tools": [{**weather, **loaded}],
        },
        {
            "type": "tool_search_call",
            "call_id": "c2",
            "execution": "client",
            "arguments": {"queries": ["x"]},
            "status": "completed",
        },
        {
            "type": "tool_search_output",
            "call_id": "c2",
            "execution": "client",
            "status": "completed",
            "tools": [{**mail, **loaded}, {**weather, **loaded}],
        },
    ]


def test_a_search_of_responses_comes_back_as_a_call_of_the_search_tool(connect: Connect) -> None:
    answer = Answer(calls=(Call("c1", "tool_search", '{"queries":["weather"]}'),))
    model, _ = connect("openai_responses", [answer, answer])
    request = rounds()[0]

    async def both() -> tuple[ChatResponse, Any]:
        *_, last = [event async for event in model.stream(request)]
        return await model.complete(request), last

    response, last = asyncio.run(both())
    assert response.message == called("c1", '{"queries":["weather"]}')
    assert response.finish_reason == "tool_calls"
    assert last.response == response


@pytest.mark.parametrize("form", ["anthropic", "openai_responses"])
def test_a_search_without_results_says_why(form: str) -> None:
    start = rounds()[0]
    nothing = replace(start, messages=(*start.messages, called("c1"), found("c1", text="Nothing fits.")))
    body = MODELS[form]("m").body(nothing)
    if form == "anthropic":
        content = [{"type": "text", "text": "Nothing fits."}]
        assert body["messages"][-1]["content"][0]["content"] == content
    else:
        assert body["input"][-2]["tools"] == []
        assert body["input"][-1] == {"role": "developer", "content": "Nothing fits."}


def test_what_searches_without_results_say_comes_after_all_results_of_the_message() -> None:
    start = rounds()[0]
    both = AssistantMessage(content=(*called("c1").content, *called("c2").content))
    messages = (
        *start.messages,
        both,
        found("c1", text="Nothing."),
        found("c2", "mail"),
        UserMessage.of("so?"),
    )
    items = MODELS["openai_responses"]("m").body(replace(start, messages=messages))["input"]
    assert [item.get("type") or item["role"] for item in items[4:]] == [
        "tool_search_output",
        "tool_search_output",
        "developer",
        "user",
    ]


@pytest.mark.parametrize("form", ["anthropic", "openai_responses"])
def test_a_tool_that_is_gone_is_not_referred_to(form: str) -> None:
    """A catalog may have dropped it since; the conversation must go on."""
    _, request, _ = rounds()
    left = NativeSearch("find_tools", (ADD, MAIL))
    body = MODELS[form]("m").body(replace(request, tools=(SEARCH, PINNED), native=left))
    assert "weather." not in encoded(body["tools"])
    assert "tool_reference" not in encoded(body)


def test_a_discovered_tool_that_no_result_refers_to_is_shown_all_the_same() -> None:
    """After a conversation was trimmed, or where tools were selected beforehand."""
    start = rounds()[0]
    request = replace(start, tools=(SEARCH, PINNED, MAIL))
    names = [
        (tool["name"], "defer_loading" in tool) for tool in MODELS["anthropic"]("m").body(request)["tools"]
    ]
    assert names == [
        ("find_tools", False),
        ("now", False),
        ("mail", False),
        ("add", True),
        ("weather", True),
    ]
    system, extra, user = MODELS["openai_responses"]("m").body(request)["input"]
    (mail,) = write_tools((MAIL,), "openai_responses")
    assert extra == {"type": "additional_tools", "role": "developer", "tools": [{**mail, "strict": False}]}
    assert (system["role"], user["role"]) == ("system", "user")


@pytest.mark.parametrize("form", ["anthropic", "openai_responses"])
@pytest.mark.parametrize("tools", [(), (PINNED,), (ADD,)])
def test_nothing_is_hidden_without_a_search_tool(form: str, tools: tuple[Tool, ...]) -> None:
    request = replace(rounds()[0], tools=tools)
    with pytest.raises(ChatRequestError) as failure:
        MODELS[form]("m").body(request)
    assert [(p.rule, p.name) for p in failure.value.problems] == [("native_search", "find_tools")]


def test_the_search_tool_may_not_be_deferred_with_all_the_rest() -> None:
    native = NativeSearch("find_tools", (SEARCH, *HIDDEN))
    with pytest.raises(ChatRequestError, match="'find_tools' is not offered"):
        MODELS["anthropic"]("m").body(replace(rounds()[0], native=native))


@pytest.mark.parametrize("form", ["anthropic", "openai_responses"])
def test_without_native_the_same_conversation_is_plain(form: str) -> None:
    """A session may go on with another delivery, or another model."""
    body = MODELS[form]("m").body(replace(rounds()[2], native=None))
    text = encoded(body)
    assert "tool_reference" not in text
    assert "tool_search" not in text
    assert "defer_loading" not in text
    assert text.count('"found"') == 2
    assert [tool["name"] for tool in body["tools"]] == ["find_tools", "now", "weather", "mail"]


def read_in(form: str, **more: object) -> Tool:
    """A tool whose definition brought fields of the provider along."""
    return replace(ADD, meta={form: more})


def test_a_definition_that_brought_defer_loading_is_not_hidden_by_it(form: str) -> None:
    tool = read_in(form, defer_loading=True)
    body = MODELS[form]("m").body(ChatRequest((UserMessage.of("hello"),), tools=(tool,)))
    assert "defer_loading" not in encoded(body)


def test_a_deferred_definition_with_a_cache_mark_is_named() -> None:
    marked = read_in("anthropic", cache_control={"type": "ephemeral"})
    request = replace(rounds()[0], native=NativeSearch("find_tools", (marked, MAIL)))
    with pytest.raises(ChatRequestError, match="'add' has both cache_control and defer_loading") as failure:
        MODELS["anthropic"]("m").body(request)
    assert [(p.rule, p.name) for p in failure.value.problems] == [("cache_control_deferred", "add")]


@pytest.mark.parametrize("form", ["anthropic", "openai_responses"])
def test_the_provider_takes_every_round(connect: Connect, form: str) -> None:
    model, provider = connect(form, [Answer("ok")] * 3)

    async def all_rounds() -> list[str]:
        return [(await model.complete(request)).text for request in rounds()]

    assert asyncio.run(all_rounds()) == ["ok"] * 3
    bodies: list[JsonObject] = provider.bodies
    assert len(bodies) == 3
