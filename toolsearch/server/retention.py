"""`Retention`: how long feedback is kept, and how much of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from toolsearch.server.records import Records

FEEDBACK_KEPT = 100_000
"""The most entries of a tenant; the oldest beyond them are dropped."""

_SWEEP_S = 3600.0


class Retention:
    """Drops what is too old or too much, at most once an hour."""

    def __init__(self, records: Records, *, days: float, clock: Callable[[], float] = time.time) -> None:
        """Keeps feedback for `days`; `clock` gives seconds since 1970."""
        self._records = records
        self._kept_s = days * 24 * 3600.0
        self._clock = clock
        self._swept_at: float | None = None

    def sweep(self) -> None:
        """Drop it, unless that was done lately.

        Raises:
            sqlite3.Error, DatabaseError: it cannot be dropped; the next sweep tries again.
        """
        now = self._clock()
        if self._swept_at is not None and now - self._swept_at < _SWEEP_S:
            return
        self._records.trim_feedback(before=now - self._kept_s, keeping=FEEDBACK_KEPT)
        self._swept_at = now
