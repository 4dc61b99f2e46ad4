"""Anthropic Messages.

Source: the types of anthropic-sdk-python 2.14, ``anthropic/types``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from toolsearch.chat.arguments import as_object, compact, normal_text
from toolsearch.chat.base import ChatRequest, ChatResponse, FinishReason, ToolChoice, Usage
from toolsearch.chat.call_ids import wire_id
from toolsearch.chat.content import images_of, plain_text
from toolsearch.chat.model import HttpChatModel, ModelSettings
from toolsearch.chat.native import offer_of, open_records
from toolsearch.chat.native_models import claude_knows_search
from toolsearch.chat.pieces import joined
from toolsearch.chat.service import Service, count
from toolsearch.chat.validate import ANTHROPIC, check_native
from toolsearch.messages import (
    AssistantMessage,
    AssistantPart,
    ContentPart,
    Message,
    OpaquePart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolsearch.tools import JsonObject

MAX_TOKENS = 8192
"""Of an answer, where the request does not say; the provider wants a number."""

_SERVICE = Service(
    host="api.anthropic.com",
    name="anthropic",
    base_url="https://api.anthropic.com",
    path="/v1/messages",
    key_variable="ANTHROPIC_API_KEY",
    key_header="x-api-key",
    key_prefix="",
    headers={"anthropic-version": "2023-06-01"},
)
_MAX_ID_LENGTH = 64
_OPAQUE = "anthropic"
_FINISH_REASONS: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    # A long answer with tools of the provider's own: sending it back goes on with it.
    "pause_turn": "paused",
}


class AnthropicChatModel(HttpChatModel):
    """A model behind ``POST {base_url}/v1/messages``. Safe to use from several tasks.

    With `ChatRequest.native` every tool is declared once, the deferred ones with ``defer_loading`` and
    after all others, so the declarations stay the same bytes while tools are discovered; a result that
    discovers tools is sent as references to them. A discovered tool that no result refers to any more is
    declared openly. Without `native` a ``defer_loading`` that a definition brought along is left out:
    nothing could find the tool.

    System messages go out in one place, before all others.
    """

    form = ANTHROPIC

    def __init__(
        self, model: str, *, native_search: bool | None = None, **settings: Unpack[ModelSettings]
    ) -> None:
        """Sends nothing yet; other arguments, and what it raises, are those of `HttpChatModel`.

        A `base_url` is without ``/v1``, a header is such as ``anthropic-beta``, and an option such as
        ``{"thinking": {"type": "adaptive"}}`` or, to have prompts cached,
        ``{"cache_control": {"type": "ephemeral"}}``.

        Args:
            native_search: Whether the model knows tool references; None goes by its name.
        """
        if native_search is None:
            native_search = claude_knows_search(model)
        super().__init__(_SERVICE, model, native_search=native_search, **settings)

    def _write(self, request: ChatRequest, *, stream: bool) -> JsonObject:
        check_native(self.id, request)
        tools = _write_tools(request)
        known = frozenset(record["name"] for record in tools) if request.native else frozenset()
        system = [
            {"type": "text", "text": message.text}
            for message in request.messages
            if isinstance(message, SystemMessage) and message.text.strip()
        ]
        return {
            "model": self._model,
            "max_tokens": request.max_tokens or MAX_TOKENS,
            "tools": tools or None,
            "tool_choice": _write_choice(request.tool_choice, bool(tools)),
            "system": system or None,
            "messages": _write_messages(request.messages, known),
            **({"stream": True} if stream else {}),
        }

    def _assembler(self) -> Assembler:
        return Assembler()

    def _read(self, answer: JsonObject, request: ChatRequest) -> ChatResponse:
        del request
        message = AssistantMessage(content=tuple(_read_part(block) for block in answer["content"]))
        reason = _FINISH_REASONS.get(str(answer.get("stop_reason")), "stop")
        return ChatResponse(message, reason, _usage(answer.get("usage")), str(answer.get("model") or ""))


def _write_tools(request: ChatRequest) -> list[JsonObject]:
    offer = offer_of(request)
    shown = open_records((*offer.shown, *offer.unreferenced), ANTHROPIC)
    deferred = open_records(offer.deferred, ANTHROPIC)
    return [*shown, *({**record, "defer_loading": True} for record in deferred)]


def _write_choice(choice: ToolChoice, has_tools: bool) -> JsonObject | None:
    match choice:
        case "auto":
            return None
        case "none":
            return {"type": "none"} if has_tools else None
        case "required":
            return {"type": "any"}
        case name:
            return {"type": "tool", "name": name}


def _write_messages(messages: Iterable[Message], known: frozenset[str]) -> list[JsonObject]:
    """Messages with the roles in turn: those that follow each other with one role become one."""
    turns: list[JsonObject] = []
    # Pictures that may not be in a result have to come after all results of the message.
    pictures: list[JsonObject] = []
    for message in messages:
        match message:
            case SystemMessage():
                continue
            case AssistantMessage():
                role, blocks = "assistant", _write_answer(message)
            case ToolMessage():
                role, blocks = "user", [_write_result(message, known)]
            case UserMessage():
                role, blocks = "user", _write_content(message.content)
        if pictures and not isinstance(message, ToolMessage):
            turns[-1]["content"] += pictures
            pictures = []
        if isinstance(message, ToolMessage) and message.is_error:
            pictures += [_write_content_part(image) for image in images_of(message.content)]
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks or role == "user":
            turns.append({"role": role, "content": blocks})
    if pictures:
        turns[-1]["content"] += pictures
    return turns


def _write_answer(message: AssistantMessage) -> list[JsonObject]:
    blocks: list[JsonObject] = []
    for part in message.content:
        match part:
            case TextPart(text=text):
                if text.strip():
                    blocks.append({"type": "text", "text": text})
            case ToolCall():
                call_id = wire_id(part.id, max_length=_MAX_ID_LENGTH)
                block = {"type": "tool_use", "id": call_id, "name": part.name}
                blocks.append({**block, "input": as_object(part.arguments)})
            case OpaquePart(provider=provider, data=data):
                if provider == _OPAQUE:
                    blocks.append(data)
    return blocks


def _write_result(message: ToolMessage, known: frozenset[str]) -> JsonObject:
    record: JsonObject = {
        "type": "tool_result",
        "tool_use_id": wire_id(message.call_id, max_length=_MAX_ID_LENGTH),
    }
    references = [
        {"type": "tool_reference", "tool_name": name} for name in message.discovered if name in known
    ]
    if message.is_error:
        # The provider takes nothing but text in an error.
        text = plain_text(message.content)
        return {**record, "content": text if text.strip() else "Error", "is_error": True}
    if references:
        return {**record, "content": references}
    content = _write_content(message.content)
    return {**record, "content": content} if content else record


def _write_content(content: Iterable[ContentPart]) -> list[JsonObject]:
    return [
        _write_content_part(part) for part in content if not isinstance(part, TextPart) or part.text.strip()
    ]


def _write_content_part(part: ContentPart) -> JsonObject:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if part.url:
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.data}}


def _read_part(block: JsonObject) -> AssistantPart:
    match block["type"]:
        case "text":
            return TextPart(text=block["text"])
        case "tool_use":
            written = block["input"]
            # A stream gives the arguments as the model wrote them, which may be no JSON.
            arguments = normal_text(written) if isinstance(written, str) else compact(written)
            return ToolCall(id=block["id"] or "", name=block["name"], arguments=arguments)
        case _:
            return OpaquePart(provider=_OPAQUE, data=block)


def _usage(usage: Any) -> Usage:
    usage = usage or {}
    # Here `input_tokens` is only what was neither read from the cache nor written to it.
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=count(usage.get("input_tokens")) + cached + written,
        output_tokens=count(usage.get("output_tokens")),
        cached_tokens=cached,
    )


class Assembler:
    """A whole message out of the events of its stream."""

    def __init__(self) -> None:
        self._message: JsonObject = {}
        self._blocks: dict[int, JsonObject] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._stopped = False

    def add(self, event: JsonObject) -> str:
        match event.get("type"):
            case "message_start":
                self._message = dict(event["message"])
            case "content_block_start":
                self._blocks[event["index"]] = dict(event["content_block"])
                return event["content_block"].get("text") or ""
            case "content_block_delta":
                return self._add_delta(event["index"], event["delta"])
            case "message_delta":
                self._message |= event["delta"]
                usage = {key: value for key, value in (event.get("usage") or {}).items() if value is not None}
                self._message["usage"] = {**(self._message.get("usage") or {}), **usage}
            case "message_stop":
                self._stopped = True
        return ""

    def answer(self) -> JsonObject | None:
        if not self._stopped:
            return None
        for (index, key), pieces in self._pieces.items():
            block = self._blocks[index]
            before = block.get(key)
            written = joined([before if isinstance(before, str) else "", *pieces])
            # Calls that the provider runs itself go back to it as they came.
            is_read = key == "input" and block["type"] != "tool_use"
            block[key] = as_object(written) if is_read else written
        content = [block for _, block in sorted(self._blocks.items())]
        return {**self._message, "content": content}

    def _add_delta(self, index: int, delta: JsonObject) -> str:
        match delta["type"]:
            case "text_delta":
                self._take(index, "text", delta["text"])
                shown: str = delta["text"]
                return shown
            case "input_json_delta":
                self._take(index, "input", delta["partial_json"])
            case "thinking_delta":
                self._take(index, "thinking", delta["thinking"])
            case "signature_delta":
                self._take(index, "signature", delta["signature"])
        return ""

    def _take(self, index: int, key: str, piece: str) -> None:
        self._pieces.setdefault((index, key), []).append(piece)
