"""SQLite files that several processes share: one transaction at a time, on tables of the form expected."""

from __future__ import annotations

import shlex
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

from toolsearch.exceptions import StoreError

FORMAT = 1
"""Of all tables of this package, in the file's ``user_version``; several stores may share one file."""

_IN_MEMORY = ":memory:"
_BUSY_TIMEOUT_S = 30.0
_ASK_AGAIN_S = 0.01


def connected(path: Path | str) -> sqlite3.Connection:
    """A connection that waits up to 30 s for a lock, and begins no transaction by itself.

    Raises:
        StoreError: there is no folder for it.
    """
    if str(path) != _IN_MEMORY and not Path(path).parent.is_dir():
        raise StoreError(
            path,
            "is in a folder that is not there",
            remedy=f"Make it: mkdir -p {shlex.quote(str(Path(path).parent))}",
        )
    return sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
    """Holds the write lock, commits at the end or rolls back after an error.

    Gives the one cursor of the transaction, which ends with it: a cursor that has not given its last row
    would keep the file locked for as long as anything, such as a traceback, refers to it.

    Raises:
        sqlite3.Error: the file cannot be written, is no database, or stayed locked for 30 s.
    """
    # The lock comes first, so that two processes do not both read before either writes.
    database.execute("BEGIN IMMEDIATE").close()
    try:
        with closing(database.cursor()) as cursor:
            yield cursor
        database.execute("COMMIT").close()
    except BaseException:
        # SQLite has rolled back already after some errors.
        if database.in_transaction:
            database.execute("ROLLBACK").close()
        raise


class SqliteStore:
    """A store in an SQLite file or in memory, which threads and processes may share."""

    def __init__(
        self,
        path: Path | str,
        tables: Mapping[str, str],
        indexes: Iterable[str] = (),
        *,
        linked: bool = False,
    ) -> None:
        """Open `path`, which is made where it does not exist.

        Args:
            tables: The form of each by its name, see `make_tables`.
            indexes: Statements that make indexes where there are none.
            linked: Hold rows to those of other tables that they refer to.

        Raises:
            sqlite3.Error: the file cannot be opened or is no database.
            StoreError: it holds one of the tables in another form.
        """
        self._lock = threading.Lock()
        self._database = connected(path)
        try:
            write_ahead(self._database)
            if linked:
                self._database.execute("PRAGMA foreign_keys = ON").close()
            with transaction(self._database) as cursor:
                make_tables(cursor, path, tables)
                for index in indexes:
                    cursor.execute(index)
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Cursor]:
        # A reader of the write-ahead log waits for no writer.
        with self._lock, closing(self._database.cursor()) as cursor:
            yield cursor

    def _read(self, query: str, *values: Any) -> list[Any]:
        with self._reading() as cursor:
            return cursor.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Cursor]:
        with self._lock, transaction(self._database) as cursor:
            yield cursor


@contextmanager
def opened(path: Path | str) -> Iterator[sqlite3.Cursor]:
    """`transaction` in a file that is opened for it."""
    with closing(connected(path)) as database, transaction(database) as cursor:
        yield cursor


def check_is_file(path: Path | str, instead: str) -> None:
    """Does nothing where `path` can be opened again; `instead` is what to use for a database in memory.

    Raises:
        ValueError: it is a database in memory or a temporary one, which is gone when it is closed.
    """
    if str(path) in {"", ":memory:"}:
        raise ValueError(
            f"path is {str(path)!r}, which is gone after each call. Use {instead}, or give a file."
        )


def file_format(path: Path | str) -> int:
    """The format of the tables in a file, see `FORMAT`; 0 where there is no file, or no table.

    Raises:
        StoreError: it cannot be read, or is no database.
    """
    if not Path(path).exists():
        return 0
    try:
        with closing(connected(path)) as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as exc:
        raise StoreError(path, f"cannot be read ({exc})") from exc
    return int(version)


def make_tables(cursor: sqlite3.Cursor, path: Path | str, tables: Mapping[str, str]) -> None:
    """Makes those of `tables`, each with its form by its name, that the file does not have.

    Raises:
        StoreError: it has one of them in another form, or was written by a release with other forms.
    """
    (version,) = cursor.execute("PRAGMA user_version").fetchone()
    if version not in {0, FORMAT}:
        raise StoreError(path, f"has format {version}, and this release reads {FORMAT}")
    for name, form in tables.items():
        found = cursor.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        created = f"CREATE TABLE {name} {form}"
        if found is None:
            cursor.execute(created)
        elif found != (created,):
            raise StoreError(path, f"has {name!r} in another form")
    cursor.execute(f"PRAGMA user_version = {FORMAT}")


def write_ahead(database: sqlite3.Connection) -> None:
    """Has the file keep a write-ahead log: a commit waits for the disk once rather than three times.

    Raises:
        sqlite3.Error: as `transaction`.
    """
    ends = time.monotonic() + _BUSY_TIMEOUT_S
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL").close()
        except sqlite3.OperationalError as exc:
            # SQLite does not wait for this lock by itself where another process has begun to write.
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > ends:
                raise
            time.sleep(_ASK_AGAIN_S)
        else:
            return
