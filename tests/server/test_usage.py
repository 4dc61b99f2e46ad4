"""What tenants use is added up, and whoever asks finds all of it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from toolsearch.api.usage import UsageDay
from toolsearch.retrieval.base import SearchResult
from toolsearch.server.database import SqliteDatabase
from toolsearch.server.usage import UsageMeter


class SlowDatabase(SqliteDatabase):
    """Takes a while to add usage, as a database far away does, unless somebody reads meanwhile."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.writing, self.read = threading.Event(), threading.Event()

    def add_usage(self, used: Mapping[tuple[str, str], UsageDay]) -> None:
        self.writing.set()
        self.read.wait(0.5)
        super().add_usage(used)

    def usage(self, tenant: str, *, since: str, until: str) -> tuple[UsageDay, ...]:
        found = super().usage(tenant, since=since, until=until)
        self.read.set()
        return found


def test_what_is_being_written_is_counted(tmp_path: Path) -> None:
    with SlowDatabase(tmp_path / "service.db") as database:
        meter = UsageMeter(database)
        meter.searched("acme", SearchResult(returned_tokens=3))
        every_few_seconds = threading.Thread(target=meter.flush)
        every_few_seconds.start()
        assert database.writing.wait(20)
        used = meter.used("acme", since="2020-01-01", until="9999-12-31").total
        every_few_seconds.join()
    assert (used.searches, used.returned_tokens) == (1, 3)
