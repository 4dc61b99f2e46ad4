"""`LoopThread`: an event loop in a thread of its own, for what outlives the loops of its callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

_LEFT_S = 5.0


class LoopThread:
    """Runs coroutines for callers in any thread, with an event loop or without one."""

    def __init__(self, name: str) -> None:
        """Starts nothing: the thread begins with the first coroutine."""
        self._name = name
        self._starting = threading.Lock()
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether the thread has begun and not ended."""
        return self._thread is not None and self._thread.is_alive()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` gives; blocks until then. An interrupt cancels it."""
        future = self._submitted(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` gives. Cancelling the wait cancels it."""
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(self._submitted(work))

    def close(self) -> None:
        """Ends the loop and the thread; what still runs is cancelled. May be called more than once."""
        with self._starting:
            self._is_closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None or threading.current_thread() is thread:
            return
        if thread.is_alive():
            # The loop may have been closed in between.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _submitted(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._starting:
            if self._is_closed:
                work.close()
                raise RuntimeError("These MCP servers were closed. Make a new McpServers.")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                serve = partial(_serve, self._loop)
                self._thread = threading.Thread(target=serve, name=self._name, daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_LEFT_S))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
