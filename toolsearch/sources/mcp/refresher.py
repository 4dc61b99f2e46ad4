"""`Refresher`: lists anew when something has changed, so that what is known in the end is the newest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

MAX_RESTARTS = 3
"""Listings in a row that a change may break off; a server that always changes is listed all the same."""


class Refresher:
    """Runs one listing at a time; a change in the middle begins it anew, as it may be of the older set."""

    def __init__(self, list_once: Callable[[], Awaitable[None]]) -> None:
        """`list_once` lists and keeps what came; it raises nothing."""
        self._list_once = list_once
        self._is_asked = False
        self._restarts = 0
        self._task: asyncio.Task[None] | None = None
        self._listing: asyncio.Future[None] | None = None

    def ask(self) -> None:
        """Has it listed, now or again."""
        self._is_asked = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        elif self._listing is not None and not self._listing.done() and self._restarts < MAX_RESTARTS:
            self._restarts += 1
            self._listing.cancel()

    async def settled(self) -> None:
        """Returns when nothing is left to list."""
        while self._task is not None and not self._task.done():
            await asyncio.wait((self._task,))

    async def close(self) -> None:
        """Breaks off what runs."""
        self._is_asked = False
        for task in (self._listing, self._task):
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait((task,))

    async def _run(self) -> None:
        while self._is_asked:
            self._is_asked = False
            self._listing = asyncio.ensure_future(self._list_once())
            await asyncio.wait((self._listing,))
            if not self._listing.cancelled():
                self._restarts = 0
                self._listing.result()
