"""One answer, written in each provider's form: whole, and as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A tool call; `arguments` is JSON text, or any text as the input of a `custom` tool of OpenAI.

    ``tool_search`` is a `native` search where there are such.
    """

    id: str
    name: str
    arguments: str = "{}"
    native: bool = True
    custom: bool = False


@dataclass(frozen=True)
class Answer:
    """What the model says. `piece` is how many characters a delta of its stream has.

    `summary` is of its `reasoning`, as the Responses API shows it.

    `id` is the provider's: it gives each answer its own.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    summary: str = ""
    piece: int = 5
    cut_off: bool = False
    input_tokens: int = 11
    output_tokens: int = 7
    cached_tokens: int = 3
    id: str = "1"


@dataclass(frozen=True)
class Failure:
    """An HTTP error instead of an answer."""

    status: int
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


def pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def _read(arguments: str) -> Any:
    """What a provider makes of arguments that it hands on as JSON: of broken text, nothing."""
    try:
        return json.loads(arguments)
    except ValueError:
        return {}


def whole_chat(answer: Answer) -> Json:
    message: Json = {"role": "assistant", "content": answer.text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [
            {"id": call.id, **chat_call(call, call.name, call.arguments)} for call in answer.calls
        ]
    return {
        "id": f"chatcmpl-{answer.id}",
        "object": "chat.completion",
        "created": 1,
        "model": "fake-1",
        "choices": [{"index": 0, "message": message, "finish_reason": chat_reason(answer)}],
        "usage": chat_usage(answer),
    }


def chat_call(call: Call, name: str | None, text: str) -> Json:
    """The kind of a call with its name and arguments, or with pieces of them."""
    named = {} if name is None else {"name": name}
    if call.custom:
        return {"type": "custom", "custom": {**named, "input": text}}
    return {"type": "function", "function": {**named, "arguments": text}}


def chat_reason(answer: Answer) -> str:
    return "length" if answer.cut_off else "tool_calls" if answer.calls else "stop"


def chat_usage(answer: Answer) -> Json:
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
    }


def chat_events(answer: Answer) -> Iterator[Json]:
    def chunk(delta: Json, reason: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {
            "id": f"chatcmpl-{answer.id}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "fake-1",
            "choices": [choice],
        }

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(answer.reasoning, answer.piece):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(answer.text, answer.piece):
        yield chunk({"content": piece})
    for index, call in enumerate(answer.calls):
        yield chunk({"tool_calls": [{"index": index, "id": call.id, **chat_call(call, call.name, "")}]})
        for piece in pieces(call.arguments, answer.piece):
            kind = "custom" if call.custom else "function"
            yield chunk({"tool_calls": [{"index": index, kind: chat_call(call, None, piece)[kind]}]})
    yield chunk({}, chat_reason(answer))
    yield {**chunk({}), "choices": [], "usage": chat_usage(answer)}


def whole_responses(answer: Answer) -> Json:
    output: list[Json] = []
    if answer.reasoning:
        output.append(
            {
                "type": "reasoning",
                "id": f"rs_{answer.id}",
                "summary": [{"type": "summary_text", "text": answer.summary}] if answer.summary else [],
                "encrypted_content": answer.reasoning,
            }
        )
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        output.append(
            {
                "type": "message",
                "id": f"msg_{answer.id}",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    output += [responses_call(f"{answer.id}_{i}", call) for i, call in enumerate(answer.calls)]
    incomplete = {"reason": "max_output_tokens"} if answer.cut_off else None
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": 1,
        "model": "fake-1",
        "status": "incomplete" if answer.cut_off else "completed",
        "error": None,
        "incomplete_details": incomplete,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": answer.input_tokens,
            "input_tokens_details": {"cached_tokens": answer.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": answer.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.input_tokens + answer.output_tokens,
        },
    }


def responses_call(position: str, call: Call) -> Json:
    if call.name == "tool_search" and call.native:
        return {
            "type": "tool_search_call",
            "id": f"tsc_{position}",
            "call_id": call.id,
            "execution": "client",
            "status": "completed",
            "arguments": _read(call.arguments),
        }
    if call.custom:
        kind = {"type": "custom_tool_call", "id": f"ctc_{position}", "call_id": call.id}
        return {**kind, "name": call.name, "input": call.arguments}
    return {
        "type": "function_call",
        "id": f"fc_{position}",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }


def responses_events(answer: Answer) -> Iterator[Json]:
    whole = whole_responses(answer)
    started = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": started}
    for place, item in enumerate(whole["output"]):
        at = {"output_index": place, "item_id": item["id"]}
        begun = {**item, "status": "in_progress"}
        if item["type"] == "function_call":
            yield {
                "type": "response.output_item.added",
                "output_index": place,
                "item": {**begun, "arguments": ""},
            }
            for piece in pieces(item["arguments"], answer.piece):
                yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
            yield {
                "type": "response.function_call_arguments.done",
                **at,
                "name": item["name"],
                "arguments": item["arguments"],
            }
        elif item["type"] == "custom_tool_call":
            empty_call = {**item, "input": ""}
            yield {"type": "response.output_item.added", "output_index": place, "item": empty_call}
            for piece in pieces(item["input"], answer.piece):
                yield {"type": "response.custom_tool_call_input.delta", **at, "delta": piece}
            yield {"type": "response.custom_tool_call_input.done", **at, "input": item["input"]}
        elif item["type"] == "message":
            yield {
                "type": "response.output_item.added",
                "output_index": place,
                "item": {**begun, "content": []},
            }
            at["content_index"] = 0
            empty = {"type": "output_text", "text": "", "annotations": []}
            yield {"type": "response.content_part.added", **at, "part": empty}
            for piece in pieces(answer.text, answer.piece):
                yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
            yield {"type": "response.output_text.done", **at, "text": answer.text, "logprobs": []}
            yield {"type": "response.content_part.done", **at, "part": item["content"][0]}
        else:
            if "summary" in begun:
                begun["summary"] = []
            yield {"type": "response.output_item.added", "output_index": place, "item": begun}
            for piece in pieces(answer.summary, answer.piece) if item["type"] == "reasoning" else ():
                told = {**at, "summary_index": 0, "delta": piece}
                yield {"type": "response.reasoning_summary_text.delta", **told}
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    yield {"type": "response.incomplete" if answer.cut_off else "response.completed", "response": whole}


def whole_anthropic(answer: Answer) -> Json:
    content: list[Json] = []
    if answer.reasoning:
        content.append({"type": "thinking", "thinking": answer.reasoning, "signature": "c2lnbmVk"})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _read(call.arguments)}
        for call in answer.calls
    ]
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "model": "fake-1",
        "content": content,
        "stop_reason": anthropic_reason(answer),
        "stop_sequence": None,
        "usage": {
            "input_tokens": answer.input_tokens - answer.cached_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": answer.cached_tokens,
            "output_tokens": answer.output_tokens,
        },
    }


def anthropic_reason(answer: Answer) -> str:
    return "max_tokens" if answer.cut_off else "tool_use" if answer.calls else "end_turn"


def anthropic_events(answer: Answer) -> Iterator[Json]:
    whole = whole_anthropic(answer if not answer.cut_off else replace(answer, calls=(), cut_off=False))
    usage = {**whole["usage"], "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {**whole, "content": [], "stop_reason": None, "usage": usage},
    }
    yield {"type": "ping"}
    blocks = [(block, "") for block in whole["content"] if block["type"] != "tool_use"]
    blocks += [({"type": "tool_use", "id": c.id, "name": c.name}, c.arguments) for c in answer.calls]
    for index, (block, arguments) in enumerate(blocks):
        at = {"type": "content_block_delta", "index": index}
        start = {"type": "content_block_start", "index": index}
        if block["type"] == "text":
            yield {**start, "content_block": {"type": "text", "text": ""}}
            for piece in pieces(block["text"], answer.piece):
                yield {**at, "delta": {"type": "text_delta", "text": piece}}
        elif block["type"] == "thinking":
            yield {**start, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}
            for piece in pieces(block["thinking"], answer.piece):
                yield {**at, "delta": {"type": "thinking_delta", "thinking": piece}}
            yield {**at, "delta": {"type": "signature_delta", "signature": block["signature"]}}
        else:
            yield {**start, "content_block": {**block, "input": {}}}
            yield {**at, "delta": {"type": "input_json_delta", "partial_json": ""}}
            for piece in pieces(arguments, answer.piece):
                yield {**at, "delta": {"type": "input_json_delta", "partial_json": piece}}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": anthropic_reason(answer), "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": answer.output_tokens}}
    yield {"type": "message_stop"}
