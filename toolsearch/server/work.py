"""`Work`: what blocks, in threads, so many at once; more wait, and yet more are refused."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from toolsearch.deadlines import check_deadline, within_deadline
from toolsearch.exceptions import TooBusyError, TookTooLongError

P = ParamSpec("P")
R = TypeVar("R")


class Work:
    """Runs functions of requests in threads."""

    def __init__(self, *, max_running: int, max_waiting: int, timeout_s: float) -> None:
        self._most = max_running + max_waiting
        self.timeout_s = timeout_s
        self._pool = ThreadPoolExecutor(max_running, thread_name_prefix="toolsearch")
        self._taken = 0
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        """How many functions run or wait."""
        return self._taken

    async def run(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What ``work(*args, **kwargs)`` gives.

        A function that takes too long ends in its thread where it next looks, see `deadlines.check_deadline`;
        until then others have to wait for it.

        Raises:
            TooBusyError: too many others run and wait.
            TookTooLongError: it had no result in time.
            Exception: whatever the function raises.
        """
        timeout_s = self.timeout_s
        in_time = partial(_in_time, timeout_s, time.monotonic(), partial(work, *args, **kwargs))
        future = self._submitted(in_time)
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await asyncio.wrap_future(future)
        except TimeoutError:
            if limit.expired():
                raise TookTooLongError(timeout_s) from None
            raise

    async def run_long(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """`run`, for as long as it takes."""
        return await asyncio.wrap_future(self._submitted(partial(work, *args, **kwargs)))

    def close(self) -> None:
        """Wait for what runs, and take nothing more."""
        self._pool.shutdown(cancel_futures=True)

    def _submitted(self, work: Callable[[], R]) -> Future[R]:
        with self._lock:
            if self._taken >= self._most:
                raise TooBusyError
            self._taken += 1
        try:
            future = self._pool.submit(contextvars.copy_context().run, work)
        except BaseException:
            self._done(None)
            raise
        # It ends when the thread does, not when nobody waits for it any more.
        future.add_done_callback(self._done)
        return future

    def _done(self, _: object) -> None:
        with self._lock:
            self._taken -= 1


def _in_time(timeout_s: float, begun: float, work: Callable[[], R]) -> R:
    with within_deadline(timeout_s, begun=begun):
        check_deadline()
        return work()
