"""`PostgresRecords`: keys, feedback, usage and answers in PostgreSQL."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

from toolsearch.api.keys import KeyEntry
from toolsearch.api.usage import FeedbackBody, FeedbackEntry, UsageDay
from toolsearch.exceptions import DatabaseUnreachableError
from toolsearch.postgres.database import Connection, PostgresDatabase
from toolsearch.server.keys import StoredKey
from toolsearch.server.records import ANSWERS_KEPT_S, CLAIM_S, COUNTS, KeptAnswer

_FEEDBACK_LOCK = 0x66656564
"""First of the two numbers of `pg_advisory_xact_lock`; the second stands for the tenant."""

_SWEEP_S = 60.0
_SWEPT = 1000
_UNENDED_KEPT = 1000


class PostgresRecords:
    """A `KeyStore` and `Records` in a database, whose tables `schema.upgrade_schema` makes.

    Each change is one transaction. Clocks of the processes are taken to agree, but for some seconds.
    """

    def __init__(self, database: PostgresDatabase, *, clock: Callable[[], float] = time.time) -> None:
        """Keep them in `database`, which stays the caller's to close; `clock` gives seconds since 1970."""
        self._database = database
        self._clock = clock
        self._swept_at = clock()
        self._lock = threading.Lock()
        self._unended: OrderedDict[tuple[str, str], tuple[float, KeptAnswer | None]] = OrderedDict()

    def stored_keys(self) -> tuple[StoredKey, ...]:
        rows = self._database.read("SELECT entry::text, digest FROM api_keys ORDER BY created_at, id")
        return tuple(StoredKey(KeyEntry(**json.loads(entry)), bytes(digest)) for entry, digest in rows)

    def add_key(self, key: StoredKey) -> None:
        row = (key.entry.id, key.digest, key.entry.model_dump_json(), key.entry.created_at)
        self._database.transact(
            lambda connection: connection.execute(
                "INSERT INTO api_keys (id, digest, entry, created_at) VALUES (%s, %s, %s, %s) "
                # The same one again, where the connection broke and it was tried anew.
                "ON CONFLICT (id) DO UPDATE SET entry = excluded.entry",
                row,
            )
        )

    def remove_key(self, key_id: str) -> bool:
        return self._database.transact(
            lambda connection: (
                connection.execute("DELETE FROM api_keys WHERE id = %s", (key_id,)).rowcount > 0
            )
        )

    def add_feedback(self, tenant: str, feedback: FeedbackBody) -> FeedbackEntry:
        at = self._clock()

        def add(connection: Connection) -> int:
            # Ids of a tenant come in the order in which they can be seen, as who reads on begins after one.
            connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (_FEEDBACK_LOCK, tenant))
            row = connection.execute(
                "INSERT INTO feedback (tenant, at, entry) VALUES (%s, %s, %s) RETURNING id",
                (tenant, at, feedback.model_dump_json()),
            ).fetchone()
            return int(row[0]) if row else 0

        return FeedbackEntry(id=self._database.transact(add), at=at, **feedback.model_dump())

    def feedback(self, tenant: str, *, after: int, limit: int) -> tuple[FeedbackEntry, ...]:
        rows = self._database.read(
            "SELECT id, at, entry::text FROM feedback WHERE tenant = %s AND id > %s ORDER BY id LIMIT %s",
            tenant,
            after,
            limit,
        )
        return tuple(_entry(*row) for row in rows)

    def latest_feedback(
        self, tenant: str, *, before: int, since: float, limit: int
    ) -> tuple[FeedbackEntry, ...]:
        rows = self._database.read(
            "SELECT id, at, entry::text FROM feedback WHERE tenant = %s AND id < %s AND at >= %s "
            "ORDER BY id DESC LIMIT %s",
            tenant,
            before,
            since,
            limit,
        )
        return tuple(_entry(*row) for row in rows)

    def forget_feedback(self, tenant: str) -> int:
        return self._database.transact(
            lambda connection: (
                connection.execute("DELETE FROM feedback WHERE tenant = %s", (tenant,)).rowcount
            )
        )

    def trim_feedback(self, *, before: float, keeping: int) -> None:
        self._database.transact(
            lambda connection: connection.execute(
                "DELETE FROM feedback WHERE at < %s OR id IN (SELECT id FROM (SELECT id, row_number() OVER "
                "(PARTITION BY tenant ORDER BY id DESC) AS place FROM feedback) AS placed WHERE place > %s)",
                (before, keeping),
            )
        )

    def add_usage(self, used: Mapping[tuple[str, str], UsageDay]) -> None:
        sums = ", ".join(f"{name} = usage.{name} + excluded.{name}" for name in COUNTS)
        # In one order for all, so that no two wait for each other.
        ordered = sorted(used.items())
        rows = [(tenant, day, *(getattr(of, n) for n in COUNTS)) for (tenant, day), of in ordered]

        def add(connection: Connection) -> None:
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO usage (tenant, day, {', '.join(COUNTS)}) "  # noqa: S608
                    f"VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (tenant, day) DO UPDATE SET {sums}",
                    rows,
                )

        self._database.transact(add)

    def usage(self, tenant: str, *, since: str, until: str) -> tuple[UsageDay, ...]:
        rows = self._database.read(
            f"SELECT day, {', '.join(COUNTS)} FROM usage "  # noqa: S608
            "WHERE tenant = %s AND day >= %s AND day <= %s ORDER BY day",
            tenant,
            since,
            until,
        )
        return tuple(UsageDay(**dict(zip(("day", *COUNTS), row, strict=True))) for row in rows)

    def begin_write(self, owner: str, key: str, fingerprint: str) -> KeptAnswer | None:
        now = self._clock()

        def begin(connection: Connection) -> KeptAnswer | None:
            self._sweep(connection, now)
            connection.execute(
                "DELETE FROM answers WHERE owner = %s AND key = %s AND (at < %s OR (status = 0 AND at < %s))",
                (owner, key, now - ANSWERS_KEPT_S, now - CLAIM_S),
            )
            while True:
                # It waits for whoever is about to claim or to free the key.
                claimed = connection.execute(
                    "INSERT INTO answers (owner, key, fingerprint, at, status, content_type, etag, body) "
                    "VALUES (%s, %s, %s, %s, 0, '', '', '') ON CONFLICT DO NOTHING",
                    (owner, key, fingerprint, now),
                )
                if claimed.rowcount:
                    return None
                found = connection.execute(
                    "SELECT fingerprint, status, content_type, etag, body FROM answers "
                    "WHERE owner = %s AND key = %s",
                    (owner, key),
                ).fetchone()
                if found is not None:
                    of, status, content_type, etag, body = found
                    return KeptAnswer(of, status, content_type, etag, bytes(body))

        return self._database.transact(begin)

    def end_write(self, owner: str, key: str, answer: KeptAnswer | None) -> None:
        try:
            self._end(owner, key, answer)
        except DatabaseUnreachableError:
            # The key would count as one whose write still runs, and who tries again be refused.
            with self._lock:
                self._unended[owner, key] = (self._clock(), answer)
                if len(self._unended) > _UNENDED_KEPT:
                    self._unended.popitem(last=False)

    def settle(self) -> None:
        while self._unended:
            with self._lock:
                (owner, key), (at, answer) = next(iter(self._unended.items()))
            if self._clock() - at < CLAIM_S:
                # Later the claim may be that of somebody else.
                self._end(owner, key, answer)
            with self._lock:
                self._unended.pop((owner, key), None)

    def _end(self, owner: str, key: str, answer: KeptAnswer | None) -> None:
        def end(connection: Connection) -> None:
            # What was answered already is the answer to another write, which came after a claim ran out.
            if answer is None:
                connection.execute(
                    "DELETE FROM answers WHERE owner = %s AND key = %s AND status = 0", (owner, key)
                )
                return
            connection.execute(
                "UPDATE answers SET status = %s, content_type = %s, etag = %s, body = %s "
                "WHERE owner = %s AND key = %s AND status = 0",
                (answer.status, answer.content_type, answer.etag, answer.body, owner, key),
            )

        self._database.transact(end)

    def _sweep(self, connection: Connection, now: float) -> None:
        """Now and then, drop answers that nobody can ask for again."""
        if now - self._swept_at < _SWEEP_S:
            return
        self._swept_at = now
        connection.execute(
            "DELETE FROM answers WHERE ctid IN (SELECT ctid FROM answers WHERE at < %s LIMIT %s "
            "FOR UPDATE SKIP LOCKED)",
            (now - ANSWERS_KEPT_S, _SWEPT),
        )


def _entry(id_: int, at: float, entry: str) -> FeedbackEntry:
    return FeedbackEntry(id=id_, at=at, **json.loads(entry))
