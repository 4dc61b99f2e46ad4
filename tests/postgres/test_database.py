"""Transactions count once or not at all, whatever is in their way."""

import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.server.support import until
from toolsearch.exceptions import DatabaseUnreachableError
from toolsearch.postgres.url import DatabaseUrl

pytest.importorskip("psycopg", reason="needs the extra postgres")

import psycopg

from toolsearch.postgres.database import Connection, PostgresDatabase
from toolsearch.postgres.watch import DatabaseWatch


@pytest.fixture
def database(url: DatabaseUrl) -> Iterator[PostgresDatabase]:
    with PostgresDatabase(url) as database:
        database.transact(lambda c: c.execute("CREATE TABLE public.counts (id int PRIMARY KEY, n int)"))
        database.transact(lambda c: c.execute("INSERT INTO counts VALUES (1, 0), (2, 0)"))
        yield database


def end_connections(url: DatabaseUrl) -> None:
    """As a restart of the server does; the server itself stays."""
    with psycopg.connect(url.text, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def add(connection: Connection, row: int = 1) -> None:
    connection.execute("UPDATE counts SET n = n + 1 WHERE id = %s", (row,))


def count(database: PostgresDatabase) -> int:
    return int(database.read("SELECT sum(n) FROM counts")[0][0])


def test_a_transaction_whose_connection_breaks_is_carried_out_again(
    url: DatabaseUrl, database: PostgresDatabase
) -> None:
    tries: list[int] = []

    def work(connection: Connection) -> None:
        add(connection)
        tries.append(1)
        if len(tries) == 1:
            end_connections(url)
        add(connection)

    database.transact(work)
    assert (len(tries), count(database)) == (2, 2)


def test_connections_that_broke_while_idle_are_not_used(url: DatabaseUrl, database: PostgresDatabase) -> None:
    end_connections(url)
    database.transact(add)
    assert count(database) == 1


def test_transactions_that_wait_for_each_other_all_count(database: PostgresDatabase) -> None:
    """PostgreSQL ends one of two that are locked in; that one is carried out again."""
    first = threading.Barrier(2)

    def cross(one: int, other: int) -> None:
        def work(connection: Connection) -> None:
            add(connection, one)
            with suppress(threading.BrokenBarrierError):
                first.wait(timeout=5)
            first.abort()
            add(connection, other)

        database.transact(work)

    threads = [threading.Thread(target=cross, args=rows) for rows in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(database) == 4


def test_an_error_of_the_work_undoes_it(database: PostgresDatabase) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        database.transact(work)
    assert count(database) == 0


def test_a_statement_takes_no_longer_than_it_may(database: PostgresDatabase) -> None:
    with pytest.raises(DatabaseUnreachableError, match="57014"):
        database.transact(lambda c: c.execute("SELECT pg_sleep(60)"), statement_s=0.1)
    assert not database.is_away


def test_a_commit_that_breaks_may_count_and_is_not_carried_out_again(
    url: DatabaseUrl, database: PostgresDatabase
) -> None:
    database.transact(
        lambda c: c.execute(
            "CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'; "
            "CREATE CONSTRAINT TRIGGER waits AFTER UPDATE ON counts DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION wait()"
        )
    )
    tries: list[int] = []

    def work(connection: Connection) -> None:
        tries.append(1)
        add(connection)

    def end_it() -> None:
        with psycopg.connect(url.text, autocommit=True) as other:
            is_waiting = (
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query = 'COMMIT'"
            )
            until(lambda: other.execute(is_waiting).fetchall() == [(1,)])
        end_connections(url)

    ending = threading.Thread(target=end_it)
    ending.start()
    with pytest.raises(DatabaseUnreachableError):
        database.transact(work, statement_s=60)
    ending.join()
    assert tries == [1]


def heard(database: PostgresDatabase, *, poll_s: float) -> tuple[DatabaseWatch, list[int]]:
    counts: list[int] = []
    watch = DatabaseWatch(database, lambda: counts.append(count(database)), poll_s=poll_s)
    watch.start()
    until(lambda: counts == [0])
    return watch, counts


def test_a_notification_is_heard_without_asking(database: PostgresDatabase) -> None:
    watch, counts = heard(database, poll_s=3600)
    try:
        database.transact(lambda c: c.execute("UPDATE counts SET n = 1 WHERE id = 1; NOTIFY toolsearch"))
        until(lambda: counts == [0, 1])
    finally:
        watch.stop()


def test_a_change_that_was_not_notified_is_found_by_asking(database: PostgresDatabase) -> None:
    watch, counts = heard(database, poll_s=0.1)
    try:
        database.transact(add)
        until(lambda: counts[-1] == 1)
    finally:
        watch.stop()


def test_what_is_missed_while_the_connection_is_gone_is_asked_for(
    url: DatabaseUrl, database: PostgresDatabase
) -> None:
    watch, counts = heard(database, poll_s=3600)
    try:
        with psycopg.connect(url.text, autocommit=True) as other:
            other.execute("UPDATE counts SET n = n + 1")
        assert counts == [0]
        end_connections(url)
        until(lambda: counts[-1] == 2)
        assert not database.is_away
    finally:
        watch.stop()


def test_a_watch_goes_on_after_an_error_of_who_is_told(database: PostgresDatabase) -> None:
    told: list[int] = []

    def fail() -> None:
        told.append(1)
        raise ValueError("no")

    watch = DatabaseWatch(database, fail, poll_s=0.05)
    watch.start()
    try:
        until(lambda: len(told) > 3)
    finally:
        watch.stop()
