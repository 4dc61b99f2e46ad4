"""`PostgresRoundStore`: what sessions did, in PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from toolsearch.api.rounds import SessionSummary
from toolsearch.postgres.database import Connection, PostgresDatabase
from toolsearch.server.round_store import EVENTS_KEPT, event_of, facts_of
from toolsearch.server.rounds import SessionEvent, StoredEvents


class PostgresRoundStore:
    """A `RoundStore` in a database, whose tables `schema.upgrade_schema` makes."""

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
            ttl_s: Seconds after which an event is forgotten.
            kept: The most events that are kept.
            clock: Seconds since 1970.
        """
        self._database = database
        self._ttl_s = ttl_s
        self._kept = kept
        self._clock = clock

    def add_events(self, events: Sequence[tuple[str, str, SessionEvent]]) -> None:
        rows = [(tenant, sid, event.at, event.kind, facts_of(event)) for tenant, sid, event in events]

        def add(connection: Connection) -> None:
            with connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO session_events (tenant, session_id, at, kind, facts) "
                    "VALUES (%s, %s, %s, %s, %s)",
                    rows,
                )
            connection.execute(
                "DELETE FROM session_events WHERE at < %s OR id <= (SELECT max(id) FROM session_events) - %s",
                (self._clock() - self._ttl_s, self._kept),
            )

        self._database.transact(add)

    def events(self, tenant: str, session_id: str, *, limit: int) -> StoredEvents:
        rows = self._database.read(
            "SELECT id, facts::text, (SELECT count(*) FROM session_events "
            "WHERE tenant = e.tenant AND session_id = e.session_id AND kind = 'tools') "
            "FROM session_events e WHERE tenant = %s AND session_id = %s ORDER BY id DESC LIMIT %s",
            tenant,
            session_id,
            limit,
        )
        if not rows:
            return StoredEvents()
        found = tuple(event_of(facts) for _, facts, _ in reversed(rows))
        return StoredEvents(found, rows[0][2], rows[0][0])

    def sessions(self, tenant: str, *, before: int, limit: int) -> tuple[tuple[int, SessionSummary], ...]:
        rows = self._database.read(
            "SELECT max(id), session_id, count(*) FILTER (WHERE kind = 'tools'), "
            "count(*) FILTER (WHERE kind = 'search'), min(at), max(at) FROM session_events "
            "WHERE tenant = %s GROUP BY session_id HAVING max(id) < %s ORDER BY max(id) DESC LIMIT %s",
            tenant,
            before,
            limit,
        )
        return tuple(
            (last, SessionSummary(id=sid, rounds=rounds, searches=searches, began_at=began, last_at=ended))
            for last, sid, rounds, searches, began, ended in rows
        )

    def drop(self, tenant: str, session_id: str) -> None:
        self._database.transact(
            lambda connection: connection.execute(
                "DELETE FROM session_events WHERE tenant = %s AND session_id = %s", (tenant, session_id)
            )
        )
