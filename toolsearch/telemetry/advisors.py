"""`observed_by`: advisors that show a run to observers, so that no other part of a chain knows of them."""

from __future__ import annotations

import copy
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from toolsearch.advisors.base import TOOL_SEARCH, Advisor
from toolsearch.advisors.chain import AdvisorChain, closing
from toolsearch.advisors.stand_ins import ReplayModel
from toolsearch.chat.base import ChatEvent, ChatRequest, RunFinished, TextDelta
from toolsearch.messages import Message, SystemMessage, UserMessage
from toolsearch.telemetry.base import ObservedCall, ObservedRound, ObservedRun, Observer, RunObserver
from toolsearch.tools import JsonObject, Tool, ToolContext

OUTERMOST = 0
INNERMOST = 1000
WATCH = "toolsearch.watch"
"""Key of `ChatRequest.context` under which a run's observers travel."""

AnyTool = TypeVar("AnyTool", bound=Tool)


def observed_by(*observers: Observer, clock: Callable[[], float] = time.monotonic) -> tuple[Advisor, ...]:
    """Advisors for one chain that show its runs, rounds and calls of tools to `observers`.

    They stand around everything, around the tool search, and around the model, and change nothing but the
    metadata of the final response. Tools that a resolver of the manager finds are called unseen.
    """
    return (_Runs(observers), _BeforeSearch(), _AfterSearch(), _Rounds(clock))


@dataclass
class _Watch:
    """The observers of a run, and where it stands."""

    observers: Sequence[RunObserver]
    rounds: int = 0
    before: tuple[Message, ...] = ()
    written: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


class _Runs:
    name = "observed_runs"
    order = OUTERMOST

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        seen = ObservedRun(request, chain.model.id, chain.streaming)
        with ExitStack() as stack:
            watch = _Watch([stack.enter_context(observer.run(seen)) for observer in self._observers])
            watched = replace(request, context={**request.context, WATCH: watch})
            async with closing(chain.next(watched)) as events:
                async for event in events:
                    if isinstance(event, RunFinished):
                        seen.response = event.response
                    else:
                        yield event
        response = seen.response
        if response is not None:
            yield RunFinished(replace(response, metadata={**response.metadata, **seen.metadata}))


class _BeforeSearch:
    """Just outside the tool search: sees the conversation without its words, and all that may run."""

    name = "observed_calls"
    order = TOOL_SEARCH - 1

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        watch = _watch(request)
        if watch is not None:
            watch.before = request.messages
        async with closing(chain.next(request)) as events:
            async for event in events:
                if watch is not None and isinstance(event, RunFinished):
                    offered = tuple(_watched(tool, watch.observers) for tool in event.response.offered)
                    yield RunFinished(replace(event.response, offered=offered))
                else:
                    yield event


class _AfterSearch:
    """Just inside the tool search: sees what it has put into the conversation."""

    name = "observed_search"
    order = TOOL_SEARCH + 1

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        watch = _watch(request)
        if watch is not None:
            before, after = _said(watch.before), _said(request.messages)
            watch.written = tuple(message.text for message in after if message not in before)
            watch.replaced = tuple(message.text for message in before if message not in after)
        async with closing(chain.next(request)) as events:
            async for event in events:
                yield event


class _Rounds:
    name = "observed_rounds"
    order = INNERMOST

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        watch = _watch(request)
        if watch is None or isinstance(chain.model, ReplayModel):
            async with closing(chain.next(request)) as events:
                async for event in events:
                    yield event
            return
        watch.rounds += 1
        seen = ObservedRound(
            watch.rounds, request, chain.model.id, chain.streaming, watch.written, watch.replaced
        )
        started = self._clock()
        with ExitStack() as stack:
            surrounding = [stack.enter_context(observer.round(seen)) for observer in watch.observers]
            async with closing(chain.next(request)) as events:
                while True:
                    with ExitStack() as step:
                        for within in surrounding:
                            step.enter_context(within())
                        try:
                            event = await anext(events)
                        except StopAsyncIteration:
                            break
                    if isinstance(event, RunFinished):
                        seen.response = event.response
                        continue
                    if isinstance(event, TextDelta) and seen.first_text_s is None:
                        seen.first_text_s = self._clock() - started
                    yield event
        if seen.response is not None:
            yield RunFinished(seen.response)


def _watch(request: ChatRequest) -> _Watch | None:
    found = request.context.get(WATCH)
    return found if isinstance(found, _Watch) else None


def _said(messages: Sequence[Message]) -> list[SystemMessage | UserMessage]:
    return [message for message in messages if isinstance(message, SystemMessage | UserMessage)]


def _watched(tool: AnyTool, observers: Sequence[RunObserver]) -> AnyTool:
    """The same tool, whose calls the observers see."""
    inner = tool.call
    if inner is None:
        return tool

    async def call(arguments: JsonObject, context: ToolContext) -> Any:
        seen = ObservedCall(tool, arguments, context)
        with ExitStack() as stack:
            for observer in observers:
                stack.enter_context(observer.call(seen))
            seen.result = await inner(arguments, context)
        return seen.result

    # dataclasses.replace would compute what a tool of a function leaves for later.
    made = copy.copy(tool)
    object.__setattr__(made, "call", call)
    return made
