"""`SqliteSessionStore`: sessions in a file, for several processes of one machine."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolsearch.session.database import SqliteStore

_TABLES = {
    "sessions": "(tenant TEXT NOT NULL, session_id TEXT NOT NULL, used_at REAL NOT NULL, choice TEXT, "
    "PRIMARY KEY (tenant, session_id)) WITHOUT ROWID",
    "discovered": "(position INTEGER PRIMARY KEY AUTOINCREMENT, "
    "tenant TEXT NOT NULL, session_id TEXT NOT NULL, name TEXT NOT NULL, "
    "UNIQUE (tenant, session_id, name), "
    "FOREIGN KEY (tenant, session_id) REFERENCES sessions ON DELETE CASCADE)",
}
_INDEX = "CREATE INDEX IF NOT EXISTS sessions_by_use ON sessions (used_at)"


class SqliteSessionStore(SqliteStore):
    """A `SessionStore` in an SQLite file. Processes may share it; each change is one transaction."""

    def __init__(
        self, path: Path | str, *, ttl_s: float | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        """Open `path`, which is made where it does not exist.

        Args:
            ttl_s: Seconds without use after which a session is forgotten; None for never.
            clock: Seconds since the epoch, or from any start that all processes share.

        Raises:
            sqlite3.Error: the file cannot be opened or is no database.
            StoreError: it holds sessions in another form.
            ValueError: `ttl_s` is not more than 0.
        """
        if ttl_s is not None and ttl_s <= 0:
            raise ValueError(f"ttl_s is {ttl_s}; it must be more than 0.")
        self.ttl_s = ttl_s
        self._clock = clock
        super().__init__(path, _TABLES, (_INDEX,), linked=True)

    def discovered(self, session_id: str, tenant: str) -> tuple[str, ...]:
        with self._transaction() as cursor:
            cursor.execute(
                "UPDATE sessions SET used_at = ? WHERE tenant = ? AND session_id = ?",
                (self._clock(), tenant, session_id),
            )
            return _names(cursor, session_id, tenant)

    def discover(self, session_id: str, tenant: str, names: Iterable[str]) -> tuple[str, ...]:
        with self._transaction() as cursor:
            self._open(cursor, session_id, tenant)
            known = set(_names(cursor, session_id, tenant))
            new = tuple(name for name in dict.fromkeys(names) if name not in known)
            cursor.executemany(
                "INSERT INTO discovered (tenant, session_id, name) VALUES (?, ?, ?)",
                [(tenant, session_id, name) for name in new],
            )
            return new

    def forget(self, session_id: str, tenant: str, names: Collection[str] | None = None) -> None:
        with self._transaction() as cursor:
            if names is None:
                cursor.execute(
                    "DELETE FROM sessions WHERE tenant = ? AND session_id = ?", (tenant, session_id)
                )
                return
            cursor.executemany(
                "DELETE FROM discovered WHERE tenant = ? AND session_id = ? AND name = ?",
                [(tenant, session_id, name) for name in names],
            )

    def settle(self, session_id: str, tenant: str, choice: str) -> str:
        with self._transaction() as cursor:
            self._open(cursor, session_id, tenant)
            settled = cursor.execute(
                "UPDATE sessions SET choice = coalesce(choice, ?) WHERE tenant = ? AND session_id = ? "
                "RETURNING choice",
                (choice, tenant, session_id),
            ).fetchone()
            return str(settled[0])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Cursor]:
        with self._writing() as cursor:
            if self.ttl_s is not None:
                oldest_kept = self._clock() - self.ttl_s
                cursor.execute("DELETE FROM sessions WHERE used_at < ?", (oldest_kept,))
            yield cursor

    def _open(self, cursor: sqlite3.Cursor, session_id: str, tenant: str) -> None:
        cursor.execute(
            "INSERT INTO sessions (tenant, session_id, used_at) VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET used_at = excluded.used_at",
            (tenant, session_id, self._clock()),
        )


def _names(cursor: sqlite3.Cursor, session_id: str, tenant: str) -> tuple[str, ...]:
    rows = cursor.execute(
        "SELECT name FROM discovered WHERE tenant = ? AND session_id = ? ORDER BY position",
        (tenant, session_id),
    )
    return tuple(name for (name,) in rows)
