"""One transaction in an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

_BUSY_TIMEOUT_S = 30.0


@contextmanager
def transaction(path: Path | str) -> Iterator[sqlite3.Connection]:
    """Opens the file, holds its write lock, commits at the end or rolls back after an error, and closes it.

    Raises:
        sqlite3.Error: the file cannot be opened, is no database, or stayed locked for 30 s.
    """
    with closing(sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)) as database:
        # The lock comes first, so that two processes do not both read before either writes.
        database.execute("BEGIN IMMEDIATE")
        try:
            yield database
        except BaseException:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")
