"""Calling what may be synchronous or not, from async code."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import math
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from toolsearch.exceptions import ToolTimeoutError

T = TypeVar("T")

_GOES_ON = "The thread of the call cannot be stopped; it runs to its end, and its result is dropped."


async def run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What `function` returns, awaited where that can be awaited.

    A coroutine function runs in the event loop, anything else in a thread of its own, with the context
    variables of the caller. Cancelling ends the wait at once; a thread cannot be stopped and runs to its end.
    """
    if is_coroutine_function(function):
        value = function(*args, **kwargs)
    else:
        value = await in_thread(partial(function, *args, **kwargs))
    # A wrapper around a coroutine function need not be one, and the other way round.
    while inspect.isawaitable(value):
        value = await value
    return value


def is_coroutine_function(function: Any) -> bool:
    """Whether calling `function` gives a coroutine, judged by its outermost layer."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or (
        not inspect.isroutine(function) and inspect.iscoroutinefunction(type(function).__call__)
    )


@asynccontextmanager
async def time_limit(tool: str, timeout_s: float | None) -> AsyncIterator[None]:
    """Ends what takes longer than `timeout_s` seconds; None and `math.inf` set no limit.

    Raises:
        ToolTimeoutError: it took longer. A note tells of a thread that goes on.
    """
    limit = asyncio.timeout(None if timeout_s == math.inf else timeout_s)
    try:
        async with limit:
            yield
    except TimeoutError as exc:
        if timeout_s is None or not limit.expired():
            raise
        error = ToolTimeoutError(tool, timeout_s)
        for note in getattr(exc.__cause__, "__notes__", ()):
            error.add_note(note)
        raise error from None


async def in_thread(call: Callable[[], T]) -> T:
    """What `call` returns in a new thread, with the context variables of the caller.

    Cancelling ends the wait at once, with a note that the thread goes on.

    Not in the event loop's pool: a call that hangs there takes a worker away from everything else, and keeps
    the loop from closing.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is None:
            outcome.set_result(value)
        elif isinstance(error, StopIteration | GeneratorExit):
            # A future that is awaited would end the coroutines around it by these.
            stopped = RuntimeError(f"the function raised {type(error).__name__}")
            stopped.__cause__ = error
            outcome.set_exception(stopped)
        else:
            outcome.set_exception(error)

    def work() -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = context.run(call)
        except BaseException as exc:  # noqa: BLE001 - it is raised again where the call is awaited
            error = exc
        # The loop is closed when nobody waits any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, name="toolsearch-call", daemon=True).start()
    try:
        return await outcome
    except asyncio.CancelledError as exc:
        exc.add_note(_GOES_ON)
        raise
