"""The calls of one answer within a run: limits, decisions, execution, and what is left over from a pause."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from toolsearch.advisors.base import Approve, CallGate, Deny, Edit, PendingCall, Wait, as_verdict
from toolsearch.advisors.calls import Plan, PlannedCall
from toolsearch.advisors.failures import ToolFailure
from toolsearch.advisors.limits import LimitBreach, LoopLimits
from toolsearch.advisors.manager import CutOff, ToolCallingManager, failures_of, result_message
from toolsearch.advisors.once import OnceOnly, noted_result
from toolsearch.advisors.paused import WaitingCall
from toolsearch.advisors.record import NotedCall, NotedRound, OpenRound, RunRecord
from toolsearch.advisors.turn import Turn
from toolsearch.chat.base import ChatResponse
from toolsearch.exceptions import PausedRunError
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
        clock: Callable[[], float],
    ) -> None:
        self._manager = manager
        self._limits = limits
        self._clock = clock

    async def run(
        self,
        plan: Plan,
        response: ChatResponse,
        turn: Turn,
        gates: Sequence[CallGate],
        context: ToolContext,
        *,
        record: RunRecord | None,
    ) -> Batch:
        """Runs the calls of a new answer: those that the limits allow and every gate lets through."""
        plan, breach = self._limited(plan, turn)
        waiting: list[WaitingCall] = []
        reviewed: list[PlannedCall] = []
        for planned in plan.calls:
            decided, waits = await _reviewed(planned, gates, context)
            reviewed.append(decided)
            waiting += waits
        plan = plan.with_calls(reviewed)
        if record is not None and breach is None:
            refused = [result_message(each, each.refusal) for each in plan.calls if each.refusal is not None]
            asked = [gate.name for gate in gates]
            await record.note_round(
                self.noted(plan, response, turn, results=refused, waiting=waiting, asked=asked)
            )
        return await self._execute(plan, turn, context, record, waiting=waiting, breach=breach)

    async def resume(
        self,
        plan: Plan,
        opened: OpenRound,
        turn: Turn,
        gates: Sequence[CallGate],
        context: ToolContext,
        *,
        record: RunRecord,
    ) -> Batch:
        """Runs those calls of an open round that may run by now, and are let through by the gates that were
        not asked yet. What has run stays as it was, whatever is decided.

        Raises:
            PausedRunError: tools of calls that are to run are missing; nothing has run.
        """
        self._note_last(turn)
        noted = opened.noted
        done = {result.call_id: result for result in opened.results}
        done |= {call_id: noted_result(each) for call_id, each in noted.items()}
        waited = {waiting.call.id: waiting for waiting in opened.waiting}
        still: list[WaitingCall] = []
        decided: list[PlannedCall] = []
        for planned in plan.calls:
            call_id = planned.call.id
            waiting, decision = waited.get(call_id), opened.decisions.get(call_id)
            if call_id in done:
                decided.append(_as_noted(planned, noted))
            elif waiting is not None and decision is None:
                decided.append(planned)
                still.append(waiting)
            else:
                after = planned if decision is None else _after(decision, planned)
                asked = opened.asked if waiting is None else waiting.asked
                reviewed, waits = await _reviewed(after, gates, context, asked)
                decided.append(reviewed)
                still += waits
        denied = {call_id for call_id, each in opened.decisions.items() if isinstance(each, Deny)}
        _check_tools(decided, but=done.keys() | {waiting.call.id for waiting in still} | denied)
        return await self._execute(plan.with_calls(decided), turn, context, record, waiting=still, done=done)

    def noted(self, plan: Plan, response: ChatResponse, turn: Turn, **more: Any) -> NotedRound:
        """What a record keeps of a round whose answer came with `response`."""
        return NotedRound(
            answer=plan.message,
            offered=tuple(tool.name for tool in response.offered),
            rounds=turn.rounds,
            usage=turn.usage,
            elapsed_s=self._clock() - turn.started,
            last=turn.last,
            **more,
        )

    async def _execute(
        self,
        plan: Plan,
        turn: Turn,
        context: ToolContext,
        record: RunRecord | None,
        *,
        waiting: Sequence[WaitingCall],
        done: Mapping[str, ToolMessage] | None = None,
        breach: LimitBreach | None = None,
    ) -> Batch:
        results = dict(done or {})
        held = results.keys() | {each.call.id for each in waiting}
        once = None if record is None else OnceOnly(record)
        outcomes = await self._manager.execute(
            [planned for planned in plan.calls if planned.call.id not in held],
            context,
            around=once,
            cut_off=self._cut_off(turn),
        )
        if once is not None:
            once.raise_error()
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


def _check_tools(calls: Sequence[PlannedCall], *, but: Set[str]) -> None:
    """Does nothing where the calls, but those with these ids, have the tools that they had once."""
    missing = [each.call for each in calls if each.tool is None and each.call.id not in but]
    if missing:
        names = ", ".join(repr(name) for name in sorted({call.name for call in missing}))
        raise PausedRunError(
            f"The run is to call {names}, which this chain does not offer. Resume it with the tools that it "
            "had, or deny the call.",
            tuple(call.id for call in missing),
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
