"""Time that passes only when it is told to, also for an event loop."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Clock:
    """Seconds, from 0."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def run_by(clock: Clock, main: Coroutine[Any, Any, T]) -> T:
    """What `main` returns, in an event loop to which `clock` tells the time."""
    loop = asyncio.new_event_loop()
    loop.time = clock  # type: ignore[method-assign]
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main)
