"""`Prompt`: what a run begins with, in the forms in which programs have it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel

from toolsearch.checks import shown
from toolsearch.messages import (
    AssistantMessage,
    ContentPart,
    ImagePart,
    Message,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
    as_messages,
    listed_messages,
)
from toolsearch.tools import JsonObject

Prompt: TypeAlias = str | Message | Sequence[Message | Mapping[str, Any] | BaseModel]
"""The user's words, a message, or a conversation that ends with what is new.

A conversation may hold messages in the form of OpenAI's Chat Completions: dicts, or objects of its client.
"""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)", re.DOTALL)
_INSTEAD = {
    "function_call": "the call in 'tool_calls', with an id, and its result as a message of the role 'tool'",
    "audio": "its transcript as 'content'",
}
"""Keys of answers that are not read, and what to give for each."""

_FORM = "a message in the form of OpenAI's Chat Completions"


def as_conversation(prompt: Prompt) -> tuple[Message, ...]:
    """The messages of `prompt`, refusals as text.

    What a model thought, and what only a provider reads, is left out of dicts.

    Raises:
        TypeError: something in it is no message; says where, and what to give.
    """
    if isinstance(prompt, str):
        return (UserMessage.of(prompt),)
    if isinstance(prompt, SystemMessage | UserMessage | AssistantMessage | ToolMessage):
        return (prompt,)
    called: dict[str, str] = {}
    messages: list[Any] = []
    for number, given in enumerate(listed_messages(prompt, "prompt")):
        record = _record(given)
        message = given if record is None else _read(record, called, f"prompt[{number}]")
        if isinstance(message, AssistantMessage):
            called |= {call.id: call.name for call in message.tool_calls}
        messages.append(message)
    return as_messages(messages, "prompt")


def _record(given: Any) -> JsonObject | None:
    """A dict, or an object of a client as one; None for a message of ours, and for anything else."""
    if isinstance(given, SystemMessage | UserMessage | AssistantMessage | ToolMessage):
        return None
    if isinstance(given, Mapping):
        return dict(given)
    dump = getattr(given, "model_dump", None)
    return dump() if callable(dump) and not isinstance(given, type) else None


def _read(record: JsonObject, called: Mapping[str, str], where: str) -> Message:
    content = record.get("content")
    match record:
        case {"role": "system" | "developer"}:
            return SystemMessage(text=_text(content, where))
        case {"role": "user"}:
            return UserMessage(content=tuple(_parts(content, where)))
        case {"role": "assistant"}:
            _refuse_lost(record, where)
            texts = (_text(content or "", where), _text(record.get("refusal") or "", where))
            said = [TextPart(text=text) for text in texts if text]
            calls = [_call(call, f"{where}.tool_calls") for call in record.get("tool_calls") or ()]
            return AssistantMessage(content=(*said, *calls))
        case {"role": "tool", "tool_call_id": str(call_id)}:
            parts = tuple(_parts(content, where))
            return ToolMessage(call_id=call_id, name=called.get(call_id, "unknown"), content=parts)
    keys = ", ".join(map(repr, record)) or "no keys"
    raise TypeError(f"{where} is a dict with {keys}, not {_FORM}: role and content.")


def _refuse_lost(record: JsonObject, where: str) -> None:
    """Names what an answer says in a way that messages have no place for."""
    for key, instead in _INSTEAD.items():
        if record.get(key):
            raise TypeError(f"{where} has {key!r}, which is not read. Give {instead}.")


def _call(call: Any, where: str) -> ToolCall:
    match _record(call):
        case {"id": str(call_id), "function": {"name": str(name), "arguments": str(arguments)}}:
            return ToolCall(id=call_id, name=name, arguments=arguments)
    raise TypeError(f"{where} holds {shown(call)} that is no call of a function in OpenAI's form.")


def _parts(content: Any, where: str) -> Iterator[ContentPart]:
    if isinstance(content, str):
        yield TextPart(text=content)
        return
    if not isinstance(content, Sequence):
        raise TypeError(f"The content of {where} is {shown(content)}. Give a text, or a list of parts.")
    for part in content:
        match part:
            case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
                yield TextPart(text=text)
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                data = _DATA_URL.fullmatch(url)
                yield ImagePart(media_type=data[1], data=data[2]) if data else ImagePart(url=url)
            case _:
                kind = part.get("type") if isinstance(part, Mapping) else None
                told = shown(part) if kind is None else f"a part of type {kind!r}"
                raise TypeError(f"The content of {where} holds {told}. Known are 'text' and 'image_url'.")


def _text(content: Any, where: str) -> str:
    parts = list(_parts(content, where))
    if any(isinstance(part, ImagePart) for part in parts):
        raise TypeError(f"{where} holds a picture, which only messages of users and tools may.")
    return "".join(part.text for part in parts if isinstance(part, TextPart))
