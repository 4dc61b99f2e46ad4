"""The scripted model answers as told, the same streamed and not."""

import asyncio
import itertools

import pytest

from toolsearch.chat.base import (
    ChatEvent,
    ChatModel,
    ChatRequest,
    ChatResponse,
    RoundFinished,
    TextDelta,
    Usage,
)
from toolsearch.exceptions import ChatRequestError
from toolsearch.messages import AssistantMessage, TextPart, ToolCall, UserMessage
from toolsearch.testing import BrokenStream, ScriptedChatModel, tool_call

REQUEST = ChatRequest((UserMessage.of("hello"),))


async def events_of(model: ChatModel, request: ChatRequest = REQUEST) -> list[ChatEvent]:
    return [event async for event in model.stream(request)]


def complete(model: ChatModel, request: ChatRequest = REQUEST) -> ChatResponse:
    return asyncio.run(model.complete(request))


def test_steps_answer_in_order_and_requests_are_kept() -> None:
    whole = ChatResponse(AssistantMessage(), finish_reason="length", usage=Usage(3, 2, 1))
    call = tool_call("add", {"x": 1})
    model: ChatModel = ScriptedChatModel(["hi", call, [call, call], whole])
    answers = [complete(model) for _ in range(4)]
    assert [answer.message.content for answer in answers[:3]] == [
        (TextPart(text="hi"),),
        (ToolCall(id="call_1", name="add", arguments='{"x": 1}'),),
        (call, call),
    ]
    assert [answer.finish_reason for answer in answers] == ["stop", "tool_calls", "tool_calls", "length"]
    assert answers[3] is whole
    assert isinstance(model, ScriptedChatModel)
    assert model.requests == [REQUEST] * 4


def test_a_function_sees_the_request_and_answers_every_one() -> None:
    async def shout(request: ChatRequest) -> str:
        (message,) = request.messages
        assert isinstance(message, UserMessage)
        return message.text.upper()

    model = ScriptedChatModel(shout)
    assert [complete(model).text, complete(model).text] == ["HELLO", "HELLO"]
    assert complete(ScriptedChatModel([lambda request: str(len(request.messages))])).text == "1"


def test_streaming_gives_pieces_and_then_what_complete_answers() -> None:
    answer = AssistantMessage(content=(TextPart(text="one two"), tool_call("add")))
    script = [answer, answer]
    model = ScriptedChatModel(script, piece_length=3)
    *deltas, last = asyncio.run(events_of(model))
    assert deltas == [TextDelta("one"), TextDelta(" tw"), TextDelta("o")]
    assert last == RoundFinished(complete(model))
    assert model.streamed == [True, False]


def test_errors_are_raised_and_a_broken_stream_breaks_after_its_text() -> None:
    async def collect(model: ChatModel, into: list[ChatEvent]) -> None:
        async for event in model.stream(REQUEST):
            into.append(event)  # noqa: PERF401 - what came before the error counts

    broken = BrokenStream("half", ConnectionError("cut"))
    model = ScriptedChatModel([TimeoutError("slow"), broken, broken])
    with pytest.raises(TimeoutError, match="slow"):
        complete(model)
    events: list[ChatEvent] = []
    with pytest.raises(ConnectionError, match="cut"):
        asyncio.run(collect(model, events))
    assert events == [TextDelta("half")]
    with pytest.raises(ConnectionError, match="cut"):
        complete(model)


def test_an_endless_script_never_runs_out_and_a_finite_one_says_so() -> None:
    endless = ScriptedChatModel(itertools.repeat("again"))
    assert {complete(endless).text for _ in range(5)} == {"again"}
    model = ScriptedChatModel(["only"])
    complete(model)
    with pytest.raises(AssertionError, match="request 2"):
        complete(model)


def test_what_providers_refuse_is_refused_unless_told_otherwise() -> None:
    answer = AssistantMessage(content=(tool_call("add"),))
    dangling = ChatRequest((UserMessage.of("hello"), answer, UserMessage.of("well?")))
    with pytest.raises(ChatRequestError, match="'call_1' has no result"):
        complete(ScriptedChatModel(["never"]), dangling)
    assert complete(ScriptedChatModel(["fine"], strict=False), dangling).text == "fine"


def test_a_refusal_names_the_model_that_was_asked() -> None:
    model = ScriptedChatModel(["Hello."], id="scripted:mine")
    with pytest.raises(ChatRequestError, match=r"^scripted:mine would refuse this request") as caught:
        asyncio.run(model.complete(ChatRequest((UserMessage.of(""),))))
    assert caught.value.problems[0].rule == "empty_message"
