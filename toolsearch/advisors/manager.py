"""`ToolCallingManager`: runs the calls of an answer, for the loop of this package or anybody's."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from toolsearch.advisors.calls import Plan, PlannedCall, ToolResolver, plan_calls
from toolsearch.advisors.failures import ErrorPolicy, ToolFailure
from toolsearch.checks import check_number, check_whole
from toolsearch.exceptions import ToolArgumentsError
from toolsearch.exceptions.places import place_of
from toolsearch.functions.results import to_result
from toolsearch.functions.running import TooLateError, in_time, within
from toolsearch.given import as_tools
from toolsearch.messages import AssistantMessage, Message, ToolMessage, ToolResult
from toolsearch.naming import RESERVED_NAMES
from toolsearch.tools import Tool, ToolContext

CALL_TIMEOUT_S = 60.0
"""Of a call whose tool says nothing else: longer than a patient user waits for most tools."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ToolBatch:
    """The calls of one answer and their results.

    Attributes:
        message: The answer as it goes into the conversation, its ids unique and its arguments JSON objects.
        results: One for each of its calls, in order; they follow it.
        failures: What tools raised.
        return_direct: Every call is of a tool whose result goes to the caller, and every one succeeded.
    """

    message: AssistantMessage
    results: tuple[ToolMessage, ...]
    failures: tuple[ToolFailure, ...] = ()
    return_direct: bool = False


@dataclass(frozen=True)
class Outcome:
    """One call that is done: its result, what the tool raised, and whether a `CutOff` ended it."""

    result: ToolMessage
    failure: ToolFailure | None = None
    is_cut: bool = False


@dataclass(frozen=True)
class CutOff:
    """The end of a batch, whatever is still running then.

    Attributes:
        after_s: Seconds from now.
        running: The result of a call that was running.
        waiting: The result of one that had not begun.
    """

    after_s: float
    running: ToolResult
    waiting: ToolResult


Around: TypeAlias = Callable[[PlannedCall, Callable[[], Awaitable[Outcome]]], Awaitable[Outcome]]
"""Stands around each call that is to run: given the call and what runs it, the outcome."""


@dataclass(frozen=True)
class _Batch:
    """What the calls of one batch share; it ends at `ends`, by the clock of the event loop."""

    context: ToolContext
    room: AbstractAsyncContextManager[object]
    around: Around | None
    cut_off: CutOff
    ends: float


_NEVER = CutOff(math.inf, running=ToolResult(()), waiting=ToolResult(()))


