"""`OnceOnly`: runs each call of a resumed run once, as its journal tells."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from toolsearch.advisors.calls import PlannedCall
from toolsearch.advisors.journal import CallJournal, NotedCall
from toolsearch.advisors.manager import Outcome, result_message
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

    Attributes:
        noted: By id, the calls that the journal had already: as they ran then, whatever they would be now.
    """

    def __init__(self, journal: CallJournal, run_id: str, noted: Mapping[str, NotedCall]) -> None:
        self._journal = journal
        self._run_id = run_id
        self._error: Exception | None = None
        self.noted = dict(noted)

    async def __call__(self, planned: PlannedCall, run: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """The outcome of the call, now or when it ran."""
        try:
            noted = await asyncio.to_thread(self._journal.begin, self._run_id, planned.call)
        except Exception as error:  # noqa: BLE001 - raised once the calls beside it have finished
            self._error = self._error or error
            return Outcome(result_message(planned, ToolResult.error(_NO_JOURNAL)))
        if noted is not None:
            self.noted[planned.call.id] = noted
            return Outcome(noted_result(noted))
        outcome = await run()
        try:
            await asyncio.to_thread(self._journal.finish, self._run_id, outcome.result)
        except Exception as error:  # noqa: BLE001 - as above
            self._error = self._error or error
        return outcome

    def raise_error(self) -> None:
        """Raises what the journal did first, if anything."""
        if self._error is not None:
            raise self._error


def noted_result(noted: NotedCall) -> ToolMessage:
    """The result of a call that has run; where nobody knows it, one that says so."""
    unknown = PlannedCall(noted.call, None, {})
    return noted.result or result_message(unknown, ToolResult.error(_UNKNOWN))
