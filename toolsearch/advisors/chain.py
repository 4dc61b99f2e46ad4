"""`AdvisorChain`: advisors around a chat model, as a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from toolsearch.advisors.base import Advisor, CallGate
from toolsearch.advisors.encodable import encodable
from toolsearch.advisors.held import HeldRun
from toolsearch.advisors.paused import RESUMPTION, resumption_of
from toolsearch.chat.base import ChatEvent, ChatModel, ChatRequest, ChatResponse, RoundFinished, RunFinished
from toolsearch.checks import check_has, shown
from toolsearch.exceptions import ChainError, DuplicateToolError
from toolsearch.given import as_tools
from toolsearch.tools import Tool


@dataclass(frozen=True)
class AdvisorChain:
    """Advisors in the order of (order, name), and the model that they end at. Holds no state of a run.

    Attributes:
        model: Answers at the end of the chain.
        advisors: Given in any order. At most one may be the tool-calling loop (``is_tool_calling = True``),
            and what approves calls must stand inside it.
        tools: Offered in every run, before those of its request.
        streaming: Whether the model is asked to stream; `call` and `stream` set it.

    Raises:
        TypeError: something that is no model, no advisor or no tool; functions become tools.
        ChainError: two tool-calling advisors, or an approval outside the loop.
    """

    model: ChatModel
    advisors: Sequence[Advisor] = ()
    tools: Sequence[Tool] = ()
    streaming: bool = False

    def __post_init__(self) -> None:
        if not callable(getattr(self.model, "complete", None)) or isinstance(self.model, type):
            known = f" load_chat_model({self.model!r}) makes one." if isinstance(self.model, str) else ""
            raise TypeError(f"model is {shown(self.model)}. Give a ChatModel.{known}")
        for number, advisor in enumerate(self.advisors):
            check_has(f"advisors[{number}]", advisor, ("name", "order", "advise"), "an Advisor")
        ordered = sorted(self.advisors, key=lambda advisor: (advisor.order, advisor.name))
        _check(ordered)
        object.__setattr__(self, "advisors", tuple(ordered))
        object.__setattr__(self, "tools", as_tools(self.tools))

    async def call(self, request: ChatRequest) -> ChatResponse:
        """The response to `request`, after every advisor.

        Raises:
            DuplicateToolError: two tools of one name among those of the chain and the request.
            ToolSearchError: what the model or an advisor raises.
        """
        async with closing(replace(self, streaming=False)._run(request)) as events:
            return await response_of(events)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """What `call` does as it happens: text, ends of rounds, finished calls; at last `RunFinished`.

        Raises:
            DuplicateToolError, ToolSearchError: as `call`, also in the middle.
        """
        async with closing(replace(self, streaming=True)._run(request)) as events:
            async for event in events:
                yield event

    async def next(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """For advisors: the rest of the chain. Events, at last exactly one `RunFinished`.

        Raises:
            ChainError: an advisor, or the model, that ends otherwise.
        """
        finished = False
        if self.advisors:
            source = f"Advisor {self.advisors[0].name!r}"
            coming = self.advisors[0].advise(request, replace(self, advisors=self.advisors[1:], tools=()))
        else:
            source = f"Model {self.model.id!r}"
            coming = self._ask(request)
        async with closing(coming) as events:
            async for event in events:
                if finished:
                    raise ChainError(f"{source} went on after RunFinished; it must be the last event.")
                finished = isinstance(event, RunFinished)
                yield event
        if not finished:
            raise ChainError(f"{source} ended without a response; its last event must hold one.")

    async def _run(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        request = replace(request, tools=unique_tools((*self.tools, *request.tools)))
        resumed = resumption_of(request)
        if resumed is None:
            async with closing(self.next(request)) as events:
                async for event in events:
                    yield event
            return
        held = HeldRun()
        context = {**request.context, RESUMPTION: replace(resumed, held=held)}
        last: list[ChatEvent] = []
        try:
            async with closing(self.next(replace(request, context=context))) as events:
                async for event in events:
                    if isinstance(event, RunFinished):
                        last.append(event)
                    else:
                        yield event
            # Until here any advisor may fail, and the run has to be there to be resumed again.
            await held.end()
        finally:
            await held.leave()
        for event in last:
            yield event

    async def _ask(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        unique_tools(request.tools)
        if not self.streaming:
            response = _answered(await self.model.complete(request), request)
            yield RoundFinished(response, request)
            yield RunFinished(response)
            return
        async with closing(self.model.stream(request)) as events:
            async for event in events:
                if isinstance(event, RoundFinished):
                    response = _answered(event.response, request)
                    yield RoundFinished(response, request)
                    yield RunFinished(response)
                else:
                    yield event


def _answered(response: ChatResponse, request: ChatRequest) -> ChatResponse:
    return replace(response, message=encodable(response.message), offered=request.tools)


def unique_tools(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """`tools` as they are.

    Raises:
        DuplicateToolError: several of one name; names all such names.
    """
    kept = tuple(tools)
    counts = Counter(tool.name for tool in kept)
    twice = tuple(name for name, count in counts.items() if count > 1)
    if twice:
        raise DuplicateToolError(
            twice,
            "offered more than once. Rename one, or leave it out of the chain's tools or the request's.",
        )
    return kept


async def response_of(events: AsyncIterator[ChatEvent]) -> ChatResponse:
    """The response at the end of what ``chain.next`` or ``chain.stream`` gives.

    Raises:
        ChainError: there was none.
    """
    response = None
    async for event in events:
        if isinstance(event, RunFinished):
            response = event.response
    if response is None:
        raise ChainError("The events ended without RunFinished.")
    return response


@asynccontextmanager
async def closing(events: AsyncIterator[ChatEvent]) -> AsyncIterator[AsyncIterator[ChatEvent]]:
    """`events`, closed at the end where they can be: a connection is not kept until garbage is collected."""
    try:
        yield events
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


def _check(ordered: Sequence[Advisor]) -> None:
    loops = [i for i, advisor in enumerate(ordered) if getattr(advisor, "is_tool_calling", False)]
    if len(loops) > 1:
        names = tuple(ordered[i].name for i in loops)
        raise ChainError(
            f"Only one advisor may run tool calls, not {' and '.join(map(repr, names))}. Leave one out.",
            names,
        )
    outside = ordered[: loops[0]] if loops else ()
    for advisor in outside:
        if isinstance(advisor, CallGate):
            loop = ordered[loops[0]]
            raise ChainError(
                f"{advisor.name!r} (order {advisor.order}) decides on calls, but stands outside the loop "
                f"{loop.name!r} (order {loop.order}). Give it a higher order.",
                (advisor.name, loop.name),
            )
