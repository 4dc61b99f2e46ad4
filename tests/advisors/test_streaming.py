"""Streamed or not, a run is the same."""

import json
from typing import Literal, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.advisors.runs import call, question, stream
from tests.retrieval.support import searcher
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Advisor
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.memory import MemoryAdvisor, MemoryConversationStore
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.advisors.tool_search import ToolSearchAdvisor
from toolsearch.chat.base import (
    ChatEvent,
    ChatResponse,
    RoundFinished,
    RunFinished,
    TextDelta,
    ToolFinished,
    Usage,
)
from toolsearch.functions import tool
from toolsearch.messages import AssistantMessage, AssistantPart, Message, TextPart, ToolCall, ToolMessage
from toolsearch.session.memory import MemorySessionStore
from toolsearch.testing import ScriptedChatModel, tool_call

DeliveryName: TypeAlias = Literal["append", "bridge", "native"]


@tool
async def echo(x: int) -> int:
    """Gives back."""
    return x


@tool
async def boom(x: int = 0) -> None:
    """Fails."""
    raise ValueError(f"bad {x}")


@tool(return_direct=True)
async def receipt(x: int) -> str:
    """Gives a receipt."""
    return f"receipt {x}"


@tool
async def ask(x: int) -> int:
    """Needs approval."""
    return x


TOOLS = (echo, boom, receipt, ask)
HIDDEN = (echo, receipt, ask)
SEARCHER = searcher(HIDDEN)

arguments = st.one_of(
    st.integers(0, 2).map(lambda x: json.dumps({"x": x})),
    st.sampled_from(["", "null", '{"x": ', "[1]", '{"x": "many"}', '"{\\"x\\": 1}"']),
)
ids = st.sampled_from(["", "1", "2", "call_1"])
names = st.sampled_from(["echo", "echo", "boom", "receipt", "ask", "nothing"])
queries = st.sampled_from(
    [["select:echo,ask"], ["receipt"], ["gives back"], ["sing", "approval"], [], "echo"]
)
searches = st.builds(lambda id_, found: tool_call("tool_search", {"queries": found}, id=id_), ids, queries)
calls = st.one_of(
    st.builds(ToolCall, id=ids, name=names, arguments=arguments),
    searches,
    st.builds(
        lambda id_, name, text: tool_call("call_tool", {"name": name, "arguments": text}, id=id_),
        ids,
        names,
        arguments,
    ),
)
texts = st.text("abc é🍸\n", max_size=20).map(lambda text: TextPart(text=text))
usages = st.builds(Usage, st.integers(0, 50), st.integers(0, 50), st.integers(0, 9))


def responses(
    part: st.SearchStrategy[AssistantPart], reason: st.SearchStrategy[str], *, parts: int = 0
) -> st.SearchStrategy[ChatResponse]:
    """Answers of at least this many parts."""
    content = st.lists(part, min_size=parts, max_size=4)
    messages = content.map(lambda given: AssistantMessage(content=tuple(given)))
    return st.builds(ChatResponse, messages, reason, usages)


rounds = responses(st.one_of(texts, calls), st.sampled_from(["tool_calls", "length"]))
answers = responses(texts, st.sampled_from(["stop", "length", "content_filter"]))
scripts = st.tuples(st.lists(rounds, max_size=6), answers).map(lambda script: [*script[0], script[1]])
searched_scripts = st.builds(
    lambda search, use, script: [search, *use, *script],
    responses(searches, st.just("tool_calls"), parts=1),
    st.lists(responses(calls, st.just("tool_calls"), parts=2), min_size=1, max_size=2),
    scripts,
)
limits = st.just(LoopLimits()) | st.builds(
    LoopLimits,
    rounds=st.integers(1, 8),
    calls=st.integers(1, 8),
    tokens=st.integers(1, 400),
    on_limit=st.sampled_from(["stop", "tell"]),
)


def searching(delivery: DeliveryName) -> tuple[ToolSearchAdvisor, MemorySessionStore]:
    store = MemorySessionStore()
    return ToolSearchAdvisor(SEARCHER, delivery=delivery, store=store, limit=2), store


def chain(limits: LoopLimits, *, memory: bool) -> tuple[list[Advisor], MemoryConversationStore]:
    store = MemoryConversationStore()
    inner: list[Advisor] = [MemoryAdvisor(store, order=500)] if memory else []
    return [ToolCallingAdvisor(limits=limits), ApprovalAdvisor(tools=["ask"]), *inner], store


def is_sound(messages: tuple[Message, ...]) -> bool:
    """Whether each call is followed by exactly its results, and ids are unique."""
    open_ids: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if not open_ids or message.call_id != open_ids.pop(0):
                return False
        elif open_ids:
            return False
        if isinstance(message, AssistantMessage):
            open_ids = [each.id for each in message.tool_calls]
            if "" in open_ids or len(set(open_ids)) < len(open_ids) or seen & set(open_ids):
                return False
            seen |= set(open_ids)
            if any(not isinstance(json.loads(each.arguments), dict) for each in message.tool_calls):
                return False
    return not open_ids


