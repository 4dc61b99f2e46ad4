"""`UsageMeter`: what tenants use, added up in memory and written every few seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from toolsearch.api.usage import UsageAnswer, UsageDay
from toolsearch.retrieval.base import SearchResult
from toolsearch.server.records import COUNTS, Records

_BEGINNING = "0001-01-01"


class UsageMeter:
    """Adds up what is used. What was added since the last `flush` is lost if the process is killed."""

    def __init__(self, records: Records, *, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives seconds since 1970."""
        self._records = records
        self._clock = clock
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._used: dict[tuple[str, str], UsageDay] = {}

    def searched(self, tenant: str, result: SearchResult) -> None:
        """Add one search."""
        self._add(
            tenant,
            searches=1,
            nothing_fits=int(result.nothing_fits),
            returned_tokens=result.returned_tokens or 0,
            spared_tokens=result.spared_tokens or 0,
        )

    def offered(self, tenant: str, *, searches: int, sent_tokens: int, spared_tokens: int) -> None:
        """Add a request to a model: its searches, the definitions that it sent, and those that it did not."""
        self._add(tenant, searches=searches, returned_tokens=sent_tokens, spared_tokens=spared_tokens)

    def called(self, tenant: str) -> None:
        """Add one call of a tool."""
        self._add(tenant, calls=1)

    def flush(self) -> None:
        """Write what was added.

        Raises:
            sqlite3.Error: it cannot be written; it is kept for the next time.
        """
        # Who asks while others write is to find what they took.
        with self._flushing:
            with self._lock:
                used, self._used = self._used, {}
            if not used:
                return
            try:
                self._records.add_usage(used)
            except BaseException:
                with self._lock:
                    for key, day in used.items():
                        self._used[key] = _sum(day.day, (day, self._used.get(key, UsageDay(day=day.day))))
                raise

    def used(self, tenant: str, *, since: str | None, until: str) -> UsageAnswer:
        """What a tenant used from day `since`, None for the first with any use, to day `until`."""
        self.flush()
        days = self._records.usage(tenant, since=since or _BEGINNING, until=until)
        first = since or (days[0].day if days else until)
        return UsageAnswer(days=days, total=_sum(f"{first}/{until}", days))

    def today(self) -> str:
        """The day in UTC."""
        return datetime.fromtimestamp(self._clock(), UTC).date().isoformat()

    def _add(self, tenant: str, **counts: int) -> None:
        day = self.today()
        with self._lock:
            before = self._used.get((tenant, day), UsageDay(day=day))
            self._used[tenant, day] = _sum(day, (before, UsageDay(day=day, **counts)))


def _sum(day: str, days: tuple[UsageDay, ...]) -> UsageDay:
    return UsageDay(day=day, **{name: sum(getattr(each, name) for each in days) for name in COUNTS})
