"""A streamed answer is the answer that `complete` gives, in every form."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chat.conftest import MODELS, no_sleep
from tests.fake_provider import Answer, Call, FakeProvider
from toolsearch.chat.base import ChatEvent, ChatRequest, ChatResponse, RoundFinished, TextDelta, Usage
from toolsearch.chat.model import HttpChatModel
from toolsearch.exceptions import MalformedAnswerError, ModelUnreachableError
from toolsearch.messages import OpaquePart, ToolCall, UserMessage

Connect = Callable[..., tuple[HttpChatModel, FakeProvider]]
REQUEST = ChatRequest((UserMessage.of("hello"),))

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
ARGUMENTS = st.dictionaries(TEXTS, TEXTS | st.integers(-9, 9) | st.none(), max_size=2)
CALLS = st.lists(st.tuples(st.sampled_from(["add", "list_all"]), ARGUMENTS), max_size=3).map(
    lambda calls: tuple(
        Call(f"call_{n}", name, json.dumps(arguments, separators=(",", ":"), ensure_ascii=n % 2 == 0))
        for n, (name, arguments) in enumerate(calls)
    )
)
ANSWERS = st.builds(Answer, text=TEXTS, calls=CALLS, reasoning=TEXTS, piece=st.integers(1, 6))


async def both(form: str, answer: Answer) -> tuple[ChatResponse, list[ChatEvent]]:
    """One answer of one provider and of another like it, whole and as events."""
    called, streamed = (
        MODELS[form]("m", transport=FakeProvider([answer]).transport, sleep=no_sleep) for _ in range(2)
    )
    return await called.complete(REQUEST), [event async for event in streamed.stream(REQUEST)]


@pytest.mark.parametrize("form", MODELS)
@given(answer=ANSWERS)
@settings(max_examples=60, deadline=None)
def test_both_ways_give_the_same_response(form: str, answer: Answer) -> None:
    whole, events = asyncio.run(both(form, answer))
    assert events[-1] == RoundFinished(whole)
    deltas = [event for event in events[:-1] if isinstance(event, TextDelta)]
    assert len(deltas) == len(events) - 1
    assert "".join(delta.text for delta in deltas) == whole.text == answer.text
    assert all(delta.text for delta in deltas)
    given_calls = [(call.id, call.name, json.loads(call.arguments)) for call in answer.calls]
    assert [(c.id, c.name, json.loads(c.arguments)) for c in whole.message.tool_calls] == given_calls
    assert whole.usage == Usage(input_tokens=11, output_tokens=7, cached_tokens=3)
    assert whole.finish_reason == ("tool_calls" if answer.calls else "stop")
    assert whole.model == "fake-1"


def test_reasoning_is_kept_before_what_it_led_to(form: str) -> None:
    answer = Answer("yes", (Call("c1", "add"),), reasoning="because")
    whole, _ = asyncio.run(both(form, answer))
    reasoning, _, call = whole.message.content
    assert isinstance(reasoning, OpaquePart)
    assert "because" in reasoning.data.values()
    assert (whole.text, call) == ("yes", ToolCall(id="c1", name="add"))


def test_an_answer_that_was_cut_off_keeps_its_broken_arguments(connect: Connect, form: str) -> None:
    """What the model wrote is for the loop to judge (E94)."""
    answer = Answer("", (Call("c1", "find", '{"q": "unterm'),), cut_off=True, piece=4)
    model, _ = connect(form, [answer])
    response = asyncio.run(finished(model))
    assert response.finish_reason == "length"
    assert response.message.tool_calls == (ToolCall(id="c1", name="find", arguments='{"q": "unterm'),)


async def finished(model: HttpChatModel) -> ChatResponse:
    *_, last = [event async for event in model.stream(REQUEST)]
    assert isinstance(last, RoundFinished)
    return last.response


def stream_of(form: str, events: list[dict[str, Any]]) -> ChatResponse:
    content = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=content))
    return asyncio.run(finished(MODELS[form]("m", transport=transport, sleep=no_sleep)))


def halves(form: str) -> list[dict[str, Any]]:
    """A call whose arguments hold U+1F378, each half of it in a delta of its own."""
    start, high, low, end = '{"note":"', json.loads(r'"\ud83c"'), json.loads(r'"\udf78"'), '"}'
    pieces = (start, high, low, end)
    match form:
        case "openai_chat":
            calls = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
            calls[0] |= {"id": "c1"}
            calls[0]["function"] |= {"name": "put"}  # type: ignore[operator]
            deltas = [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls]
            return [*deltas, {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}]
        case "openai_responses":
            item = {"type": "function_call", "id": "f", "call_id": "c1", "name": "put", "arguments": ""}
            at = {"type": "response.function_call_arguments.delta", "output_index": 0}
            added = {"type": "response.output_item.added", "output_index": 0, "item": item}
            done = {"type": "response.completed", "response": {"status": "completed", "output": []}}
            return [added, *({**at, "delta": piece} for piece in pieces), done]
        case _:
            block = {"type": "tool_use", "id": "c1", "name": "put", "input": {}}
            delta = {"type": "content_block_delta", "index": 0}
            return [
                {"type": "message_start", "message": {"content": []}},
                {"type": "content_block_start", "index": 0, "content_block": block},
                *({**delta, "delta": {"type": "input_json_delta", "partial_json": p}} for p in pieces),
                {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": None},
                {"type": "message_stop"},
            ]


def test_a_character_that_was_cut_in_two_is_whole_in_the_arguments(form: str) -> None:
    """(E92)"""
    (call,) = stream_of(form, halves(form)).message.tool_calls
    assert (call.id, call.name, json.loads(call.arguments)) == ("c1", "put", {"note": "\U0001f378"})


def test_interleaved_blocks_go_to_their_own_index() -> None:
    """The like of E105 in the forms of Anthropic and Responses."""

    def block(index: int) -> dict[str, Any]:
        named = {"type": "tool_use", "id": f"c{index}", "name": f"f{index}", "input": {}}
        return {"type": "content_block_start", "index": index, "content_block": named}

    def piece(index: int, text: str) -> dict[str, Any]:
        delta = {"type": "input_json_delta", "partial_json": text}
        return {"type": "content_block_delta", "index": index, "delta": delta}

    pieces = [piece(0, '{"x"'), piece(1, '{"y"'), piece(0, ":1}"), piece(1, ":2}")]
    ends: list[dict[str, Any]] = [
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    start: dict[str, Any] = {"type": "message_start", "message": {"content": []}}
    answer = stream_of("anthropic", [start, block(1), block(0), *pieces, *ends])
    expected = [("c0", "f0", '{"x":1}'), ("c1", "f1", '{"y":2}')]
    assert [(c.id, c.name, c.arguments) for c in answer.message.tool_calls] == expected

    def added(index: int) -> dict[str, Any]:
        item = {"type": "function_call", "call_id": f"c{index}", "name": f"f{index}", "arguments": ""}
        return {"type": "response.output_item.added", "output_index": index, "item": item}

    deltas = [
        {"type": "response.function_call_arguments.delta", "output_index": index, "delta": text}
        for index, text in ((0, '{"x"'), (1, '{"y"'), (0, ":1}"), (1, ":2}"))
    ]
    done = {"type": "response.completed", "response": {"status": "completed", "output": []}}
    answer = stream_of("openai_responses", [added(1), added(0), *deltas, done])
    assert [(c.id, c.name, c.arguments) for c in answer.message.tool_calls] == expected


def test_calls_of_small_servers_get_ids_of_their_own() -> None:
    """Two calls without an id, two with the same one (E101)."""
    for given_id, expected in (("", ["call_1", "call_2"]), ("1", ["1", "call_1"])):
        calls = [
            {"index": index, "id": given_id, "function": {"name": "f", "arguments": f'{{"x":{index}}}'}}
            for index in (0, 1)
        ]
        message = {"tool_calls": calls}
        body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
        transport = httpx.MockTransport(lambda request, body=body: httpx.Response(200, json=body))
        model = MODELS["openai_chat"]("m", transport=transport)
        response = asyncio.run(model.complete(REQUEST))
        assert [call.id for call in response.message.tool_calls] == expected
        assert [call.arguments for call in response.message.tool_calls] == ['{"x":0}', '{"x":1}']


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_a_stream_that_is_cut_before_its_first_words_is_tried_again(form: str, line_end: bytes) -> None:
    """Wherever it is cut, also within an event."""
    content = b"".join(
        line_end.join((f"data: {json.dumps(event)}".encode(), b"", b"")) for event in halves(form)
    )

    async def streamed(n_bytes: int) -> ChatResponse:
        bodies = iter([content[:n_bytes], content])
        transport = httpx.MockTransport(lambda request: httpx.Response(200, content=next(bodies)))
        return await finished(MODELS[form]("m", transport=transport, sleep=no_sleep))

    async def all_cuts() -> list[ChatResponse]:
        return [await streamed(n_bytes) for n_bytes in range(len(content))]

    whole = stream_of(form, halves(form))
    assert all(response == whole for response in asyncio.run(all_cuts()))


BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
STOP = {"type": "message_stop"}
COMPLETED = {"type": "response.completed", "response": {"status": "completed"}}


def delta_of(delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def item_of(item: Any, index: Any = 0) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def arguments_of(delta: Any) -> dict[str, Any]:
    return {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": delta}


@pytest.mark.parametrize(
    ("form", "events"),
    [
        ("anthropic", [{"type": "message_start", "message": None}, STOP]),
        ("anthropic", [{"type": "content_block_start", "index": 0, "content_block": "x"}, STOP]),
        ("anthropic", [delta_of({"type": "text_delta", "text": "x"}), STOP]),
        ("anthropic", [BLOCK, delta_of({"type": "text_delta", "text": 5}), STOP]),
        ("anthropic", [BLOCK, delta_of({"type": "thinking_delta", "thinking": ["x"]}), STOP]),
        ("anthropic", [BLOCK, delta_of(None), STOP]),
        ("anthropic", [{**BLOCK, "index": "0"}, {**BLOCK, "index": 1}, STOP]),
        ("anthropic", [{**BLOCK, "index": []}, STOP]),
        ("openai_responses", [{"type": "response.output_text.delta", "delta": 5}]),
        ("openai_responses", [item_of(None), COMPLETED]),
        ("openai_responses", [item_of([]), COMPLETED]),
        ("openai_responses", [item_of({}, "1"), item_of({}, 0), COMPLETED]),
        ("openai_responses", [item_of({"type": "function_call"}), arguments_of(5), COMPLETED]),
        ("openai_responses", [{"type": "response.completed", "response": []}]),
        ("openai_chat", [{"choices": [{"delta": {"content": 5}, "finish_reason": "stop"}]}]),
        ("openai_chat", [{"choices": [{"delta": {"reasoning": 5}, "finish_reason": "stop"}]}]),
        ("openai_chat", [{"choices": [{"delta": {"tool_calls": [5]}, "finish_reason": "stop"}]}]),
        ("openai_chat", [{"choices": {"delta": 5}}]),
        ("openai_chat", [{"choices": [{"finish_reason": "stop"}], "usage": [1]}]),
    ],
    ids=str,
)
def test_events_in_another_form_are_a_malformed_answer(form: str, events: list[dict[str, Any]]) -> None:
    with pytest.raises(MalformedAnswerError):
        stream_of(form, events)


def test_a_stream_that_says_only_that_it_is_done_has_ended() -> None:
    """As some servers do, which never say why they stopped."""

    def answer(*deltas: dict[str, Any]) -> ChatResponse:
        events = [f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n" for delta in deltas]
        content = "".join((*events, "data: [DONE]\n\n")).encode()
        transport = httpx.MockTransport(lambda request: httpx.Response(200, content=content))
        model = MODELS["openai_chat"]("m", transport=transport, sleep=no_sleep)
        return asyncio.run(finished(model))

    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    assert (answer({"content": "hi"}).text, answer({"content": "hi"}).finish_reason) == ("hi", "stop")
    assert answer({"tool_calls": [call]}).finish_reason == "tool_calls"
    with pytest.raises(ModelUnreachableError, match="broke off"):
        answer()


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "some_new_use"])
@pytest.mark.parametrize("pieces", [["", '{"query"', ':"é"}'], []])
def test_calls_that_the_provider_runs_are_the_same_streamed(kind: str, pieces: list[str]) -> None:
    """They go back to it, which takes an object and no text."""
    begun = {"type": kind, "id": "x1", "name": "web_search", "input": {}}
    deltas = [delta_of({"type": "input_json_delta", "partial_json": piece}) for piece in pieces]
    start: dict[str, Any] = {"type": "message_start", "message": {"content": []}}
    block: dict[str, Any] = {"type": "content_block_start", "index": 0, "content_block": begun}
    streamed = stream_of("anthropic", [start, block, *deltas, STOP])
    written = {**begun, "input": {"query": "é"} if pieces else {}}
    assert streamed.message.content == (OpaquePart(provider="anthropic", data=written),)
