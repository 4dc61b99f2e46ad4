"""What tenants use is added up, and whoever asks finds all of it."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import service, until
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


def test_usage_is_written_though_something_else_in_the_database_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("toolsearch.server.service._FLUSH_S", 0.01)
    path = tmp_path / "service.db"

    def searches() -> int:
        with contextlib.closing(sqlite3.connect(path)) as database:
            return sum(n for (n,) in database.execute("SELECT searches FROM usage"))

    with service(database=path, learn=True) as served:
        body = {"tool": "web__search", "outcome": "called", "query": "look it up"}
        served.http.post("/v1/feedback", json=body)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute(
                "INSERT INTO usage_events SELECT * FROM (SELECT 99, tenant, at, embedder_id, tool, "
                "document, outcome, session_id, x'00' FROM usage_events LIMIT 1)"
            )
        until(lambda: "cannot be kept up to date: ValueError" in caplog.text)
        served.http.post("/v1/search", json={"queries": "send email"})
        until(lambda: searches() == 1)
