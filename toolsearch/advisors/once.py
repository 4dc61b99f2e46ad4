"""`OnceOnly`: runs each call of a resumed run once, as its journal tells."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from toolsearch.advisors.calls import PlannedCall
from toolsearch.advisors.journal import CallJournal
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
        known: Ids of the calls whose results were there already.
    """

    def __init__(self, journal: CallJournal, run_id: str) -> None:
        self._journal = journal
        self._run_id = run_id
        self._error: Exception | None = None
        self.known: set[str] = set()

    async def __call__(self, planned: PlannedCall, run: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """The outcome of the call, now or when it ran."""
        try:
            begun = await asyncio.to_thread(self._journal.begin, self._run_id, planned.call.id)
        except Exception as error:  # noqa: BLE001 - raised once the calls beside it have finished
            self._error = self._error or error
            return Outcome(result_message(planned, ToolResult.error(_NO_JOURNAL)))
        if isinstance(begun, ToolMessage):
            self.known.add(begun.call_id)
            return Outcome(begun)
        if begun == "unknown":
            return Outcome(result_message(planned, ToolResult.error(_UNKNOWN)))
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
