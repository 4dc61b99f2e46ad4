"""Models that stand in for the one at the end of a chain, for a single round."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

from toolsearch.advisors.chain import closing
from toolsearch.chat.base import ChatEvent, ChatModel, ChatRequest, ChatResponse, RoundFinished
from toolsearch.functions.running import TooLateError, ended, settled, within
from toolsearch.messages import AssistantMessage


class _StandIn:
    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def id(self) -> str:
        return self._model.id

    @property
    def native_search(self) -> bool:
        return self._model.native_search


class ReplayModel(_StandIn):
    """Gives an answer that is there already, without any tokens, so that advisors prepare its round again."""

    def __init__(self, model: ChatModel, answer: AssistantMessage) -> None:
        super().__init__(model)
        self._response = ChatResponse(answer, finish_reason="tool_calls")

    async def complete(self, request: ChatRequest) -> ChatResponse:
        del request
        return self._response

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        yield RoundFinished(await self.complete(request))


class TimedModel(_StandIn):
    """The model itself, or `late` in the place of its answer where that is not there in time.

    Attributes:
        is_late: Whether it was not.
    """

    def __init__(self, model: ChatModel, left_s: float, late: ChatResponse) -> None:
        super().__init__(model)
        self._ends = asyncio.get_running_loop().time() + left_s
        self._late = late
        self.is_late = left_s <= 0

    async def complete(self, request: ChatRequest) -> ChatResponse:
        if not self.is_late:
            try:
                return await within(self._answer(request), self._ends)
            except TooLateError:
                self.is_late = True
        return self._late

    async def _answer(self, request: ChatRequest) -> ChatResponse:
        return await self._model.complete(request)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        if not self.is_late:
            coming: asyncio.Queue[ChatEvent | BaseException | None] = asyncio.Queue(1)
            # All in one task: a generator may hold what must be let go of in the task that took it.
            reading = asyncio.create_task(settled(self._read(request, coming)))
            try:
                while asyncio.get_running_loop().time() < self._ends:
                    event = await within(coming.get(), self._ends)
                    if event is None:
                        return
                    if isinstance(event, BaseException):
                        raise event
                    yield event
                    if isinstance(event, RoundFinished):
                        return
                self.is_late = True
            except TooLateError:
                self.is_late = True
            finally:
                await ended(reading)
        yield RoundFinished(self._late)

    async def _read(
        self, request: ChatRequest, coming: asyncio.Queue[ChatEvent | BaseException | None]
    ) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        end: BaseException | None
        try:
            async with closing(self._model.stream(request)) as events:
                async for event in events:
                    # A model that caught its cancellation answers to nobody.
                    if task.cancelling():
                        return
                    await coming.put(event)
            end = None
        except BaseException as exc:  # noqa: BLE001 - it is raised again where the events are read
            end = exc
        if not task.cancelling():
            await coming.put(end)
