"""`Patience`: how long a server may be silent in a call, and when its silence does not count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress


class Patience:
    """With the calls of one connection; lives in one event loop."""

    def __init__(self) -> None:
        self._n_paused = 0
        self._renewals: set[Callable[[], None]] = set()

    @asynccontextmanager
    async def wait(self, timeout_s: float, last: float) -> AsyncIterator[Callable[[], None]]:
        """Ends with a `TimeoutError` after so long, or at `last` by the loop's clock.

        What it gives begins the former anew.
        """
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout_at(min(loop.time() + timeout_s, last))

        def renew() -> None:
            # A sign of life that comes after the answer renews nothing.
            with suppress(RuntimeError):
                limit.reschedule(last if self._n_paused else min(loop.time() + timeout_s, last))

        self._renewals.add(renew)
        try:
            async with limit:
                yield renew
        finally:
            self._renewals.discard(renew)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Meanwhile no call is silent for too long, such as while the server waits for a user itself."""
        self._n_paused += 1
        self._renew()
        try:
            yield
        finally:
            self._n_paused -= 1
            self._renew()

    def _renew(self) -> None:
        for renew in tuple(self._renewals):
            renew()
