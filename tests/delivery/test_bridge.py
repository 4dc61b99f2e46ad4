"""The bridge turns calls into `call_tool` and back, and nobody beyond it notices."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.discovery.support import as_message, opened, run, select, text
from tests.retrieval.support import OFFICE
from toolsearch.chat.base import ChatRequest, ChatResponse
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Offer, one_line
from toolsearch.delivery.bridge import BRIDGE, inner_call, wrapped
from toolsearch.messages import AssistantMessage, Message, TextPart, ToolCall, ToolMessage, UserMessage
from toolsearch.session.memory import MemorySessionStore
from toolsearch.testing.chat import tool_call
from toolsearch.tools import Tool

WEATHER = "geo__get_weather"
SEARCH = Tool(raw_name="tool_search")
HELP = Tool(raw_name="help")
OFFER = Offer(search_tool=SEARCH, visible=(HELP,), loaded=OFFICE[:2])


def answered(*calls: ToolCall, offer: Offer = OFFER) -> ChatResponse:
    response = ChatResponse(AssistantMessage(content=calls), offered=(SEARCH, HELP))
    return BRIDGE.response(response, offer)


def test_a_call_of_call_tool_is_a_call_of_the_tool_that_it_names() -> None:
    bridged = tool_call("call_tool", {"name": "mail__send_email", "arguments": {"to": "Zoë"}}, id="c1")
    response = answered(bridged, tool_call("help", id="c2"))
    assert response.message.tool_calls == (
        tool_call("mail__send_email", {"to": "Zoë"}, id="c1"),
        tool_call("help", id="c2"),
    )
    assert response.offered == (SEARCH, HELP, *OFFICE[:2])


@pytest.mark.parametrize(
    ("arguments", "inner"),
    [
        ('{"name": "a", "arguments": {"x": 1}}', ("a", '{"x": 1}')),
        ('{"name": "a", "arguments": "{\\"x\\": 1}"}', ("a", '{"x": 1}')),
        ('{"name": "a"}', ("a", "{}")),
        ('{"name": "a", "arguments": null}', ("a", "{}")),
        ('{"name": "tool_search", "arguments": {}}', ("tool_search", "{}")),
        ('{"name": "call_tool", "arguments": {}}', None),
        ('{"name": "a", "x": 1}', None),
        ('{"arguments": {}}', None),
        ('{"name": 1, "arguments": {}}', None),
        ("[]", None),
        ('{"name": "a", ', None),
    ],
)
def test_the_inner_call_is_read_as_models_write_it(arguments: str, inner: tuple[str, str] | None) -> None:
    assert inner_call(arguments) == inner


def test_a_call_in_bad_form_is_told_the_form() -> None:
    (call,) = answered(tool_call("call_tool", {"name": WEATHER, "city": "Oslo"})).message.tool_calls
    assert call.name == "call_tool"
    result = run(BRIDGE.request(ChatRequest(()), OFFER).tools[1], {"name": WEATHER, "city": "Oslo"})
    assert result.is_error
    assert 'call_tool takes {"name": NAME, "arguments": {…}}' in text(result)


def test_a_changed_tool_is_shown_as_it_is_now_before_it_runs() -> None:
    store = MemorySessionStore()
    found = as_message(select(opened(store=store, delivery=BRIDGE), WEATHER))
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    newer = [replace(tool, input_schema=schema) if tool.name == WEATHER else tool for tool in OFFICE]
    offer = opened(newer, store=store, delivery=BRIDGE, messages=[found]).offer()
    call = tool_call("call_tool", {"name": WEATHER, "arguments": {}})
    assert answered(call, offer=offer).message.tool_calls == (call,)
    result = run(BRIDGE.request(ChatRequest(()), offer).tools[1], {"name": WEATHER, "arguments": {}})
    assert "Nothing was run, as this tool has changed" in text(result)
    assert json.dumps(schema, separators=(",", ":")) in text(result)
    told = [found, as_message(result, name="call_tool")]
    after = opened(newer, store=store, delivery=BRIDGE, messages=told).offer()
    assert answered(call, offer=after).message.tool_calls[0].name == WEATHER


CALLS = st.builds(
    ToolCall,
    id=st.text(max_size=3),
    name=st.sampled_from(["mail__send_email", WEATHER, "nowhere"]),
    arguments=st.dictionaries(
        st.text(max_size=3), st.none() | st.integers() | st.text() | st.lists(st.integers())
    ).map(lambda arguments: json.dumps(arguments, ensure_ascii=False)),
)


@given(st.lists(CALLS, max_size=4))
def test_unwrapping_undoes_wrapping(calls: list[ToolCall]) -> None:
    (bridged,) = wrapped([AssistantMessage(content=tuple(calls))], {"help"})
    assert isinstance(bridged, AssistantMessage)
    assert {call.name for call in bridged.tool_calls} <= {"call_tool"}
    assert answered(*bridged.tool_calls).message.tool_calls == tuple(calls)


def test_arguments_that_are_no_json_are_bridged_as_text() -> None:
    broken = ToolCall(id="c", name=WEATHER, arguments='{"city": ')
    (bridged,) = wrapped([AssistantMessage(content=(broken,))], ())
    assert isinstance(bridged, AssistantMessage)
    assert answered(*bridged.tool_calls).message.tool_calls == (broken,)


def test_only_what_is_not_visible_is_wrapped_and_its_results_with_it() -> None:
    messages: tuple[Message, ...] = (
        UserMessage.of("hi"),
        AssistantMessage(
            content=(TextPart(text="So."), tool_call("help", id="c1"), tool_call(WEATHER, {"a": 1}, id="c2"))
        ),
        ToolMessage(call_id="c1", name="help"),
        ToolMessage(call_id="c2", name=WEATHER),
    )
    user, assistant, first, second = wrapped(messages, {"help"})
    assert user is messages[0]
    assert isinstance(assistant, AssistantMessage)
    assert assistant.text == "So."
    assert [call.name for call in assistant.tool_calls] == ["help", "call_tool"]
    assert json.loads(assistant.tool_calls[1].arguments) == {"name": WEATHER, "arguments": {"a": 1}}
    assert (first, second) == (messages[2], ToolMessage(call_id="c2", name="call_tool"))


def test_the_tools_of_a_user_message_are_listed_at_its_end() -> None:
    offer = replace(OFFER, preselected={1: OFFICE[:1]})
    messages = (UserMessage.of("one"), UserMessage.of("two"))
    first, second = BRIDGE.request(ChatRequest(messages), offer).messages
    assert first == messages[0]
    assert isinstance(second, UserMessage)
    assert second.text.startswith("two\n\n[Found 1 tool. Run it with call_tool:\n- mail__send_email: Send")
    assert 'input schema: {"type":"object","properties":{}}]' in second.text


def test_the_bridge_shows_a_long_description_that_others_cut() -> None:
    tool = Tool(raw_name="a", description="word " * 100)
    assert BRIDGE.entry(tool).startswith("- a: " + " ".join(["word"] * 100))
    assert len(APPEND.entry(tool)) < 110


def test_one_line_is_cut_at_a_word() -> None:
    assert one_line("a  b\nc", 9) == "a b c"
    assert one_line("one two three", 9) == "one two…"
    assert one_line("x" * 20, 9) == "xxxxxxxx…"
