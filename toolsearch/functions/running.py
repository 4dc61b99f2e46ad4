"""Calling what may be synchronous or not, from async code."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import math
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

from toolsearch.exceptions import ToolTimeoutError

T = TypeVar("T")

GRACE_S = 1.0
"""How long a coroutine that was cancelled may take to tidy up."""

_CAUGHT = "The coroutine of the call caught its cancellation; it goes on, and its result is dropped."
_GOES_ON = "The thread of the call cannot be stopped; it runs to its end, and its result is dropped."

# The event loop itself keeps no task alive.
_left_behind: set[asyncio.Task[Any]] = set()


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


class TooLateError(TimeoutError):
    """Something had not come to its end in time; notes tell of what goes on all the same."""


async def within(work: Coroutine[Any, Any, T], ends: float) -> T:
    """What `work` gives until `ends`, by the clock of the event loop; `math.inf` sets no limit.

    `work` runs in a task of its own, which is cancelled then. One that catches this is waited for no longer
    than `GRACE_S`, and left behind. Cancelling the wait does the same.

    Raises:
        TooLateError: it had not come to its end, whatever it came to afterwards.
    """
    if ends == math.inf:
        return await work
    loop = asyncio.get_running_loop()
    task = loop.create_task(settled(work))
    try:
        await asyncio.wait((task,), timeout=max(0.0, ends - loop.time()))
    except asyncio.CancelledError as cancelled:
        raise await ended(task) or cancelled from None
    if task.done():
        value, error = task.result()
        if error is not None:
            raise error
        return cast("T", value)
    late, error = TooLateError(), await ended(task)
    if isinstance(error, KeyboardInterrupt):
        raise error
    for note in getattr(error, "__notes__", ()):
        late.add_note(note)
    raise late from (None if isinstance(error, asyncio.CancelledError) else error)


async def settled(work: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
    """The value of `work`, or what it raised: a task that raised SystemExit would end the event loop."""
    try:
        return await work, None
    except BaseException as exc:  # noqa: BLE001 - it is raised again where the work is awaited
        return None, exc


async def ended(task: asyncio.Task[tuple[Any, BaseException | None]]) -> BaseException | None:
    """What `task` raises once it is cancelled, if it does so at all and soon."""
    task.cancel()
    await asyncio.wait((task,), timeout=GRACE_S)
    if task.done():
        # Cancelled before its first step, it never came to settle anything.
        return asyncio.CancelledError() if task.cancelled() else task.result()[1]
    _left_behind.add(task)
    task.add_done_callback(_left_behind.discard)
    error = asyncio.CancelledError()
    error.add_note(_CAUGHT)
    return error


async def in_time(tool: str, timeout_s: float | None, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives within `timeout_s` seconds; None and `math.inf` set no limit.

    Raises:
        ToolTimeoutError: it took longer. A note tells of a thread or a coroutine that goes on.
    """
    if timeout_s is None:
        return await work
    try:
        return await within(work, asyncio.get_running_loop().time() + timeout_s)
    except TooLateError as late:
        error = ToolTimeoutError(tool, timeout_s)
        for note in getattr(late, "__notes__", ()):
            error.add_note(note)
        raise error from late.__cause__


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
