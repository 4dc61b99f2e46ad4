"""`ToolCallingAdvisor`: asks the model, runs the calls of its answer, and asks again."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from toolsearch.advisors.base import (
    TOOL_CALLING,
    Approve,
    CallGate,
    Deny,
    Edit,
    HistoryKeeper,
    PendingCall,
    Wait,
    tool_context,
)
from toolsearch.advisors.calls import Plan, PlannedCall
from toolsearch.advisors.chain import AdvisorChain, closing
from toolsearch.advisors.failures import ToolFailure
from toolsearch.advisors.hooks import LoopHooks
from toolsearch.advisors.journal import CallJournal, MemoryCallJournal
from toolsearch.advisors.limits import LimitBreach, LoopLimits
from toolsearch.advisors.manager import ToolCallingManager, failures_of, returns_directly
from toolsearch.advisors.paused import Resumption, WaitingCall, resumption_of
from toolsearch.advisors.replay import ReplayModel
from toolsearch.advisors.turn import Turn, system_messages
from toolsearch.chat.base import (
    ChatEvent,
    ChatRequest,
    ChatResponse,
    RoundFinished,
    RunFinished,
    ToolFinished,
)
from toolsearch.exceptions import LimitExceededError, PausedRunError
from toolsearch.messages import Message, ToolMessage, ToolResult
from toolsearch.tools import ToolContext

_UNKNOWN = (
    "It is not known whether this call ran: it had begun when the run broke off. It was not run again; "
    "find out before asking for it once more."
)


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
        self._clock = clock

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        """Events of every round, a `ToolFinished` for each call, and the final response.

        Raises:
            LimitExceededError: a limit was reached and is set to raise.
            PausedRunError: the run that is to be resumed has been, to its end.
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
            asked = await self._hooks.before_round(turn.next_request(), turn.rounds + (resumed is None))
            seen = asked.messages
            async with closing(_link(chain, resumed).next(asked)) as events:
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
                final = turn.answered(response)
                break

            context = tool_context(asked.context)
            if resumed is None:
                plan = self._manager.plan(response.message, response.offered, history=seen)
                step = await self._run_calls(plan, turn, gates, context)
            else:
                plan = self._manager.plan(response.message, response.offered)
                step = await self._resume_calls(plan, resumed, context)
                resumed = None
            turn.failures += step.failures
            for result in step.fresh:
                yield ToolFinished(result.call_id, result.name, result.is_error)
            if step.waiting:
                final = turn.paused(
                    step.plan.message,
                    step.results,
                    step.waiting,
                    response,
                    elapsed_s=self._clock() - turn.started,
                    messages=system_messages(turn.sent) if keepers else turn.sent,
                )
                break
            turn.add_batch(step.plan.message, step.results)
            unsent: tuple[Message, ...] = (step.plan.message, *step.results)
            if step.breach is not None:
                final = self._stopped(step.breach, turn, response)
                unsent += (final.message,)
            elif returns_directly(step.plan.calls, step.results):
                final = turn.returned(step.results, response)
            else:
                continue
            for keeper in keepers:
                await keeper.keep(unsent, turn.request.context)
            break
        final = await self._hooks.after_loop(turn.request, final)
        if paused_id is not None:
            await asyncio.to_thread(self._journal.end, paused_id)
        yield RunFinished(final)

    async def _open_again(self, resumed: Resumption) -> str:
        paused_id = resumed.paused.id
        if await asyncio.to_thread(self._journal.has_ended, paused_id):
            raise PausedRunError("This run was resumed before and went on to its end; it cannot be again.")
        return paused_id

    async def _run_calls(
        self, plan: Plan, turn: Turn, gates: Sequence[CallGate], context: ToolContext
    ) -> _Step:
        """Runs the calls of a new answer: those that the limits allow and every gate lets through."""
        plan, breach = self._limited(plan, turn)
        waiting: list[WaitingCall] = []
        reviewed: list[PlannedCall] = []
        for planned in plan.calls:
            decided, verdict = await _reviewed(planned, gates, context)
            reviewed.append(decided)
            if isinstance(verdict, Wait):
                waiting.append(WaitingCall(call=decided.call, reason=verdict.reason))
        return await self._execute(plan.with_calls(reviewed), context, waiting=waiting, breach=breach)

    async def _resume_calls(self, plan: Plan, resumed: Resumption, context: ToolContext) -> _Step:
        """Runs those calls of the answer of a paused run that are decided by now."""
        paused, decisions = resumed.paused, resumed.decisions
        still = [waiting for waiting in paused.waiting if waiting.call.id not in decisions]
        done = {result.call_id: result for result in paused.results}
        decided: list[PlannedCall] = []
        for planned in plan.calls:
            if planned.call.id not in decisions:
                decided.append(planned)
                continue
            after = _after(decisions[planned.call.id], planned)
            if after.refusal is None:
                begun = await asyncio.to_thread(self._journal.begin, paused.id, after.call.id)
                if isinstance(begun, ToolMessage):
                    done[after.call.id] = begun
                elif begun == "unknown":
                    after = replace(after, refusal=ToolResult.error(_UNKNOWN))
            decided.append(after)
        step = await self._execute(plan.with_calls(decided), context, waiting=still, done=done)
        for result in step.fresh:
            await asyncio.to_thread(self._journal.finish, paused.id, result)
        return step

    async def _execute(
        self,
        plan: Plan,
        context: ToolContext,
        *,
        waiting: Sequence[WaitingCall],
        done: Mapping[str, ToolMessage] | None = None,
        breach: LimitBreach | None = None,
    ) -> _Step:
        results = dict(done or {})
        held = results.keys() | {each.call.id for each in waiting}
        outcomes = await self._manager.execute(
            [planned for planned in plan.calls if planned.call.id not in held], context
        )
        fresh = tuple(outcome.result for outcome in outcomes)
        results |= {result.call_id: result for result in fresh}
        in_order = tuple(results[call.call.id] for call in plan.calls if call.call.id in results)
        return _Step(plan, in_order, fresh, failures_of(outcomes), tuple(waiting), breach)

    def _limited(self, plan: Plan, turn: Turn) -> tuple[Plan, LimitBreach | None]:
        """The plan without what goes too far, and the limit that ends the run, if one does."""
        limits, tells = self._limits, self._limits.on_limit == "tell"
        general = limits.after_round(
            rounds=turn.rounds,
            tokens=turn.usage.input_tokens + turn.usage.output_tokens,
            elapsed_s=self._clock() - turn.started,
        )
        breaches = limits.of_calls(plan.calls, turn.added)
        first = general or next(filter(None, breaches), None)
        if turn.last is not None or (first is not None and not tells):
            ending = turn.last or first
        elif general is not None and general.kind == "rounds":
            ending = general
        else:
            ending = None
        if ending is not None:
            return _refused(plan, [ending] * len(plan.calls), "The run ends here."), ending
        if general is not None:
            turn.last = general
            return _refused(plan, [general] * len(plan.calls), "Answer with what you have."), None
        if tells and limits.rounds is not None and turn.rounds == limits.rounds - 1:
            turn.last = LimitBreach("rounds", limits.rounds)
        return _refused(plan, breaches, "Go on without it."), None

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


