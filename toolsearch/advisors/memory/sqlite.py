"""`SqliteConversationStore`: conversations in a file, for several processes of one machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from toolsearch.advisors.database import transaction
from toolsearch.messages import Message

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
_TABLE = """
CREATE TABLE IF NOT EXISTS messages (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL, session_id TEXT NOT NULL, message TEXT NOT NULL
)
"""
_INDEX = "CREATE INDEX IF NOT EXISTS messages_by_session ON messages (tenant, session_id, position)"


class SqliteConversationStore:
    """A `ConversationStore` in an SQLite file, a message a row; opened anew by each call."""

    def __init__(self, path: Path | str) -> None:
        """Opens `path`, which is made where it does not exist.

        Raises:
            sqlite3.Error: it cannot be opened or is no database.
        """
        self._path = path
        with transaction(self._path) as database:
            database.execute(_TABLE)
            database.execute(_INDEX)

    def messages(self, session_id: str, tenant: str) -> tuple[Message, ...]:
        with transaction(self._path) as database:
            return _read(database, session_id, tenant)

    def append(self, session_id: str, tenant: str, messages: Sequence[Message]) -> None:
        with transaction(self._path) as database:
            _write(database, session_id, tenant, messages)

    def replace_head(
        self, session_id: str, tenant: str, head: Sequence[Message], by: Sequence[Message]
    ) -> bool:
        with transaction(self._path) as database:
            kept = _read(database, session_id, tenant)
            if kept[: len(head)] != tuple(head):
                return False
            database.execute("DELETE FROM messages WHERE tenant = ? AND session_id = ?", (tenant, session_id))
            _write(database, session_id, tenant, [*by, *kept[len(head) :]])
            return True

    def forget(self, session_id: str, tenant: str) -> None:
        with transaction(self._path) as database:
            database.execute("DELETE FROM messages WHERE tenant = ? AND session_id = ?", (tenant, session_id))


def _read(database: sqlite3.Connection, session_id: str, tenant: str) -> tuple[Message, ...]:
    rows = database.execute(
        "SELECT message FROM messages WHERE tenant = ? AND session_id = ? ORDER BY position",
        (tenant, session_id),
    )
    return tuple(_MESSAGE.validate_json(message) for (message,) in rows)


def _write(database: sqlite3.Connection, session_id: str, tenant: str, messages: Iterable[Message]) -> None:
    database.executemany(
        "INSERT INTO messages (tenant, session_id, message) VALUES (?, ?, ?)",
        [(tenant, session_id, message.model_dump_json()) for message in messages],
    )