class ToolCallingManager:
    """Runs calls against the tools that were offered, and no others.

    The calls of an answer run at the same time; their results come in the order of the calls, one for each,
    whatever happened. One that takes longer than it may is given up with an error result: a coroutine is
    cancelled, and left behind where it goes on for more than a second; a thread cannot be cancelled. What
    they give then is dropped. Holds no state of a run: safe to share.
    """

    def __init__(
        self,
        *,
        errors: ErrorPolicy | None = None,
        resolvers: Sequence[ToolResolver] = (),
        max_concurrency: int | None = None,
        call_timeout_s: float | None = CALL_TIMEOUT_S,
        on_failure: Callable[[ToolFailure], None] | None = None,
    ) -> None:
        """Runs nothing yet.

        Args:
            errors: Who is told of an exception.
            resolvers: Asked in order for a name that was not offered; the first tool found runs. With one,
                the model can call what it was not shown: it must only know what every caller may use.
            max_concurrency: Calls that run at the same time; 1 runs them one after the other, in order.
            call_timeout_s: Seconds that a call may take, from when it has room to run, where its tool has no
                `timeout_s` of its own; None for any number.
            on_failure: Called with each exception of a tool, as it happens. What it raises itself is logged,
                and the calls go on.

        Raises:
            TypeError: `max_concurrency` is no whole number, or `call_timeout_s` no number.
            ValueError: one that is not above 0.
        """
        check_whole("max_concurrency", max_concurrency, or_none=True)
        check_number("call_timeout_s", call_timeout_s, or_none=True)
        self._errors = ErrorPolicy() if errors is None else errors
        self._resolvers = tuple(resolvers)
        self._max_concurrency = max_concurrency
        self._call_timeout_s = call_timeout_s
        self._on_failure = on_failure

    async def run(
        self,
        message: AssistantMessage,
        offered: Sequence[Tool],
        context: ToolContext | None = None,
        *,
        history: Iterable[Message] = (),
    ) -> ToolBatch:
        """The results of the calls of `message`; append its `message` and `results` to the conversation.

        Args:
            message: An answer with tool calls.
            offered: The tools of the request that it answers.
            context: Handed to the tools, with the id of their call.
            history: The conversation before it, whose call ids are taken.

        Raises:
            ValueError: there are no calls.
            DefinitionError: a tool that is called has no `call`.
            Exception: one that the policy rethrows.
        """
        if not message.tool_calls:
            raise ValueError("The message has no tool calls. Its text is the answer.")
        plan = self.plan(message, as_tools(offered, "offered"), history=history)
        outcomes = await self.execute(plan.calls, ToolContext() if context is None else context)
        results = tuple(outcome.result for outcome in outcomes)
        return ToolBatch(plan.message, results, failures_of(outcomes), returns_directly(plan.calls, results))

    def plan(
        self, message: AssistantMessage, offered: Sequence[Tool], *, history: Iterable[Message] = ()
    ) -> Plan:
        """The calls of `message`, checked before anything runs: see `calls.plan_calls`."""
        return plan_calls(message, offered, history=history, resolvers=self._resolvers)

    async def execute(
        self,
        calls: Sequence[PlannedCall],
        context: ToolContext,
        *,
        around: Around | None = None,
        cut_off: CutOff | None = None,
    ) -> tuple[Outcome, ...]:
        """Runs planned calls; an outcome for each, in order.

        Args:
            calls: Those that are refused do not run.
            context: Handed to the tools, with the id of their call.
            around: Called once a call has room to run. It must not raise.
            cut_off: When all of them end; None for when they do.

        Raises:
            DefinitionError, Exception: as `run`.
        """
        for planned in calls:
            if planned.refusal is None:
                planned.runnable()
        room: AbstractAsyncContextManager[object] = (
            nullcontext() if self._max_concurrency is None else asyncio.Semaphore(self._max_concurrency)
        )
        cut_off = _NEVER if cut_off is None else cut_off
        batch = _Batch(context, room, around, cut_off, asyncio.get_running_loop().time() + cut_off.after_s)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._outcome(planned, batch)) for planned in calls]
        # A task that was cancelled from within does not fail the group; its result() raises.
        outcomes = tuple(task.result() for task in tasks)
        for failure in failures_of(outcomes):
            if isinstance(failure.error, self._errors.rethrow) and not _nothing_ran(failure.error):
                failure.error.add_note(f"Raised by tool {failure.call.name!r}, call {failure.call.id!r}.")
                raise failure.error
        return outcomes

    async def _outcome(self, planned: PlannedCall, batch: _Batch) -> Outcome:
        if planned.refusal is not None:
            return Outcome(result_message(planned, planned.refusal))
        async with batch.room:
            if batch.around is None:
                return await self._ran(planned, batch)
            return await batch.around(planned, lambda: self._ran(planned, batch))

    async def _ran(self, planned: PlannedCall, batch: _Batch) -> Outcome:
        tool, call = planned.runnable()
        if asyncio.get_running_loop().time() >= batch.ends:
            return Outcome(result_message(planned, batch.cut_off.waiting), is_cut=True)

        async def value() -> Any:
            return await call(planned.arguments, replace(batch.context, call_id=planned.call.id))

        timeout_s = self._call_timeout_s if tool.timeout_s is None else tool.timeout_s
        task = asyncio.current_task()
        try:
            given = await within(in_time(tool.name, timeout_s, value()), batch.ends)
            return Outcome(result_message(planned, given))
        except TooLateError:
            return Outcome(result_message(planned, batch.cut_off.running), is_cut=True)
        except BaseException as error:
            if _ends_the_run(error, task):
                raise
            failure = ToolFailure(planned.call, error)
            self._report(failure)
            return Outcome(result_message(planned, self._errors.result(tool.name, error)), failure)

    def _report(self, failure: ToolFailure) -> None:
        if self._on_failure is None:
            return
        try:
            self._on_failure(failure)
        except Exception as exc:  # noqa: BLE001 - who listens does not decide what becomes of the other calls
            told = place_of(exc)
            _log.error("on_failure raised when it was told of tool %r: %s", failure.call.name, told)


def returns_directly(calls: Sequence[PlannedCall], results: Sequence[ToolMessage]) -> bool:
    """Whether every one of these calls is of a tool whose result goes to the caller, and succeeded."""
    return all(
        planned.tool is not None and planned.tool.return_direct and not result.is_error
        for planned, result in zip(calls, results, strict=True)
    )


def failures_of(outcomes: Iterable[Outcome]) -> tuple[ToolFailure, ...]:
    return tuple(outcome.failure for outcome in outcomes if outcome.failure is not None)


def _nothing_ran(error: BaseException) -> bool:
    return isinstance(error, ToolArgumentsError)


def _ends_the_run(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """Whether this is about the `task` or the program, rather than a failure of the tool that runs in it."""
    match error:
        case asyncio.CancelledError():
            return task is not None and task.cancelling() > 0
        case GeneratorExit():
            # A coroutine that nobody goes on with is closed, which is not done by its task.
            return task is not _current_task()
        case BaseExceptionGroup():
            return error.subgroup(KeyboardInterrupt) is not None
        case _:
            return isinstance(error, KeyboardInterrupt)


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def result_message(planned: PlannedCall, value: Any) -> ToolMessage:
    """What a tool gave, as it goes into the conversation; only built-in tools make others known.

    Raises:
        ToolResultError: as `to_result`.
    """
    result = to_result(value, tool=planned.call.name)
    is_built_in = planned.tool is not None and planned.tool.name in RESERVED_NAMES
    return ToolMessage(
        call_id=planned.call.id,
        name=planned.call.name,
        content=result.content,
        is_error=result.is_error,
        discovered=result.discovered if is_built_in else (),
        structured=result.structured,
    )
