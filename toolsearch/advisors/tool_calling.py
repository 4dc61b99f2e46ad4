"""`ToolCallingAdvisor`: asks the model, runs the calls of its answer, and asks again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace

from toolsearch.advisors.base import TOOL_CALLING, CallGate, HistoryKeeper, tool_context
from toolsearch.advisors.batch import BatchRunner
from toolsearch.advisors.chain import AdvisorChain, closing
from toolsearch.advisors.hooks import LoopHooks
from toolsearch.advisors.journal import CallJournal, MemoryCallJournal
from toolsearch.advisors.limits import LimitBreach, LoopLimits
from toolsearch.advisors.manager import ToolCallingManager, returns_directly
from toolsearch.advisors.paused import OFFERED, Resumption, resumption_of
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
from toolsearch.exceptions import LimitExceededError, PausedRunError
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
            journal: Of the calls of resumed runs; one in memory by default. A paused run can be resumed again
                after a failure, until it comes to its end; with a journal on disk no call runs twice by
                that, even in several processes or after a crash.
            clock: Seconds, for the limit of time.
        """
        self.name = name
        self.order = order
        self._manager = manager or ToolCallingManager()
        self._limits = limits or LoopLimits()
        self._hooks = hooks or LoopHooks()
        self._history = history
        self._journal = journal or MemoryCallJournal()
        self._batches = BatchRunner(self._manager, self._limits, self._journal, clock)
        self._clock = clock

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        """Events of every round, a `ToolFinished` for each call, and the final response.

        Raises:
            LimitExceededError: a limit was reached and is set to raise.
            PausedRunError: the run that is to be resumed has been, to its end or its next pause.
            Exception: of a tool, where the manager's policy rethrows it.
        """
        resumed = resumption_of(request)
        paused_id = None if resumed is None else await self._open_again(resumed)
        request = await self._hooks.before_loop(request)
        keepers = [advisor for advisor in chain.advisors if isinstance(advisor, HistoryKeeper)]
        gates = [advisor for advisor in chain.advisors if isinstance(advisor, CallGate)]
        history = not keepers if self._history is None else self._history
        turn = Turn.begin(request, resumed, history=history, now=self._clock())
        while True:
            link = self._link(chain, turn, resumed)
            asked = await self._hooks.before_round(turn.next_request(), turn.rounds + (resumed is None))
            if resumed is not None:
                asked = replace(asked, context={**asked.context, OFFERED: resumed.paused.offered})
            seen = asked.messages
            async with closing(link.next(asked)) as events:
                async for event in events:
                    if isinstance(event, RunFinished):
                        response = event.response
                    elif resumed is None:
                        if isinstance(event, RoundFinished) and event.request is not None:
                            seen = event.request.messages
                        yield event
            if resumed is None:
                turn.add_round(response.usage)
                response = await self._hooks.after_round(asked, response, turn.rounds)
            if not response.message.tool_calls:
                time = self._limits.time
                is_late = isinstance(link.model, TimedModel) and link.model.is_late
                final = self._stopped(time, turn, response) if time and is_late else turn.answered(response)
                break

            context = tool_context(asked.context)
            if resumed is None:
                plan = self._manager.plan(response.message, response.offered, history=seen)
                batch = await self._batches.run(plan, turn, gates, context)
            else:
                plan = self._manager.plan(response.message, response.offered)
                batch = await self._batches.resume(plan, turn, resumed, gates, context)
                resumed = None
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
                continue
            for keeper in keepers:
                await keeper.keep(unsent, turn.request.context)
            break
        final = await self._hooks.after_loop(turn.request, final)
        if paused_id is not None:
            await asyncio.to_thread(self._journal.end, paused_id)
        yield RunFinished(final)

    def check_names(self, tools: Mapping[str, Tool]) -> None:
        """Does nothing where every tool that the limits name is one of `tools`.

        Raises:
            UnknownToolError: for the first that is not.
        """
        self._limits.check_names(tools)

    async def _open_again(self, resumed: Resumption) -> str:
        paused_id = resumed.paused.id
        if await asyncio.to_thread(self._journal.has_ended, paused_id):
            raise PausedRunError(
                "This run was resumed before and went on from here, to its end or to another pause. Where it "
                "paused again, resume the paused_run of that response."
            )
        return paused_id

    def _link(self, chain: AdvisorChain, turn: Turn, resumed: Resumption | None) -> AdvisorChain:
        """The rest of the chain for the next round: a paused one has its answer, others have their time."""
        if resumed is not None:
            return replace(chain, model=ReplayModel(chain.model, resumed.paused.answer))
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
