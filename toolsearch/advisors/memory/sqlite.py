"""`SqliteConversationStore`: conversations in a file, for several processes of one machine."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from toolsearch.exceptions import StoreError
from toolsearch.messages import Message
from toolsearch.session.database import check_is_file, make_tables, opened

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
_TABLES = {
    "messages": "(position INTEGER PRIMARY KEY AUTOINCREMENT, "
    "tenant TEXT NOT NULL, session_id TEXT NOT NULL, message TEXT NOT NULL)"
}
_INDEX = "CREATE INDEX IF NOT EXISTS messages_by_session ON messages (tenant, session_id, position)"


class SqliteConversationStore:
    """A `ConversationStore` in an SQLite file, a message a row; opened anew by each call."""

    def __init__(self, path: Path | str) -> None:
        """Opens `path`, which is made where it does not exist.

        Raises:
            sqlite3.Error: it cannot be opened or is no database.
            StoreError: it holds conversations in another form.
            ValueError: it is no file.
        """
        check_is_file(path, "MemoryConversationStore")
        self._path = path
        with opened(path) as cursor:
            make_tables(cursor, path, _TABLES)
            cursor.execute(_INDEX)

    def messages(self, session_id: str, tenant: str) -> tuple[Message, ...]:
        """All of them.

        Raises:
            StoreError: one of them cannot be read.
        """
        with opened(self._path) as cursor:
            rows = _rows(cursor, session_id, tenant)
        return self._read(rows)

    def append(self, session_id: str, tenant: str, messages: Sequence[Message]) -> None:
        written = _written(messages)
        with opened(self._path) as cursor:
            _insert(cursor, session_id, tenant, written)

    def replace_head(
        self, session_id: str, tenant: str, head: Sequence[Message], by: Sequence[Message]
    ) -> bool:
        written = _written(by)
        with opened(self._path) as cursor:
            rows = _rows(cursor, session_id, tenant)
            if self._read(rows[: len(head)]) != tuple(head):
                return False
            _delete(cursor, session_id, tenant)
            _insert(cursor, session_id, tenant, [*written, *rows[len(head) :]])
            return True

    def forget(self, session_id: str, tenant: str) -> None:
        with opened(self._path) as cursor:
            _delete(cursor, session_id, tenant)

    def _read(self, rows: Iterable[str]) -> tuple[Message, ...]:
        return tuple(map(self._message, rows))

    def _message(self, row: str) -> Message:
        try:
            return _MESSAGE.validate_json(row)
        except ValidationError:
            pass
        try:
            # Reads deeper nesting, and is slower.
            return _MESSAGE.validate_python(json.loads(row))
        except (ValueError, RecursionError) as exc:
            raise StoreError(self._path, f"holds a message that cannot be read ({exc})") from exc


def _rows(cursor: sqlite3.Cursor, session_id: str, tenant: str) -> list[str]:
    rows = cursor.execute(
        "SELECT message FROM messages WHERE tenant = ? AND session_id = ? ORDER BY position",
        (tenant, session_id),
    )
    return [message for (message,) in rows]


def _insert(cursor: sqlite3.Cursor, session_id: str, tenant: str, rows: Iterable[str]) -> None:
    cursor.executemany(
        "INSERT INTO messages (tenant, session_id, message) VALUES (?, ?, ?)",
        [(tenant, session_id, row) for row in rows],
    )


def _delete(cursor: sqlite3.Cursor, session_id: str, tenant: str) -> None:
    cursor.execute("DELETE FROM messages WHERE tenant = ? AND session_id = ?", (tenant, session_id))


def _written(messages: Iterable[Message]) -> list[str]:
    return [message.model_dump_json() for message in messages]
