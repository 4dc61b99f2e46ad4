"""OpenAI Chat Completions, and every server that speaks it: vLLM, Ollama, llama.cpp, OpenRouter and others.

Source: the types of openai-python 3.57, ``openai/types/chat``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from toolsearch.chat.arguments import as_text, compact
from toolsearch.chat.base import ChatRequest, ChatResponse, FinishReason
from toolsearch.chat.call_ids import wire_id
from toolsearch.chat.content import error_text, image_url, images_of, plain_text
from toolsearch.chat.http import DONE
from toolsearch.chat.model import HttpChatModel, ModelSettings
from toolsearch.chat.native import open_records
from toolsearch.chat.openai import openai_service, tool_fields, usage_of
from toolsearch.chat.pieces import CallPieces, joined
from toolsearch.chat.validate import OPENAI_CHAT, refuse_native
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

_SERVICE = openai_service("/chat/completions")
_MAX_ID_LENGTH = 40
# What servers call reasoning that they want back, or at least take back.
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
_FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "error": "error",
}


class OpenAIChatModel(HttpChatModel):
    """A model behind ``POST {base_url}/chat/completions``. Safe to use from several tasks."""

    form = OPENAI_CHAT

    def __init__(
        self, model: str, *, max_tools: int | None = None, **settings: Unpack[ModelSettings]
    ) -> None:
        """Sends nothing yet; the arguments, and what it raises, are those of `HttpChatModel`.

        A `base_url` is such as ``http://localhost:11434/v1``; OpenAI itself takes 128 tools.
        """
        super().__init__(_SERVICE, model, native_search=False, max_tools=max_tools, **settings)
        # Only OpenAI's own models refuse the old name, and only they all know the new one.
        self._max_tokens_field = "max_completion_tokens" if self._is_own else "max_tokens"
        # One server's reasoning means nothing to another.
        self._opaque = f"openai_chat:{self._endpoint.url.netloc.decode()}"

    def _write(self, request: ChatRequest, *, stream: bool) -> JsonObject:
        refuse_native(self.id, request)
        return {
            "model": self._model,
            **tool_fields(
                open_records(request.tools, OPENAI_CHAT),
                request.tool_choice,
                {"function": {"name": request.tool_choice}},
            ),
            "messages": list(_write_messages(request.messages, self._opaque)),
            self._max_tokens_field: request.max_tokens,
            **({"stream": True, "stream_options": {"include_usage": True}} if stream else {}),
        }

    def _assembler(self) -> Assembler:
        return Assembler()

    def _read(self, answer: JsonObject, request: ChatRequest) -> ChatResponse:
        del request
        choice = answer["choices"][0]
        message = AssistantMessage(content=tuple(_read_parts(choice["message"], self._opaque)))
        reason = _FINISH_REASONS.get(str(choice.get("finish_reason")), "stop")
        if choice["message"].get("refusal"):
            reason = "content_filter"
        elif reason == "stop" and message.tool_calls:
            reason = "tool_calls"
        usage = usage_of(answer.get("usage"), sent="prompt", received="completion")
        return ChatResponse(message, reason, usage, str(answer.get("model") or ""))


def _write_messages(messages: Iterable[Message], opaque: str) -> Iterable[JsonObject]:
    pictures: list[JsonObject] = []
    for message in messages:
        if pictures and not isinstance(message, ToolMessage):
            yield {"role": "user", "content": pictures}
            pictures = []
        match message:
            case SystemMessage(text=text):
                yield {"role": "system", "content": text}
            case UserMessage(content=content):
                yield {"role": "user", "content": _write_content(content)}
            case AssistantMessage():
                yield _write_assistant(message, opaque)
            case ToolMessage():
                call_id = wire_id(message.call_id, max_length=_MAX_ID_LENGTH)
                yield {"role": "tool", "tool_call_id": call_id, "content": error_text(message)}
                # A result holds only text here, and nothing may stand between the results of one message.
                images = [_write_part(part) for part in images_of(message.content)]
                if images:
                    pictures += [{"type": "text", "text": f"Images of the result of {call_id}:"}, *images]
    if pictures:
        yield {"role": "user", "content": pictures}


def _write_content(content: Sequence[ContentPart]) -> str | list[JsonObject]:
    if images_of(content):
        return [_write_part(part) for part in content]
    return plain_text(content)


def _write_part(part: ContentPart) -> JsonObject:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    return {"type": "image_url", "image_url": {"url": image_url(part)}}


def _write_assistant(message: AssistantMessage, opaque: str) -> JsonObject:
    calls = [
        {
            "id": wire_id(call.id, max_length=_MAX_ID_LENGTH),
            "type": "function",
            "function": {"name": call.name, "arguments": as_text(call.arguments)},
        }
        for call in message.tool_calls
    ]
    record: JsonObject = {"role": "assistant", "content": message.text or (None if calls else "")}
    for part in message.content:
        if isinstance(part, OpaquePart) and part.provider == opaque:
            record.update(part.data)
    if calls:
        record["tool_calls"] = calls
    return record


def _read_parts(message: JsonObject, opaque: str) -> Iterable[AssistantPart]:
    reasoning = {key: message[key] for key in _REASONING if message.get(key)}
    if reasoning:
        yield OpaquePart(provider=opaque, data=reasoning)
    text = _text_of(message.get("content")) + (message.get("refusal") or "")
    if text:
        yield TextPart(text=text)
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = compact(arguments or {})
        yield ToolCall(id=call.get("id") or "", name=function["name"] or "", arguments=arguments)


def _text_of(content: Any) -> str:
    """Text that is given as such, or in parts as some servers do."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if part.get("type") == "text")
    return content or ""


class Assembler:
    """A whole answer out of ``chat.completion.chunk`` events."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._details: list[JsonObject] = []
        self._calls = CallPieces()
        self._finish_reason: str | None = None
        self._usage: JsonObject | None = None
        self._model = ""
        self._is_done = False

    def add(self, event: JsonObject) -> str:
        self._is_done = self._is_done or event is DONE
        self._model = self._model or event.get("model") or ""
        self._usage = event.get("usage") or self._usage
        choices = event.get("choices")
        if not choices:
            return ""
        choice = choices[0]
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        delta = choice.get("delta") or {}
        for call in delta.get("tool_calls") or ():
            self._calls.add(call)
        self._details += delta.get("reasoning_details") or ()
        for key in ("reasoning_content", "reasoning"):
            if delta.get(key):
                self._texts.setdefault(key, []).append(delta[key])
        shown = _text_of(delta.get("content"))
        refused = delta.get("refusal") or ""
        self._texts.setdefault("content", []).append(shown)
        self._texts.setdefault("refusal", []).append(refused)
        return shown + refused

    def answer(self) -> JsonObject | None:
        # Some servers say only that the stream has ended, and not why.
        if self._finish_reason is None and not (self._is_done and self._texts):
            return None
        message: JsonObject = {key: joined(pieces) for key, pieces in self._texts.items()}
        message |= {"reasoning_details": self._details, "tool_calls": self._calls.calls()}
        choice = {"message": message, "finish_reason": self._finish_reason}
        return {"model": self._model, "choices": [choice], "usage": self._usage}
