"""`SqliteRoundStore`: what sessions did, in an SQLite file or in memory."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from toolsearch.api.rounds import SessionSummary
from toolsearch.server.rounds import SessionEvent, StoredEvents
from toolsearch.session.database import SqliteStore

EVENTS_KEPT = 100_000
"""Of all sessions; the oldest beyond it are forgotten."""

_TABLES = {
    "session_events": "(id INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, "
    "session_id TEXT NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, facts TEXT NOT NULL)",
}
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS session_events_by_session ON session_events (tenant, session_id, id)",
    "CREATE INDEX IF NOT EXISTS session_events_by_age ON session_events (at)",
)


class SqliteRoundStore(SqliteStore):
    """A `RoundStore` in SQLite. Processes may share its file."""

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
            ttl_s: Seconds after which an event is forgotten.
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

    def add_events(self, events: Sequence[tuple[str, str, SessionEvent]]) -> None:
        rows = [(tenant, sid, event.at, event.kind, facts_of(event)) for tenant, sid, event in events]
        with self._writing() as cursor:
            cursor.executemany(
                "INSERT INTO session_events (tenant, session_id, at, kind, facts) VALUES (?, ?, ?, ?, ?)",
                rows,
            )
            cursor.execute("DELETE FROM session_events WHERE at < ?", (self._clock() - self._ttl_s,))
            cursor.execute(
                "DELETE FROM session_events WHERE id <= (SELECT max(id) FROM session_events) - ?",
                (self._kept,),
            )

    def events(self, tenant: str, session_id: str, *, limit: int) -> StoredEvents:
        with self._reading() as cursor:
            where = "WHERE tenant = ? AND session_id = ?"
            rows = cursor.execute(
                f"SELECT id, facts FROM session_events {where} ORDER BY id DESC LIMIT ?",  # noqa: S608
                (tenant, session_id, limit),
            ).fetchall()
            (total,) = cursor.execute(
                f"SELECT count(*) FROM session_events {where} AND kind = 'tools'",  # noqa: S608
                (tenant, session_id),
            ).fetchone()
        found = tuple(event_of(facts) for _, facts in reversed(rows))
        return StoredEvents(found, total, rows[0][0] if rows else 0)

    def sessions(self, tenant: str, *, before: int, limit: int) -> tuple[tuple[int, SessionSummary], ...]:
        with self._reading() as cursor:
            rows = cursor.execute(
                "SELECT max(id) AS last, session_id, sum(kind = 'tools'), sum(kind = 'search'), min(at), "
                "max(at) FROM session_events WHERE tenant = ? GROUP BY session_id HAVING last < ? "
                "ORDER BY last DESC LIMIT ?",
                (tenant, before, limit),
            ).fetchall()
        return tuple(
            (last, SessionSummary(id=sid, rounds=rounds, searches=searches, began_at=began, last_at=ended))
            for last, sid, rounds, searches, began, ended in rows
        )

    def drop(self, tenant: str, session_id: str) -> None:
        with self._writing() as cursor:
            cursor.execute(
                "DELETE FROM session_events WHERE tenant = ? AND session_id = ?", (tenant, session_id)
            )


def facts_of(event: SessionEvent) -> str:
    """An event as JSON."""
    return json.dumps({name: value for name, value in asdict(event).items() if value})


def event_of(facts: str) -> SessionEvent:
    """The event of which `facts_of` gave this JSON."""
    read: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(facts).items()
    }
    return SessionEvent(**read)
