"""`ToolCallingAdvisor`: asks the model, runs the calls of its answer, and asks again."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace

from toolsearch.advisors.base import TOOL_CALLING, CallGate, HistoryKeeper, tool_context
from toolsearch.advisors.batch import BatchRunner
from toolsearch.advisors.chain import AdvisorChain, closing
from toolsearch.advisors.hooks import LoopHooks
from toolsearch.advisors.journal import CallJournal, MemoryCallJournal
from toolsearch.advisors.limits import LimitBreach, LoopLimits
from toolsearch.advisors.manager import ToolCallingManager, returns_directly
from toolsearch.advisors.paused import OFFERED, resumption_of
from toolsearch.advisors.record import OpenRound, RunRecord, record_of
from toolsearch.advisors.stand_ins import ReplayModel, TimedModel
from toolsearch.advisors.turn import Turn, limit_response, system_messages
from toolsearch.chat.base import (
    ChatEvent,
    ChatRequest,
    ChatResponse,
    RoundFinished,
    RunFinished,
    ToolFinished,
)
from toolsearch.exceptions import LimitExceededError
from toolsearch.messages import Message
from toolsearch.tools import Tool


class ToolCallingAdvisor:
    """The tool-calling loop. Holds no state of a run: safe to share.

    Each round runs the rest of the chain, then the calls of the answer, against the tools that the model was
    offered in that round and no others. The run ends with an answer without calls; with results that all go
    to the caller directly (finish reason ``return_direct``); at a limit (``limit``); or with calls that wait
    for a decision (``paused``). Usage is summed over the rounds.

    The final response's ``metadata`` holds:

    - ``messages``: what the run added to the conversation, every call with its result;
    - ``rounds``: how often the model was asked;
    - ``tool_failures``: each exception of a tool, as a `ToolFailure`;
    - ``tool_results``: the results that are returned directly;
    - ``limit``: the `LimitBreach` that the run came to;
    - ``paused_run``: the `PausedRun` to resume.
    """

    is_tool_calling = True

    def __init__(
        self,
        manager: ToolCallingManager | None = None,
        *,
        limits: LoopLimits | None = None,
        hooks: LoopHooks | None = None,
        history: bool | None = None,
        journal: CallJournal | None = None,
        clock: Callable[[], float] = time.monotonic,
        name: str = "tool_calling",
        order: int = TOOL_CALLING,
    ) -> None:
        """Runs nothing yet.

        Args:
            manager: Runs the calls.
            limits: When a run has gone on for long enough.
            hooks: Called around the loop and its rounds.
            history: Whether each round is sent the whole conversation, or only system messages and what is
                new since the last round. None leaves it out where an advisor inside the loop, such as
                `MemoryAdvisor`, brings it.
            journal: Of what resumed runs do, in the round that paused and all later ones; one in memory by
                default. A run that broke off is resumed again from its `PausedRun` and goes on from there:
                rounds that are noted are not asked for again, no call runs twice, and decisions that the
                model was to be told of stand. One resume at a time goes on with a run, also in several
                processes that share a journal; see `PausedRun.resume` for one that a crash left behind.
            clock: Seconds, for the limit of time.
        """
        self.name = name
        self.order = order
        self._manager = ToolCallingManager() if manager is None else manager
        self._limits = LoopLimits() if limits is None else limits
        self._hooks = LoopHooks() if hooks is None else hooks
        self._history = history
        self._journal = MemoryCallJournal() if journal is None else journal
        self._batches = BatchRunner(self._manager, self._limits, clock)
        self._clock = clock

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        """Events of every round, a `ToolFinished` for each call, and the final response.

        Raises:
            LimitExceededError: a limit was reached and is set to raise.
            PausedRunError: the run that is to be resumed has been, to its end or its next pause; or another
                resume goes on with it, or has taken it over; or tools of calls that are to run are missing.
            Exception: of a tool, where the manager's policy rethrows it.
        """
        resumed = resumption_of(request)
        held = None if resumed is None else resumed.held
        if held is not None:
            await held.leave()
        async with AsyncExitStack() as leaving:
            record = await leaving.enter_async_context(record_of(self._journal, resumed))
            async with closing(self._events(request, chain, record)) as events:
                async for event in events:
                    if record is not None and isinstance(event, RunFinished):
                        if held is None:
                            await record.end()
                        else:
                            held.hold(record, leaving.pop_all())
                    yield event

    async def _events(
        self, request: ChatRequest, chain: AdvisorChain, record: RunRecord | None
    ) -> AsyncIterator[ChatEvent]:
        """Those of the rounds; of a run that came to its end before, its answer alone."""
        if record is not None and record.answer is not None:
            yield RunFinished(record.answer)
            return
        async with closing(self._rounds(request, chain, record)) as events:
            async for event in events:
                if record is not None and isinstance(event, RunFinished):
                    await record.note_answer(event.response)
                yield event

    async def _rounds(
        self, request: ChatRequest, chain: AdvisorChain, record: RunRecord | None
    ) -> AsyncIterator[ChatEvent]:
        resumed = resumption_of(request)
        request = await self._hooks.before_loop(request)
        keepers = [advisor for advisor in chain.advisors if isinstance(advisor, HistoryKeeper)]
        gates = [advisor for advisor in chain.advisors if isinstance(advisor, CallGate)]
        history = not keepers if self._history is None else self._history
        turn = Turn.begin(request, resumed, history=history, now=self._clock())
        opened, offered = self._gone_on(turn, record)
        while True:
            link = self._link(chain, turn, opened)
            asked = await self._hooks.before_round(turn.next_request(), turn.rounds + (opened is None))
            if offered:
                asked = replace(asked, context={**asked.context, OFFERED: offered})
                offered = ()
            seen = asked.messages
            async with closing(link.next(asked)) as events:
                async for event in events:
                    if isinstance(event, RunFinished):
                        response = event.response
                    elif opened is None:
                        if isinstance(event, RoundFinished) and event.request is not None:
                            seen = event.request.messages
                        yield event
            if opened is None:
                turn.add_round(response.usage)
                response = await self._hooks.after_round(asked, response, turn.rounds)
            if not response.message.tool_calls:
                time = self._limits.time
                is_late = isinstance(link.model, TimedModel) and link.model.is_late
                final = self._stopped(time, turn, response) if time and is_late else turn.answered(response)
                break

            context = tool_context(asked.context)
            if opened is None or record is None:
                plan = self._manager.plan(response.message, response.offered, history=seen)
                batch = await self._batches.run(plan, response, turn, gates, context, record=record)
            else:
                plan = self._manager.plan(response.message, response.offered)
                batch = await self._batches.resume(plan, opened, turn, gates, context, record=record)
                opened = None
            turn.failures += batch.failures
            for result in batch.fresh:
                yield ToolFinished(result.call_id, result.name, result.is_error)
            if batch.waiting:
                final = turn.paused(
                    batch.plan.message,
                    batch.results,
                    batch.waiting,
                    response,
                    elapsed_s=self._clock() - turn.started,
                    messages=system_messages(turn.sent) if keepers else turn.sent,
                )
                break
            turn.add_batch(batch.plan.message, batch.results)
            unsent: tuple[Message, ...] = (batch.plan.message, *batch.results)
            if batch.breach is not None:
                final = self._stopped(batch.breach, turn, response)
                unsent += (final.message,)
            elif returns_directly(batch.plan.calls, batch.results):
                final = turn.returned(batch.results, response)
            else:
                if record is not None:
                    done = self._batches.noted(
                        batch.plan, response, turn, results=batch.results, is_done=True
                    )
                    await record.note_round(done)
                continue
            for keeper in keepers:
                await keeper.keep(unsent, turn.request.context)
            break
        yield RunFinished(await self._hooks.after_loop(turn.request, final))

    def check_names(self, tools: Mapping[str, Tool]) -> None:
        """Does nothing where every tool that the limits name is one of `tools`.

        Raises:
            UnknownToolError: for the first that is not.
        """
        self._limits.check_names(tools)

    def _gone_on(self, turn: Turn, record: RunRecord | None) -> tuple[OpenRound | None, tuple[str, ...]]:
        """Brings the turn to where the run stood last: the round that is open there, if any, and what the
        latest one offered.
        """
        if record is None:
            return None, ()
        offered: tuple[str, ...] = ()
        for noted in (*record.done, *([record.begun] if record.begun else [])):
            turn.go_on_from(noted, self._clock())
            offered = noted.offered
        return record.opened, offered if record.opened is None else record.opened.offered

    def _link(self, chain: AdvisorChain, turn: Turn, opened: OpenRound | None) -> AdvisorChain:
        """The rest of the chain for the next round: an open one has its answer, others have their time."""
        if opened is not None:
            return replace(chain, model=ReplayModel(chain.model, opened.answer))
        time = self._limits.time
        if time is None:
            return chain
        left_s = turn.started + time.limit - self._clock()
        if self._limits.on_limit == "tell" and (left_s <= 0 or turn.last is not None):
            turn.last = turn.last or time
            left_s = time.limit
        return replace(chain, model=TimedModel(chain.model, left_s, limit_response(time)))

    def _stopped(self, breach: LimitBreach, turn: Turn, response: ChatResponse) -> ChatResponse:
        if self._limits.on_limit == "raise":
            raise LimitExceededError(
                breach.message,
                kind=breach.kind,
                limit=breach.limit,
                tool=breach.tool,
                messages=turn.added,
            )
        return turn.stopped(breach, response)
