"""`SqliteUsageStore`: what was learned from use, in an SQLite file or in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from toolsearch.api.usage import Outcome
from toolsearch.retrieval.usage import UsageEvent
from toolsearch.server.learning import StoredUsage
from toolsearch.session.database import SqliteStore

EVENTS_KEPT = 200_000
"""Of all tenants; the oldest beyond it are dropped."""

FORGOTTEN = "forgotten"
"""Stands for the outcome where all of a tenant was dropped."""

_TABLES = {
    "usage_events": "(id INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, at REAL NOT NULL, "
    "embedder_id TEXT NOT NULL, tool TEXT NOT NULL, document BLOB NOT NULL, outcome TEXT NOT NULL, "
    "session_id TEXT NOT NULL, vector BLOB NOT NULL)",
}
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS usage_events_by_tenant ON usage_events (tenant)",
    "CREATE INDEX IF NOT EXISTS usage_events_by_age ON usage_events (at)",
)
COLUMNS = "tenant, at, embedder_id, tool, document, outcome, session_id, vector"


class SqliteUsageStore(SqliteStore):
    """A `UsageStore` in SQLite. Processes may share its file."""

    def __init__(
        self,
        path: Path | str = ":memory:",
        *,
        ttl_s: float,
        kept: int = EVENTS_KEPT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open `path`, which is made where it does not exist.

        Args:
            ttl_s: Seconds after which an event is dropped.
            kept: The most events that are kept.
            clock: Seconds since 1970.

        Raises:
            sqlite3.Error: the file cannot be opened or is no database.
            StoreError: it holds events in another form.
        """
        self._ttl_s = ttl_s
        self._kept = kept
        self._clock = clock
        super().__init__(path, _TABLES, _INDEXES)

    def add_events(self, events: Sequence[UsageEvent], embedder_id: str) -> None:
        with self._writing() as cursor:
            cursor.executemany(
                f"INSERT INTO usage_events ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                [row_of(event, embedder_id) for event in events],
            )
            cursor.execute("DELETE FROM usage_events WHERE at < ?", (self._clock() - self._ttl_s,))
            cursor.execute(
                "DELETE FROM usage_events WHERE id <= (SELECT max(id) FROM usage_events) - ?", (self._kept,)
            )

    def events(self, embedder_id: str, *, after: int, limit: int) -> tuple[StoredUsage, ...]:
        return tuple(
            stored_of(row)
            for row in self._read(
                f"SELECT id, {COLUMNS} FROM usage_events WHERE id > ? AND at >= ? "  # noqa: S608
                "AND embedder_id IN (?, '') ORDER BY id LIMIT ?",
                after,
                self._clock() - self._ttl_s,
                embedder_id,
                limit,
            )
        )

    def newest_id(self, *, keeping: int) -> int:
        rows = self._read("SELECT id FROM usage_events ORDER BY id DESC LIMIT 1 OFFSET ?", keeping)
        return rows[0][0] if rows else 0

    def forget(self, tenant: str) -> None:
        with self._writing() as cursor:
            cursor.execute("DELETE FROM usage_events WHERE tenant = ?", (tenant,))
            cursor.execute(
                f"INSERT INTO usage_events ({COLUMNS}) VALUES (?, ?, '', '', x'', ?, '', x'')",  # noqa: S608
                (tenant, self._clock(), FORGOTTEN),
            )


def row_of(event: UsageEvent, embedder_id: str) -> tuple[Any, ...]:
    """An event in the order of `COLUMNS`; its vector is kept in half precision."""
    vector = event.vector.astype(np.float16).tobytes()
    return (
        event.tenant,
        event.at,
        embedder_id,
        event.tool,
        event.document,
        event.outcome,
        event.session_id,
        vector,
    )


def stored_of(row: Sequence[Any]) -> StoredUsage:
    """The entry in a row of an id and `COLUMNS`."""
    id_, tenant, at, _, tool, document, outcome, session_id, vector = row
    if outcome == FORGOTTEN:
        return StoredUsage(id_, tenant, None)
    event = UsageEvent(
        tool,
        bytes(document),
        cast("Outcome", outcome),
        np.frombuffer(bytes(vector), dtype=np.float16).astype(np.float32),
        session_id=session_id,
        tenant=tenant,
        at=at,
    )
    return StoredUsage(id_, tenant, event)
