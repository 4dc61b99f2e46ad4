"""A chat model that answers from a script."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from toolsearch.chat.anthropic import AnthropicChatModel
from toolsearch.chat.base import ChatEvent, ChatRequest, ChatResponse, RoundFinished, TextDelta
from toolsearch.exceptions import ChatRequestError
from toolsearch.messages import AssistantMessage, TextPart, ToolCall


@dataclass(frozen=True)
class BrokenStream:
    """An answer that fails with `error` after its `text` has been streamed; `complete` only fails."""

    text: str
    error: Exception


Fixed: TypeAlias = ChatResponse | AssistantMessage | str | ToolCall | Sequence[ToolCall] | BrokenStream
"""An answer that is known beforehand: whole, as a message, as its text, or as the calls it makes."""

Answer: TypeAlias = Fixed | Exception | Callable[[ChatRequest], "Fixed | Awaitable[Fixed]"]
"""One step of a script: a fixed answer, an error to raise, or a function of the request."""


def tool_call(name: str, arguments: Mapping[str, Any] | None = None, *, id: str = "call_1") -> ToolCall:  # noqa: A002
    """A call of `name` with `arguments` written as JSON."""
    return ToolCall(id=id, name=name, arguments=json.dumps(dict(arguments or {}), ensure_ascii=False))


# Of the providers, this one is the hardest to please; nothing is sent.
_STRICT_MODEL = AnthropicChatModel("strict", api_key="")


class ScriptedChatModel:
    """Answers each request with the next step of a script, streamed or not.

    Attributes:
        requests: Every request so far, in order.
        streamed: For each of them, whether it was streamed.
    """

    def __init__(
        self,
        script: Iterable[Answer] | Callable[[ChatRequest], Fixed | Awaitable[Fixed]],
        *,
        id: str = "scripted:model",  # noqa: A002
        native_search: bool = False,
        piece_length: int = 8,
        strict: bool = True,
    ) -> None:
        """Answers nothing yet.

        Args:
            script: The answers in order; it may be endless. A function answers every request.
            id, native_search: What the model says of itself.
            piece_length: Characters of a text delta when streaming.
            strict: Refuse, as providers do, a call without its result, two tools of one name and the like.
        """
        if piece_length < 1:
            raise ValueError(f"piece_length is {piece_length}, not at least 1.")
        self._steps = iter(() if callable(script) else script)
        self._function = script if callable(script) else None
        self._piece_length = piece_length
        self._strict = strict
        self.id = id
        self.native_search = native_search
        self.requests: list[ChatRequest] = []
        self.streamed: list[bool] = []

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """The next answer.

        Raises:
            AssertionError: the script has come to its end.
            ChatRequestError: providers would refuse the request.
        """
        answer = await self._next(request, streamed=False)
        if isinstance(answer, BrokenStream):
            raise answer.error
        return answer

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """The next answer: its text in pieces of `piece_length`, other tasks having their turn in between."""
        answer = await self._next(request, streamed=True)
        for start in range(0, len(answer.text), self._piece_length):
            yield TextDelta(answer.text[start : start + self._piece_length])
            await asyncio.sleep(0)
        if isinstance(answer, BrokenStream):
            raise answer.error
        yield RoundFinished(answer)

    async def _next(self, request: ChatRequest, *, streamed: bool) -> ChatResponse | BrokenStream:
        self.requests.append(request)
        self.streamed.append(streamed)
        if self._strict:
            try:
                _STRICT_MODEL.body(replace(request, options={}))
            except ChatRequestError as exc:
                raise ChatRequestError(self.id, exc.problems) from None
        # As with a provider, the answer comes in a later turn of the event loop.
        await asyncio.sleep(0)
        step = self._function or next(self._steps, None)
        if step is None:
            raise AssertionError(f"The script is at its end and request {len(self.requests)} unanswered.")
        if isinstance(step, Exception):
            raise step
        if callable(step):
            made = step(request)
            step = await made if inspect.isawaitable(made) else made
        return _response(step)


def _response(answer: Fixed) -> ChatResponse | BrokenStream:
    match answer:
        case ChatResponse() | BrokenStream():
            return answer
        case AssistantMessage():
            message = answer
        case str():
            message = AssistantMessage(content=(TextPart(text=answer),))
        case ToolCall():
            message = AssistantMessage(content=(answer,))
        case _:
            message = AssistantMessage(content=tuple(answer))
    return ChatResponse(message, finish_reason="tool_calls" if message.tool_calls else "stop")
