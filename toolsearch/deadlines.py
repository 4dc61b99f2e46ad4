"""`within_deadline`, `check_deadline`: work in a thread ends once its request has had its time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import TypeVar

from toolsearch.exceptions import TookTooLongError

T = TypeVar("T")

_LOOKED_AT_ONCE = 128
_deadline: ContextVar[tuple[float, float] | None] = ContextVar("toolsearch_deadline", default=None)


@contextlib.contextmanager
def within_deadline(timeout_s: float, *, begun: float) -> Iterator[None]:
    """What runs here has until `timeout_s` seconds after `begun`, in `time.monotonic`."""
    token = _deadline.set((begun + timeout_s, timeout_s))
    try:
        yield
    finally:
        _deadline.reset(token)


def check_deadline() -> None:
    """Does nothing where what runs here has time left, or as much as it takes.

    Raises:
        TookTooLongError: nobody waits for it any more.
    """
    deadline = _deadline.get()
    if deadline is not None and time.monotonic() > deadline[0]:
        raise TookTooLongError(deadline[1])


def in_time(items: Iterable[T]) -> Iterator[T]:
    """`items`, as long as what runs here has time left; raises as `check_deadline`."""
    for number, item in enumerate(items):
        if not number % _LOOKED_AT_ONCE:
            check_deadline()
        yield item
