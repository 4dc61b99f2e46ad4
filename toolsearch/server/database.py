"""`SqliteDatabase`: keys, feedback, usage and answers in one SQLite file, or in memory."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolsearch.api.keys import KeyEntry
from toolsearch.api.usage import FeedbackBody, FeedbackEntry, UsageDay
from toolsearch.exceptions import StoreError
from toolsearch.server.keys import StoredKey
from toolsearch.server.records import ANSWERS_KEPT_S, CLAIM_S, COUNTS, KeptAnswer
from toolsearch.session.database import SqliteStore

IN_MEMORY = ":memory:"

_TABLES = {
    "api_keys": "(id TEXT PRIMARY KEY, digest BLOB NOT NULL, entry TEXT NOT NULL, created_at REAL NOT NULL) "
    "WITHOUT ROWID",
    "feedback": "(id INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, at REAL NOT NULL, "
    "tool TEXT NOT NULL, outcome TEXT NOT NULL, query TEXT NOT NULL, session_id TEXT)",
    "usage": "(tenant TEXT NOT NULL, day TEXT NOT NULL, searches INTEGER NOT NULL, "
    "nothing_fits INTEGER NOT NULL, returned_tokens INTEGER NOT NULL, spared_tokens INTEGER NOT NULL, "
    "calls INTEGER NOT NULL, PRIMARY KEY (tenant, day)) WITHOUT ROWID",
    "answers": "(owner TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, at REAL NOT NULL, "
    "status INTEGER NOT NULL, content_type TEXT NOT NULL, etag TEXT NOT NULL, body BLOB NOT NULL, "
    "PRIMARY KEY (owner, key)) WITHOUT ROWID",
}
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS feedback_by_tenant ON feedback (tenant, id)",
    "CREATE INDEX IF NOT EXISTS answers_by_age ON answers (at)",
)


_FEEDBACK = ("id", "at", "tool", "outcome", "query", "session_id")


class SqliteDatabase(SqliteStore):
    """A `KeyStore` and `Records` in SQLite. Processes may share its file; each change is one transaction."""

    def __init__(self, path: Path | str = IN_MEMORY, *, clock: Callable[[], float] = time.time) -> None:
        """Open `path`, which is made where it does not exist.

        Args:
            clock: Seconds since 1970.

        Raises:
            StoreError: the file cannot be opened, is no database, or holds something in another form.
        """
        self._clock = clock
        try:
            super().__init__(path, _TABLES, _INDEXES)
        except sqlite3.Error as exc:
            raise StoreError(path, f"cannot be used ({exc})") from exc

    def stored_keys(self) -> tuple[StoredKey, ...]:
        rows = self._read("SELECT entry, digest FROM api_keys ORDER BY created_at, id")
        return tuple(StoredKey(KeyEntry(**json.loads(entry)), digest) for entry, digest in rows)

    def add_key(self, key: StoredKey) -> None:
        row = (key.entry.id, key.digest, key.entry.model_dump_json(), key.entry.created_at)
        with self._writing() as cursor:
            cursor.execute("INSERT INTO api_keys (id, digest, entry, created_at) VALUES (?, ?, ?, ?)", row)

    def remove_key(self, key_id: str) -> bool:
        with self._writing() as cursor:
            return cursor.execute("DELETE FROM api_keys WHERE id = ?", (key_id,)).rowcount > 0

    def add_feedback(self, tenant: str, feedback: FeedbackBody) -> FeedbackEntry:
        at = self._clock()
        with self._writing() as cursor:
            cursor.execute(
                "INSERT INTO feedback (tenant, at, tool, outcome, query, session_id) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (tenant, at, feedback.tool, feedback.outcome, feedback.query, feedback.session_id),
            )
            return FeedbackEntry(id=cursor.lastrowid or 0, at=at, **feedback.model_dump())

    def feedback(self, tenant: str, *, after: int, limit: int) -> tuple[FeedbackEntry, ...]:
        rows = self._read(
            f"SELECT {', '.join(_FEEDBACK)} FROM feedback WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?",  # noqa: S608
            tenant,
            after,
            limit,
        )
        return tuple(_entry(row) for row in rows)

    def latest_feedback(
        self, tenant: str, *, before: int, since: float, limit: int
    ) -> tuple[FeedbackEntry, ...]:
        rows = self._read(
            f"SELECT {', '.join(_FEEDBACK)} FROM feedback "  # noqa: S608
            "WHERE tenant = ? AND id < ? AND at >= ? ORDER BY id DESC LIMIT ?",
            tenant,
            before,
            since,
            limit,
        )
        return tuple(_entry(row) for row in rows)

    def forget_feedback(self, tenant: str) -> int:
        with self._writing() as cursor:
            return cursor.execute("DELETE FROM feedback WHERE tenant = ?", (tenant,)).rowcount

    def trim_feedback(self, *, before: float, keeping: int) -> None:
        with self._writing() as cursor:
            cursor.execute("DELETE FROM feedback WHERE at < ?", (before,))
            cursor.execute(
                "DELETE FROM feedback WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER "
                "(PARTITION BY tenant ORDER BY id DESC) AS place FROM feedback) WHERE place > ?)",
                (keeping,),
            )

    def add_usage(self, used: Mapping[tuple[str, str], UsageDay]) -> None:
        sums = ", ".join(f"{name} = {name} + excluded.{name}" for name in COUNTS)
        rows = [(tenant, day, *(getattr(of, n) for n in COUNTS)) for (tenant, day), of in used.items()]
        with self._writing() as cursor:
            cursor.executemany(
                f"INSERT INTO usage (tenant, day, {', '.join(COUNTS)}) VALUES (?, ?, ?, ?, ?, ?, ?) "  # noqa: S608
                f"ON CONFLICT DO UPDATE SET {sums}",
                rows,
            )

    def usage(self, tenant: str, *, since: str, until: str) -> tuple[UsageDay, ...]:
        rows = self._read(
            f"SELECT day, {', '.join(COUNTS)} FROM usage "  # noqa: S608
            "WHERE tenant = ? AND day >= ? AND day <= ? ORDER BY day",
            tenant,
            since,
            until,
        )
        return tuple(UsageDay(**dict(zip(("day", *COUNTS), row, strict=True))) for row in rows)

    def begin_write(self, owner: str, key: str, fingerprint: str) -> KeptAnswer | None:
        now = self._clock()
        with self._writing() as cursor:
            cursor.execute(
                "DELETE FROM answers WHERE at < ? OR (status = 0 AND at < ?)",
                (now - ANSWERS_KEPT_S, now - CLAIM_S),
            )
            found = cursor.execute(
                "SELECT fingerprint, status, content_type, etag, body FROM answers "
                "WHERE owner = ? AND key = ?",
                (owner, key),
            ).fetchone()
            if found is not None:
                return KeptAnswer(*found)
            cursor.execute(
                "INSERT INTO answers (owner, key, fingerprint, at, status, content_type, etag, body) "
                "VALUES (?, ?, ?, ?, 0, '', '', x'')",
                (owner, key, fingerprint, now),
            )
            return None

    def end_write(self, owner: str, key: str, answer: KeptAnswer | None) -> None:
        with self._writing() as cursor:
            if answer is None:
                cursor.execute("DELETE FROM answers WHERE owner = ? AND key = ?", (owner, key))
                return
            cursor.execute(
                "UPDATE answers SET status = ?, content_type = ?, etag = ?, body = ? "
                "WHERE owner = ? AND key = ?",
                (answer.status, answer.content_type, answer.etag, answer.body, owner, key),
            )

    def settle(self) -> None:
        """Nothing is left: a file is not away."""


def _entry(row: Sequence[Any]) -> FeedbackEntry:
    """The entry in a row of `_FEEDBACK`."""
    return FeedbackEntry(**dict(zip(_FEEDBACK, row, strict=True)))
