"""A model that gives an answer which is already there, so that advisors prepare its round once more."""

from __future__ import annotations

from collections.abc import AsyncIterator

from toolsearch.chat.base import ChatEvent, ChatModel, ChatRequest, ChatResponse, RoundFinished
from toolsearch.messages import AssistantMessage


class ReplayModel:
    """Stands in for `model` with one known answer, at no cost in tokens."""

    def __init__(self, model: ChatModel, answer: AssistantMessage) -> None:
        self._model = model
        self._response = ChatResponse(answer, finish_reason="tool_calls")

    @property
    def id(self) -> str:
        return self._model.id

    @property
    def native_search(self) -> bool:
        return self._model.native_search

    async def complete(self, request: ChatRequest) -> ChatResponse:
        del request
        return self._response

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        yield RoundFinished(await self.complete(request))