@dataclass(frozen=True)
class _Step:
    """What became of the calls of one answer.

    Attributes:
        plan: As they went into the conversation.
        results: Of those that are done, in order.
        fresh: Those of them that are new.
        failures: What tools raised.
        waiting: Those that wait for a decision.
        breach: The limit that ends the run.
    """

    plan: Plan
    results: tuple[ToolMessage, ...]
    fresh: tuple[ToolMessage, ...]
    failures: tuple[ToolFailure, ...]
    waiting: tuple[WaitingCall, ...]
    breach: LimitBreach | None


def _link(chain: AdvisorChain, resumed: Resumption | None) -> AdvisorChain:
    """The rest of the chain; for a round that was paused, with the answer that is already there."""
    if resumed is None:
        return chain
    return replace(chain, model=ReplayModel(chain.model, resumed.paused.answer))


def _refused(plan: Plan, breaches: Sequence[LimitBreach | None], advice: str) -> Plan:
    return plan.with_calls(
        planned
        if breach is None
        else replace(planned, refusal=ToolResult.error(f"This was not run. {breach.message} {advice}"))
        for planned, breach in zip(plan.calls, breaches, strict=True)
    )


async def _reviewed(
    planned: PlannedCall, gates: Sequence[CallGate], context: ToolContext
) -> tuple[PlannedCall, Approve | Edit | Deny | Wait]:
    """The call after every gate; the first that does not let it through has the last word."""
    for gate in gates:
        if planned.refusal is not None or planned.tool is None:
            break
        verdict = await gate.review(
            PendingCall(
                planned.call, planned.tool, planned.arguments, replace(context, call_id=planned.call.id)
            )
        )
        if isinstance(verdict, Wait):
            return planned, verdict
        planned = _after(verdict, planned)
    return planned, Approve()


def _after(verdict: Approve | Edit | Deny, planned: PlannedCall) -> PlannedCall:
    match verdict:
        case Approve():
            return planned
        case Edit(arguments=arguments):
            call = planned.call.model_copy(update={"arguments": json.dumps(arguments, ensure_ascii=False)})
            return replace(planned, call=call, arguments=arguments)
        case Deny(reason=reason):
            because = f" {reason}" if reason else ""
            return replace(
                planned, refusal=ToolResult.error(f"This was not run: it was not allowed.{because}")
            )
