"""`Rates`: how many requests each caller may make, as a bucket that fills again."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from toolsearch.exceptions import TooBusyError

_CALLERS_KEPT = 10_000


@dataclass
class _Bucket:
    left: float
    at: float


class Rates:
    """A bucket of `burst` requests for each caller, to which `per_s` are added each second."""

    def __init__(
        self, per_s: float | None, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Without `per_s` there is no limit; `clock` gives seconds from any start."""
        self._per_s = per_s
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, caller: str) -> None:
        """Does nothing where `caller` may make one more request.

        Raises:
            TooBusyError: it has made too many; says when the next one may come.
        """
        if self._per_s is None:
            return
        now = self._clock()
        with self._lock:
            bucket = self._buckets.setdefault(caller, _Bucket(self._burst, now))
            self._buckets.move_to_end(caller)
            if len(self._buckets) > _CALLERS_KEPT:
                self._buckets.popitem(last=False)
            bucket.left = min(self._burst, bucket.left + (now - bucket.at) * self._per_s)
            bucket.at = now
            if bucket.left < 1:
                raise TooBusyError((1 - bucket.left) / self._per_s)
            bucket.left -= 1
