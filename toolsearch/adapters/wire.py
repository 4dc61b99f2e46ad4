"""Calls, results and conversations in the forms of model providers, as far as tool search needs to read them.

Each may be a plain dict or an object of a provider's client, which has ``model_dump``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.formats import write_tools
from toolsearch.formats.bounded import bounded
from toolsearch.messages import Message, TextPart, ToolCall, ToolMessage, ToolResult, UserMessage
from toolsearch.tools import JsonObject, Tool

WireForm: TypeAlias = Literal["openai_chat", "openai_responses", "anthropic"]
FORMS: tuple[WireForm, ...] = ("openai_chat", "openai_responses", "anthropic")

NO_SCHEMA: JsonObject = {"type": "object", "properties": {}}
"""Of a custom tool, which takes text."""

_ENTRY = re.compile(r"^- ([a-zA-Z0-9_-]{1,64})(?:$|: )", re.MULTILINE)
_EVICTED = re.compile(r"^No longer loaded, to make room: ([a-zA-Z0-9_, -]+)\.$", re.MULTILINE)


def written_tools(tools: Sequence[Tool], form: WireForm) -> list[JsonObject]:
    """`tools` as the provider takes them, none of them deferred."""
    records: list[JsonObject] = write_tools([bounded(tool) for tool in tools], form)
    return [{key: value for key, value in record.items() if key != "defer_loading"} for record in records]


def read_call(call: Any) -> ToolCall:
    """A call in any of the forms; of a custom tool the arguments are its input, as it is.

    Raises:
        ValueError: it has no name.
    """
    if isinstance(call, ToolCall):
        return call
    record = _record(call)
    function = _record(record.get("function")) or _record(record.get("custom")) or record
    name = SEARCH_TOOL if record.get("type") == "tool_search_call" else function.get("name")
    if name is None:
        raise ValueError(f"This is no tool call: {record!r:.200}")
    arguments = function.get("arguments", function.get("input"))
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments or {}, ensure_ascii=False)
    call_id = record.get("call_id") or record.get("id") or ""
    return ToolCall(id=call_id, name=name, arguments=arguments)


def written_result(call_id: str, result: ToolResult, form: WireForm) -> JsonObject:
    """The result of a call: a message, an item of the input, or for Anthropic a block of a user message."""
    text = "".join(part.text for part in result.content if isinstance(part, TextPart))
    match form:
        case "openai_chat":
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        case "openai_responses":
            return {"type": "function_call_output", "call_id": call_id, "output": text}
        case "anthropic":
            failed = {"is_error": True} if result.is_error else {}
            return {"type": "tool_result", "tool_use_id": call_id, "content": text, **failed}


def messages_in(request: JsonObject) -> list[Any]:
    """The messages of a request; none where it lacks a list of them."""
    messages = request.get("messages")
    return list(messages) if isinstance(messages, list | tuple) else []


def lacks_messages(request: JsonObject) -> str:
    """Why a request whose messages are no list cannot be answered; empty where they are one."""
    is_list = isinstance(request.get("messages"), list | tuple)
    return "" if is_list else "Its messages are no list."


def is_of_model(message: Any) -> bool:
    """Whether the model said it: an answer, or an item of one."""
    record = _record(message)
    return record.get("role", "assistant") == "assistant" and not str(record.get("type")).endswith("_output")


def is_custom(call: Any) -> bool:
    """Whether it is a call of a custom tool of OpenAI, which takes text."""
    return _record(call).get("type") in ("custom", "custom_tool_call")


def calls_in(message: Any) -> list[ToolCall]:
    """The calls that a message or an item of the input holds, in order."""
    return [part for part in _parts(_record(message)) if isinstance(part, ToolCall)]


def text_in(message: Any) -> str:
    """What a message or an item of the input says; without what the model only thought."""
    record = _record(message)
    return "" if record.get("type") == "reasoning" else _text(record.get("content"))


def read_conversation(
    messages: Iterable[Any], made: Mapping[tuple[str, str], ToolMessage]
) -> tuple[Message, ...]:
    """What the user said, and what searches found; nothing else is kept.

    Args:
        made: Results by call id and text, with the machine data for which the forms have no place. Of a
            search that is not among them, its text tells what it found.
    """
    calls: dict[str, str] = {}
    kept: list[Message] = []
    for message in messages:
        for part in _parts(_record(message)):
            if isinstance(part, ToolCall):
                calls[part.id] = part.name
            elif isinstance(part, UserMessage):
                kept.append(part)
            elif (known := made.get((part.call_id, part.text))) is not None:
                kept.append(known)
            elif calls.get(part.call_id) == SEARCH_TOOL:
                kept.append(_search_result(part))
    return tuple(kept)


def _parts(record: JsonObject) -> Iterator[ToolCall | UserMessage | ToolMessage]:
    """The calls, results and words of the user in one message or item."""
    match record:
        case {"type": "function_call" | "custom_tool_call" | "tool_search_call"}:
            yield read_call(record)
        case {"type": "function_call_output" | "custom_tool_call_output", "call_id": str(call_id)}:
            yield _result(call_id, record.get("output"))
        case {"role": "tool", "tool_call_id": str(call_id)}:
            yield _result(call_id, record.get("content"))
        case {"role": "assistant"}:
            yield from map(read_call, _blocks(record.get("tool_calls")))
            for block in map(_record, _blocks(record.get("content"))):
                if block.get("type") == "tool_use":
                    yield read_call(block)
        case {"role": "user"}:
            blocks = list(map(_record, _blocks(record.get("content"))))
            for block in blocks:
                if block.get("type") == "tool_result":
                    yield _result(str(block.get("tool_use_id")), block.get("content"))
            said = _text(record.get("content"))
            if said or not blocks:
                yield UserMessage.of(said)


def _search_result(result: ToolMessage) -> ToolMessage:
    """The result with the machine data that its text tells."""
    evicted = [name for found in _EVICTED.findall(result.text) for name in found.split(", ")]
    return result.model_copy(
        update={
            "discovered": tuple(dict.fromkeys(_ENTRY.findall(result.text))),
            "structured": {"evicted": evicted},
        }
    )


def _result(call_id: str, content: Any) -> ToolMessage:
    return ToolMessage(call_id=call_id, name=SEARCH_TOOL, content=(TextPart(text=_text(content)),))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = (block.get("text") for block in map(_record, _blocks(content)))
    return "".join(text for text in texts if isinstance(text, str))


def _blocks(content: Any) -> Sequence[Any]:
    return content if isinstance(content, Sequence) and not isinstance(content, str) else ()


def _record(value: Any) -> JsonObject:
    """A dict of a dict or of a client's object; empty for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) and not isinstance(value, type) else {}
