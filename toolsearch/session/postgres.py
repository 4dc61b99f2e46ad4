"""`PostgresSessionStore`: sessions in PostgreSQL, for processes of several machines."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable

from toolsearch.postgres.database import Connection, PostgresDatabase

_SWEEP_S = 60.0
_SWEPT = 1000
_USE_KEPT = 0.01
"""Share of `ttl_s` by which the time of the last use may lag, as not every reading should be a write."""


class PostgresSessionStore:
    """A `SessionStore` in a PostgreSQL database, whose tables `schema.upgrade_schema` makes.

    Each change is one transaction. Clocks of the processes are taken to agree, but for less than `ttl_s`.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        ttl_s: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Keep sessions in `database`, which stays the caller's to close.

        Args:
            ttl_s: Seconds without use after which a session is forgotten; None for never.
            clock: Seconds since the epoch, or from any start that all processes share.

        Raises:
            ValueError: `ttl_s` is not more than 0.
        """
        if ttl_s is not None and ttl_s <= 0:
            raise ValueError(f"ttl_s is {ttl_s}; it must be more than 0.")
        self.ttl_s = ttl_s
        self._database = database
        self._clock = clock
        self._swept_at = clock()

    def discovered(self, session_id: str, tenant: str) -> tuple[str, ...]:
        now = self._clock()
        rows = self._database.read(
            "SELECT d.name, s.used_at FROM sessions s LEFT JOIN discovered d USING (tenant, session_id) "
            "WHERE s.tenant = %s AND s.session_id = %s AND s.used_at >= %s ORDER BY d.position",
            tenant,
            session_id,
            self._oldest_kept(now),
        )
        if rows and self.ttl_s is not None and now - rows[0][1] > _USE_KEPT * self.ttl_s:
            self._database.transact(
                lambda connection: connection.execute(
                    "UPDATE sessions SET used_at = greatest(used_at, %s) "
                    "WHERE tenant = %s AND session_id = %s",
                    (now, tenant, session_id),
                )
            )
        return tuple(name for name, _ in rows if name is not None)

    def discover(self, session_id: str, tenant: str, names: Iterable[str]) -> tuple[str, ...]:
        wanted = list(dict.fromkeys(names))

        def discover(connection: Connection) -> tuple[str, ...]:
            # Its row is locked from here on, so that others append before or after.
            self._open(connection, session_id, tenant)
            rows = connection.execute(
                "INSERT INTO discovered (tenant, session_id, name) "
                "SELECT %s, %s, name FROM unnest(%s::text[]) WITH ORDINALITY AS given (name, place) "
                "ORDER BY place ON CONFLICT DO NOTHING RETURNING position, name",
                (tenant, session_id, wanted),
            ).fetchall()
            return tuple(name for _, name in sorted(rows))

        return self._database.transact(discover)

    def forget(self, session_id: str, tenant: str, names: Collection[str] | None = None) -> None:
        def forget(connection: Connection) -> None:
            if names is None:
                connection.execute(
                    "DELETE FROM sessions WHERE tenant = %s AND session_id = %s", (tenant, session_id)
                )
                return
            connection.execute(
                "DELETE FROM discovered WHERE tenant = %s AND session_id = %s AND name = ANY(%s)",
                (tenant, session_id, list(names)),
            )

        self._database.transact(forget)

    def settle(self, session_id: str, tenant: str, choice: str) -> str:
        def settle(connection: Connection) -> str:
            self._open(connection, session_id, tenant)
            row = connection.execute(
                "UPDATE sessions SET choice = coalesce(choice, %s) WHERE tenant = %s AND session_id = %s "
                "RETURNING choice",
                (choice, tenant, session_id),
            ).fetchone()
            return str(row[0] if row else choice)

        return self._database.transact(settle)

    def _open(self, connection: Connection, session_id: str, tenant: str) -> None:
        """Has the session be there, and locks it until the end of the transaction."""
        now = self._clock()
        if self.ttl_s is not None:
            connection.execute(
                "DELETE FROM sessions WHERE tenant = %s AND session_id = %s AND used_at < %s",
                (tenant, session_id, self._oldest_kept(now)),
            )
            if now - self._swept_at >= _SWEEP_S:
                self._swept_at = now
                # What others have locked is in use, or goes with their sweep.
                connection.execute(
                    "DELETE FROM sessions WHERE ctid IN (SELECT ctid FROM sessions WHERE used_at < %s "
                    "LIMIT %s FOR UPDATE SKIP LOCKED)",
                    (self._oldest_kept(now), _SWEPT),
                )
        connection.execute(
            "INSERT INTO sessions (tenant, session_id, used_at) VALUES (%s, %s, %s) "
            "ON CONFLICT (tenant, session_id) DO UPDATE "
            "SET used_at = greatest(sessions.used_at, excluded.used_at)",
            (tenant, session_id, now),
        )

    def _oldest_kept(self, now: float) -> float:
        return float("-inf") if self.ttl_s is None else now - self.ttl_s
