"""`PostgresDatabase`: connections to one database, and transactions that count once or not at all."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString, TypeAlias, TypeVar

import psycopg
from psycopg import errors, sql
from psycopg.abc import Buffer
from psycopg.types.string import StrDumperUnknown
from psycopg_pool import ConnectionPool, PoolTimeout

from toolsearch.exceptions import DatabaseError, DatabaseUnreachableError
from toolsearch.postgres.causes import POOL, cause_of, keep_pools_quiet
from toolsearch.postgres.url import DatabaseUrl

T = TypeVar("T")
Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
Work: TypeAlias = Callable[[Connection], T]

SCHEMA = "toolsearch"
"""The schema that all tables are in."""

STATEMENT_S = 10.0
_LOCK_S = 5.0
_HELD_S = 30.0
_IDLE_S = 60.0
_CONNECT_S = 3
_CONNECTION_S = 2.0
"""Seconds to wait for a free connection, or for a new one."""

_AGAIN_S = 1.0
"""After a failure nobody asks again for so long, but who watches the database: requests are not held up."""

_TRIES = 6
_FIRST_PAUSE_S = 0.01

_CONTENDED = (errors.SerializationFailure, errors.DeadlockDetected)
_NOT_NOW = (psycopg.OperationalError, psycopg.InterfaceError, errors.ReadOnlySqlTransaction)
_CONFIGURE: LiteralString = (
    "SELECT set_config('search_path', concat_ws(', ', 'toolsearch', nullif(current_setting('search_path'), "
    "'')), false), set_config('statement_timeout', %s, false), set_config('lock_timeout', %s, false), "
    "set_config('idle_in_transaction_session_timeout', %s, false)"
)


class PostgresDatabase:
    """A pool of connections. Safe to use from several threads; nothing is opened before it is needed."""

    def __init__(
        self,
        url: DatabaseUrl | str,
        *,
        max_connections: int = 16,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to `url` when something is asked of it; `clock` gives seconds from any start.

        Raises:
            DatabaseError: `url` is no address of a database.
        """
        self.url = DatabaseUrl(url) if isinstance(url, str) else url
        self._check_address()
        self._clock = clock
        self._refused: BaseException | None = None
        keep_pools_quiet()
        self._ask_at = 0.0
        self._away = False
        self._opening = threading.Lock()
        self._is_open = False
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            self.url.text,
            min_size=0,
            max_size=max_connections,
            kwargs=self._arguments(),
            configure=self._configure,
            check=ConnectionPool.check_connection,
            timeout=_CONNECTION_S,
            # It then tries again when it is asked, rather than after a pause that doubles.
            reconnect_timeout=_CONNECT_S,
            name=POOL,
            connection_class=self._noting_failures(),
            open=False,
        )

    @property
    def is_away(self) -> bool:
        """Whether it did not answer when it was last asked."""
        return self._away

    def close(self) -> None:
        """Close every connection."""
        with self._opening:
            self._is_open = False
            self._pool.close()

    def __enter__(self) -> PostgresDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self) -> Connection:
        """One more connection, which is the caller's to close.

        Raises:
            DatabaseUnreachableError: there is none to be had.
        """
        try:
            connection: Connection = psycopg.connect(self.url.text, **self._arguments())
        except psycopg.OperationalError as exc:
            self._refused = exc
            raise self.missed(exc) from exc
        try:
            self._configure(connection)
        except psycopg.Error as exc:
            connection.close()
            raise self.missed(exc) from exc
        self.answered()
        return connection

    @contextmanager
    def locked(self, key: int) -> Iterator[None]:
        """Holds the advisory lock `key` within, on a connection of its own; others wait for it, or this does.

        Raises:
            DatabaseUnreachableError: it does not answer, or the lock is not to be had in time.
        """
        with self.connect() as connection:
            try:
                connection.execute("SELECT set_config('lock_timeout', %s, false)", (_ms(_HELD_S),))
                connection.execute("SELECT pg_advisory_lock(%s)", (key,))
            except psycopg.OperationalError as exc:
                raise self._unreachable(exc) from exc
            yield

    def read(self, query: LiteralString, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of one query; raises as `transact`."""
        return self._run(lambda connection: connection.execute(query, values).fetchall())

    def transact(self, work: Work[T], *, statement_s: float = STATEMENT_S) -> T:
        """What `work` gives for a connection, within one transaction; it may be carried out several times.

        That happens where others were in the way, or where the connection broke before the end.

        Args:
            statement_s: Seconds that each statement may take.

        Raises:
            DatabaseUnreachableError: it does not answer, or not in time. Where that was at the very end,
                whether the transaction counts is not known; else it does not.
        """

        def begun(connection: Connection) -> T:
            is_ending = False
            try:
                with connection.transaction():
                    if statement_s != STATEMENT_S:
                        # A SELECT would take the snapshot, after which `work` could not choose one.
                        limit = sql.Literal(_ms(statement_s))
                        connection.execute(sql.SQL("SET LOCAL statement_timeout = {}").format(limit))
                    result = work(connection)
                    is_ending = True
            except _NOT_NOW as exc:
                if is_ending and connection.broken:
                    raise _UnknownOutcomeError from exc
                raise
            return result

        return self._run(begun)

    def answered(self) -> None:
        """Note that the database is there."""
        self._away = False
        self._refused = None
        self._ask_at = 0.0

    def missed(self, exc: Exception) -> DatabaseUnreachableError:
        """Note that the database is not there; the error that says so."""
        self._away = True
        self._ask_at = self._clock() + _AGAIN_S
        return self._unreachable(exc)

    def _run(self, work: Work[T]) -> T:
        for attempt in range(1, _TRIES + 1):
            self._check_is_asked()
            connection: Connection | None = None
            try:
                with self._pool.connection() as connection:
                    result = work(connection)
            except (PoolTimeout, _UnknownOutcomeError) as exc:
                raise self.missed(exc) from exc
            except _CONTENDED as exc:
                if attempt == _TRIES:
                    raise self._unreachable(exc) from exc
                time.sleep(random.uniform(0, _FIRST_PAUSE_S * 2**attempt))  # noqa: S311 - no secret
            except _NOT_NOW as exc:
                if connection is not None and not connection.broken:
                    raise self._unreachable(exc) from exc
                if attempt == _TRIES:
                    raise self.missed(exc) from exc
                # The pool now gives a connection that is not broken, or says that there is none.
            else:
                self.answered()
                return result
        raise AssertionError("the last attempt returns or raises")  # pragma: no cover

    def _check_is_asked(self) -> None:
        if self._clock() < self._ask_at:
            raise self._unreachable(None)
        if not self._is_open:
            with self._opening:
                if not self._is_open:
                    self._pool.open()
                    self._is_open = True

    def _unreachable(self, exc: Exception | None) -> DatabaseUnreachableError:
        # What the server says may quote values, so the state alone is told.
        state = getattr(exc, "sqlstate", None)
        cause = None if state else cause_of(self._refused)
        if cause is not None:
            return DatabaseUnreachableError(str(self.url), cause.reason, remedy=cause.remedy)
        why = f" (SQLSTATE {state})" if state else ""
        return DatabaseUnreachableError(
            str(self.url), f"does not answer in time{why}", remedy="Try again in a moment."
        )

    def _check_address(self) -> None:
        is_one = self.url.is_plain
        try:
            psycopg.conninfo.conninfo_to_dict(self.url.text)
        except psycopg.Error:
            is_one = False
        if not is_one:
            raise DatabaseError(
                str(self.url),
                "is no address of a database",
                remedy="Give postgresql://USER@HOST/NAME and the password in PGPASSWORD. In the address it "
                "must be percent-encoded: %2F for /, %40 for @.",
            )

    def _noting_failures(self) -> type[Connection]:
        """The class of connections; the pool itself tells nobody why it could make none."""
        database = self

        class Noting(psycopg.Connection[tuple[Any, ...]]):
            @classmethod
            def connect(cls, *args: Any, **kwargs: Any) -> Any:
                try:
                    return super().connect(*args, **kwargs)
                except psycopg.Error as exc:
                    database._refused = exc
                    raise

        return Noting

    @staticmethod
    def _arguments() -> dict[str, Any]:
        return {"autocommit": True, "connect_timeout": _CONNECT_S, "application_name": "toolsearch"}

    @staticmethod
    def _configure(connection: Connection) -> None:
        connection.adapters.register_dumper(str, _TextDumper)
        connection.execute(_CONFIGURE, (_ms(STATEMENT_S), _ms(_LOCK_S), _ms(_IDLE_S)))


class _TextDumper(StrDumperUnknown):
    """Gives text to the server, which has no NUL in it: such a text names nothing that is there.

    U+FFFD stands in its place, as in text that is not UTF-8; names, tenants and ids have neither.
    """

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", "\ufffd"))


class _UnknownOutcomeError(Exception):
    """The connection broke while a transaction was being committed."""


def _ms(seconds: float) -> str:
    return str(round(seconds * 1000))