def assert_same(
    whole: ScriptedChatModel, called: ChatResponse, pieces: ScriptedChatModel, events: list[ChatEvent]
) -> None:
    """One run that was called and one that was streamed differ only in when the text arrived."""
    last = events[-1]
    assert isinstance(last, RunFinished)
    streamed = last.response
    assert streamed.message == called.message
    assert streamed.finish_reason == called.finish_reason
    assert streamed.usage == called.usage
    for key in ("messages", "rounds", "limit", "tool_results"):
        assert streamed.metadata.get(key) == called.metadata.get(key)
    assert whole.requests == pieces.requests

    ends = [event.response for event in events if isinstance(event, RoundFinished)]
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "".join(end.text for end in ends)
    assert called.usage == sum((end.usage for end in ends), Usage())
    assert len(ends) == called.metadata["rounds"]


@settings(max_examples=150, deadline=None)
@given(script=scripts, limits=limits, memory=st.booleans())
def test_streaming_changes_nothing_but_when_text_arrives(
    script: list[ChatResponse], limits: LoopLimits, memory: bool
) -> None:
    whole, pieces = ScriptedChatModel(script), ScriptedChatModel(script, piece_length=3)
    request = question(session_id="s")
    advisors, store = chain(limits, memory=memory)
    called = call(whole, TOOLS, advisors, request)
    streamed_advisors, streamed_store = chain(limits, memory=memory)
    assert_same(whole, called, pieces, stream(pieces, TOOLS, streamed_advisors, request))
    assert store.messages("s", "") == streamed_store.messages("s", "")
    assert called.metadata["rounds"] <= (limits.rounds or 0)


@pytest.mark.parametrize("delivery", ["append", "bridge", "native"])
@settings(max_examples=100, deadline=None)
@given(script=searched_scripts, limits=limits, memory=st.booleans())
def test_streaming_changes_nothing_where_tools_are_searched_for(
    delivery: DeliveryName, script: list[ChatResponse], limits: LoopLimits, memory: bool
) -> None:
    whole, pieces = ScriptedChatModel(script), ScriptedChatModel(script, piece_length=3)
    request = question(session_id="s")
    advisors, store = chain(limits, memory=memory)
    search, sessions = searching(delivery)
    called = call(whole, [boom], [*advisors, search], request)
    streamed_advisors, streamed_store = chain(limits, memory=memory)
    streamed_search, streamed_sessions = searching(delivery)
    assert_same(whole, called, pieces, stream(pieces, [boom], [*streamed_advisors, streamed_search], request))
    assert store.messages("s", "") == streamed_store.messages("s", "")
    assert sessions.discovered("s", "") == streamed_sessions.discovered("s", "")

    assert all(is_sound(sent.messages) for sent in whole.requests)
    assert is_sound(called.metadata["messages"])
    assert all(sent.tools[0].name == "tool_search" for sent in whole.requests)


@settings(max_examples=150, deadline=None)
@given(script=scripts, limits=limits)
def test_whatever_a_model_answers_the_conversation_stays_sound(
    script: list[ChatResponse], limits: LoopLimits
) -> None:
    """(E94, E98, E101)"""
    model = ScriptedChatModel(script)
    advisors, _ = chain(limits, memory=False)
    response = call(model, TOOLS, advisors)
    assert all(is_sound(request.messages) for request in model.requests)
    assert is_sound(response.metadata["messages"])
    assert response.finish_reason in {
        "stop",
        "length",
        "content_filter",
        "tool_calls",
        "return_direct",
        "limit",
        "paused",
    }


@settings(max_examples=80, deadline=None)
@given(script=scripts, limits=limits)
def test_memory_inside_the_loop_sends_and_keeps_what_the_loop_would(
    script: list[ChatResponse], limits: LoopLimits
) -> None:
    request = question(session_id="s")
    plain, remembered = ScriptedChatModel(script), ScriptedChatModel(script)
    without, _ = chain(limits, memory=False)
    expected = call(plain, TOOLS, without, request)
    within, store = chain(limits, memory=True)
    response = call(remembered, TOOLS, within, request)
    assert [sent.messages for sent in remembered.requests] == [sent.messages for sent in plain.requests]
    assert response.metadata["messages"] == expected.metadata["messages"]
    if response.finish_reason != "paused":
        assert store.messages("s", "") == (*request.messages, *response.metadata["messages"])


@settings(max_examples=40, deadline=None)
@given(script=scripts)
def test_a_finished_event_tells_of_each_result(script: list[ChatResponse]) -> None:
    events = stream(ScriptedChatModel(script), TOOLS[:3])
    last = events[-1]
    assert isinstance(last, RunFinished)
    told = [(e.call_id, e.name, e.is_error) for e in events if isinstance(e, ToolFinished)]
    kept = [m for m in last.response.metadata["messages"] if isinstance(m, ToolMessage)]
    assert told == [(m.call_id, m.name, m.is_error) for m in kept]
