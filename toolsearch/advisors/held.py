"""`HeldRun`: a resumed run that the loop is done with, until the advisors outside of it are."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolsearch.advisors.record import RunRecord


class HeldRun:
    """What one call of a chain holds of the run that it resumes: no other may go on with it meanwhile."""

    def __init__(self) -> None:
        self._record: RunRecord | None = None
        self._leaving = AsyncExitStack()

    def hold(self, record: RunRecord, leaving: AsyncExitStack) -> None:
        """Keeps the run, which `leaving` lets others take."""
        self._record, self._leaving = record, leaving

    async def end(self) -> None:
        """Has it noted that the run has ended.

        Raises:
            PausedRunError: another resume has taken it over.
        """
        if self._record is not None:
            await self._record.end()

    async def leave(self) -> None:
        """Lets any other go on with the run, or this call itself when an advisor tries it again."""
        self._record, leaving = None, self._leaving.pop_all()
        await leaving.aclose()
