"""`OnceOnly`: has each call of a resumed run noted, so that it runs once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from toolsearch.advisors.calls import PlannedCall
from toolsearch.advisors.manager import Outcome, result_message
from toolsearch.advisors.record import NotedCall, RunRecord
from toolsearch.messages import ToolMessage, ToolResult

_UNKNOWN = (
    "It is not known whether this call ran: it had begun when the run broke off. It was not run again; "
    "find out before asking for it once more."
)
_NO_JOURNAL = "This was not run: no note could be made of it."


class OnceOnly:
    """Stands around the calls of one batch, for `ToolCallingManager.execute`.

    A call is noted right before it runs and its result right after, whatever becomes of the calls beside it:
    a process that ends in between leaves no more in doubt than the calls it was running.
    """

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._error: Exception | None = None

    async def __call__(self, planned: PlannedCall, run: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """The outcome of the call."""
        if not await self._has_noted(NotedCall(planned.call)):
            return Outcome(result_message(planned, ToolResult.error(_NO_JOURNAL)))
        outcome = await run()
        await self._has_noted(NotedCall(planned.call, outcome.result))
        return outcome

    def raise_error(self) -> None:
        """Raises what came of the first note that was not made, if any."""
        if self._error is not None:
            raise self._error

    async def _has_noted(self, noted: NotedCall) -> bool:
        try:
            await self._record.note_call(noted)
        except Exception as error:  # noqa: BLE001 - raised once the calls beside it have finished
            self._error = self._error or error
            return False
        return True


def noted_result(noted: NotedCall) -> ToolMessage:
    """The result of a call that has run; where nobody knows it, one that says so."""
    unknown = PlannedCall(noted.call, None, {})
    return noted.result or result_message(unknown, ToolResult.error(_UNKNOWN))
