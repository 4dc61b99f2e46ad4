"""`PostgresUsageStore`: what was learned from use, in PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from toolsearch.postgres.database import Connection, PostgresDatabase
from toolsearch.retrieval.usage import UsageEvent
from toolsearch.server.learning import StoredUsage
from toolsearch.server.usage_store import COLUMNS, EVENTS_KEPT, FORGOTTEN, row_of, stored_of

_LOCK = 0x75736167
"""Of `pg_advisory_xact_lock`: ids come in the order in which they can be seen, as readers go by them."""


class PostgresUsageStore:
    """A `UsageStore` in a database, whose tables `schema.upgrade_schema` makes."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        ttl_s: float,
        kept: int = EVENTS_KEPT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Keep events in `database`, which stays the caller's to close.

        Args:
            ttl_s: Seconds after which an event is dropped.
            kept: The most events that are kept.
            clock: Seconds since 1970.
        """
        self._database = database
        self._ttl_s = ttl_s
        self._kept = kept
        self._clock = clock

    def add_events(self, events: Sequence[UsageEvent], embedder_id: str) -> None:
        rows = [row_of(event, embedder_id) for event in events]

        def add(connection: Connection) -> None:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO usage_events ({COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",  # noqa: S608
                    rows,
                )
            connection.execute(
                "DELETE FROM usage_events WHERE at < %s OR id <= (SELECT max(id) FROM usage_events) - %s",
                (self._clock() - self._ttl_s, self._kept),
            )

        self._database.transact(add)

    def events(self, embedder_id: str, *, after: int, limit: int) -> tuple[StoredUsage, ...]:
        rows = self._database.read(
            f"SELECT id, {COLUMNS} FROM usage_events WHERE id > %s AND at >= %s "  # noqa: S608
            "AND embedder_id IN (%s, '') ORDER BY id LIMIT %s",
            after,
            self._clock() - self._ttl_s,
            embedder_id,
            limit,
        )
        return tuple(stored_of(row) for row in rows)

    def newest_id(self, *, keeping: int) -> int:
        rows = self._database.read("SELECT id FROM usage_events ORDER BY id DESC LIMIT 1 OFFSET %s", keeping)
        return int(rows[0][0]) if rows else 0

    def forget(self, tenant: str) -> None:
        def forget(connection: Connection) -> None:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            connection.execute("DELETE FROM usage_events WHERE tenant = %s", (tenant,))
            connection.execute(
                f"INSERT INTO usage_events ({COLUMNS}) VALUES (%s, %s, '', '', '', %s, '', '')",  # noqa: S608
                (tenant, self._clock(), FORGOTTEN),
            )

        self._database.transact(forget)
