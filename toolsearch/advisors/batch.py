"""The calls of one answer within a run: limits, decisions, execution, and what is left over from a pause."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from toolsearch.advisors.base import Approve, CallGate, Deny, Edit, PendingCall, Wait, as_verdict
from toolsearch.advisors.calls import Plan, PlannedCall
from toolsearch.advisors.failures import ToolFailure
from toolsearch.advisors.journal import CallJournal, NotedCall
from toolsearch.advisors.limits import LimitBreach, LoopLimits
from toolsearch.advisors.manager import Around, CutOff, ToolCallingManager, failures_of
from toolsearch.advisors.once import OnceOnly, noted_result
from toolsearch.advisors.paused import Resumption, WaitingCall
from toolsearch.advisors.turn import Turn
from toolsearch.messages import ToolMessage, ToolResult
from toolsearch.tools import ToolContext

_END = "The run ends here."
_ANSWER = "Answer with what you have."


@dataclass(frozen=True)
class Batch:
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


class BatchRunner:
    """Runs the calls of an answer as far as limits and gates let them. Holds no state of a run."""

    def __init__(
        self,
        manager: ToolCallingManager,
        limits: LoopLimits,
        journal: CallJournal,
        clock: Callable[[], float],
    ) -> None:
        self._manager = manager
        self._limits = limits
        self._journal = journal
        self._clock = clock

    async def run(self, plan: Plan, turn: Turn, gates: Sequence[CallGate], context: ToolContext) -> Batch:
        """Runs the calls of a new answer: those that the limits allow and every gate lets through."""
        plan, breach = self._limited(plan, turn)
        waiting: list[WaitingCall] = []
        reviewed: list[PlannedCall] = []
        for planned in plan.calls:
            decided, waits = await _reviewed(planned, gates, context)
            reviewed.append(decided)
            waiting += waits
        return await self._execute(plan.with_calls(reviewed), turn, context, waiting=waiting, breach=breach)

    async def resume(
        self, plan: Plan, turn: Turn, resumed: Resumption, gates: Sequence[CallGate], context: ToolContext
    ) -> Batch:
        """Runs those calls of the answer of a paused run that are decided by now, and let through by the
        gates that were not asked yet. What has run since the pause stays as it was, whatever is decided.
        """
        paused, decisions = resumed.paused, resumed.decisions
        self._note_last(turn)
        noted = await asyncio.to_thread(self._journal.noted, paused.id)
        done = {result.call_id: result for result in paused.results}
        done |= {call_id: noted_result(each) for call_id, each in noted.items()}
        asked = {waiting.call.id: waiting for waiting in paused.waiting if waiting.call.id not in noted}
        still: list[WaitingCall] = []
        decided: list[PlannedCall] = []
        for planned in plan.calls:
            waiting, decision = asked.get(planned.call.id), decisions.get(planned.call.id)
            if waiting is None:
                decided.append(planned)
            elif decision is None:
                decided.append(planned)
                still.append(waiting)
            else:
                reviewed, waits = await _reviewed(_after(decision, planned), gates, context, waiting.asked)
                decided.append(reviewed)
                still += waits
        once = OnceOnly(self._journal, paused.id, noted)
        batch = await self._execute(
            plan.with_calls(decided), turn, context, waiting=still, done=done, around=once
        )
        once.raise_error()
        return replace(
            batch,
            plan=batch.plan.with_calls(_as_noted(planned, once.noted) for planned in batch.plan.calls),
            fresh=tuple(each for each in batch.fresh if each.call_id not in once.noted),
        )

    async def _execute(
        self,
        plan: Plan,
        turn: Turn,
        context: ToolContext,
        *,
        waiting: Sequence[WaitingCall],
        done: Mapping[str, ToolMessage] | None = None,
        breach: LimitBreach | None = None,
        around: Around | None = None,
    ) -> Batch:
        results = dict(done or {})
        held = results.keys() | {each.call.id for each in waiting}
        outcomes = await self._manager.execute(
            [planned for planned in plan.calls if planned.call.id not in held],
            context,
            around=around,
            cut_off=self._cut_off(turn),
        )
        if any(outcome.is_cut for outcome in outcomes):
            if self._tells:
                turn.last = self._limits.time
            else:
                breach = self._limits.time
        fresh = tuple(outcome.result for outcome in outcomes)
        results |= {result.call_id: result for result in fresh}
        in_order = tuple(results[call.call.id] for call in plan.calls if call.call.id in results)
        return Batch(plan, in_order, fresh, failures_of(outcomes), tuple(waiting), breach)

    @property
    def _tells(self) -> bool:
        return self._limits.on_limit == "tell"

    def _cut_off(self, turn: Turn) -> CutOff | None:
        """When the calls of a batch have to end, and what is said of those that have not."""
        time = self._limits.time
        if time is None:
            return None
        left_s = turn.started + time.limit - self._clock()
        advice = _ANSWER if self._tells else _END
        return CutOff(left_s, running=time.cut(advice), waiting=time.refusal(advice))

    def _limited(self, plan: Plan, turn: Turn) -> tuple[Plan, LimitBreach | None]:
        """The plan without what goes too far, and the limit that ends the run, if one does."""
        limits, tells = self._limits, self._tells
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
            return _refused(plan, [ending] * len(plan.calls), _END), ending
        if general is not None:
            turn.last = general
            return _refused(plan, [general] * len(plan.calls), _ANSWER), None
        self._note_last(turn)
        return _refused(plan, breaches, "Go on without it."), None

    def _note_last(self, turn: Turn) -> None:
        limits = self._limits
        if self._tells and limits.rounds is not None and turn.rounds == limits.rounds - 1:
            turn.last = LimitBreach("rounds", limits.rounds)


def _refused(plan: Plan, breaches: Sequence[LimitBreach | None], advice: str) -> Plan:
    return plan.with_calls(
        planned if breach is None else replace(planned, refusal=breach.refusal(advice))
        for planned, breach in zip(plan.calls, breaches, strict=True)
    )


def _as_noted(planned: PlannedCall, noted: Mapping[str, NotedCall]) -> PlannedCall:
    """The call with the arguments that it ran with, where it has run."""
    each = noted.get(planned.call.id)
    return planned if each is None else replace(planned, call=each.call)


async def _reviewed(
    planned: PlannedCall, gates: Sequence[CallGate], context: ToolContext, asked: Sequence[str] = ()
) -> tuple[PlannedCall, list[WaitingCall]]:
    """The call after every gate but those that were `asked` before, and what it waits for, if anything.

    The first that does not let it through has the last word.
    """
    before, names = Counter(asked), list(asked)
    for gate in gates:
        if planned.refusal is not None or planned.tool is None:
            break
        if before[gate.name]:
            before[gate.name] -= 1
            continue
        names.append(gate.name)
        said = await gate.review(
            PendingCall(
                planned.call, planned.tool, planned.arguments, replace(context, call_id=planned.call.id)
            )
        )
        verdict = as_verdict(said, f"What {gate.name!r} decides")
        if isinstance(verdict, Wait):
            return planned, [WaitingCall(call=planned.call, reason=verdict.reason, asked=tuple(names))]
        planned = _after(verdict, planned)
    return planned, []


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
