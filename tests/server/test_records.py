"""Keys, feedback, usage and answers are kept alike in SQLite and in PostgreSQL."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.clock import Clock
from tests.postgres.support import upgraded_database
from toolsearch.api.keys import NewKey
from toolsearch.api.scopes import KeyScope
from toolsearch.api.usage import FeedbackBody, UsageDay
from toolsearch.exceptions import AccessDeniedError, DatabaseUnreachableError
from toolsearch.server.database import SqliteDatabase
from toolsearch.server.keys import KeyCheck, KeyStore, StoredKey, make_key
from toolsearch.server.records import KeptAnswer, Records


class Store(KeyStore, Records, Protocol):
    """What both databases are."""


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now_s = 1000.0
    return clock


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Callable[[], Store]]:
    """Opens the same database each time, as another process would."""
    with contextlib.ExitStack() as stack:
        if request.param == "postgres":
            url = stack.enter_context(upgraded_database())
            from toolsearch.postgres.database import PostgresDatabase
            from toolsearch.server.postgres_records import PostgresRecords

        def open_store() -> Store:
            if request.param == "sqlite":
                return stack.enter_context(SqliteDatabase(tmp_path / "service.db", clock=clock))
            return PostgresRecords(stack.enter_context(PostgresDatabase(url)), clock=clock)

        yield open_store


@pytest.fixture
def store(opened: Callable[[], Store]) -> Store:
    return opened()


def test_keys_are_listed_by_age_and_outlive_the_store(opened: Callable[[], Store]) -> None:
    first, second = opened(), opened()
    kept = [make_key(NewKey(name=f"key\x00{n}", deny=("*/delete_*",)), now=float(n))[0] for n in (2, 1, 3)]
    for key in kept:
        first.add_key(key)
    assert second.stored_keys() == (kept[1], kept[0], kept[2])
    assert second.remove_key(kept[0].entry.id)
    assert not first.remove_key(kept[0].entry.id)
    assert first.stored_keys() == (kept[1], kept[2])


def test_a_key_that_another_process_revokes_counts_no_more_within_a_second(
    opened: Callable[[], Store],
) -> None:
    one, other = opened(), opened()
    stored, made = make_key(NewKey(name="admin", scopes=frozenset({KeyScope.ADMIN})), now=0.0)
    stays, _ = make_key(NewKey(name="stays"), now=1.0)
    one.add_key(stored)
    one.add_key(stays)
    clock = Clock()
    check = KeyCheck(other, clock=clock)
    header = f"Bearer {made.secret}".encode()
    assert check.caller(header).key_id == stored.entry.id
    one.remove_key(stored.entry.id)
    clock.now_s += 1.0
    assert check.is_stale
    check.refresh()
    with pytest.raises(AccessDeniedError):
        check.caller(header)


def test_keys_count_on_for_an_hour_while_the_database_is_away(store: Store) -> None:
    class Reachable:
        def __init__(self) -> None:
            self.is_away = False

        def stored_keys(self) -> tuple[StoredKey, ...]:
            if self.is_away:
                raise DatabaseUnreachableError("postgresql://db/name", "does not answer in time")
            return store.stored_keys()

        add_key = store.add_key
        remove_key = store.remove_key

    stored, made = make_key(NewKey(name="admin", scopes=frozenset({KeyScope.ADMIN})), now=0.0)
    store.add_key(stored)
    clock, keys = Clock(), Reachable()
    check = KeyCheck(keys, clock=clock)
    keys.is_away = True
    header = f"Bearer {made.secret}".encode()
    for _ in range(2):
        clock.now_s += 1799
        assert check.is_stale
        check.refresh()
        assert check.caller(header).key_id == stored.entry.id
    clock.now_s += 2
    with pytest.raises(DatabaseUnreachableError):
        check.refresh()
    keys.is_away = False
    check.refresh()
    assert not check.is_stale
    keys.is_away = True
    with pytest.raises(DatabaseUnreachableError):
        KeyCheck(keys)


def test_feedback_is_read_by_tenant_in_the_order_in_which_it_came(store: Store, clock: Clock) -> None:
    bodies = [FeedbackBody(tool=f"t{n}", outcome="called", query=f"q\x00{n}") for n in range(5)]
    entries = []
    for body in bodies:
        entries.append(store.add_feedback("t", body))
        store.add_feedback("other", body)
        clock.now_s += 1
    assert [(entry.at, entry.query) for entry in entries] == [(1000.0 + n, f"q\x00{n}") for n in range(5)]
    assert store.feedback("t", after=0, limit=10) == tuple(entries)
    assert store.feedback("t", after=entries[1].id, limit=2) == tuple(entries[2:4])
    assert store.feedback("nobody", after=0, limit=10) == ()


def test_usage_adds_up_by_day_and_tenant_whoever_writes(opened: Callable[[], Store]) -> None:
    stores = [opened() for _ in range(4)]
    used = UsageDay(day="2026-01-31", searches=1, nothing_fits=2, returned_tokens=3, spared_tokens=4, calls=5)
    later = UsageDay(day="2026-02-01", searches=1)

    def add(store: Store, turn: int) -> None:
        days = {("t", used.day): used, ("t", later.day): later}
        for _ in range(10):
            store.add_usage(days if turn % 2 else dict(reversed(days.items())))

    threads = [threading.Thread(target=add, args=(store, turn)) for turn, store in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = UsageDay(
        day=used.day, searches=40, nothing_fits=80, returned_tokens=120, spared_tokens=160, calls=200
    )
    assert stores[0].usage("t", since="2026-01-01", until="2026-01-31") == (whole,)
    assert [day.day for day in stores[1].usage("t", since="2026-01-31", until="2026-12-31")] == [
        used.day,
        later.day,
    ]
    assert stores[0].usage("other", since="2026-01-01", until="2026-12-31") == ()


def test_the_latest_feedback_comes_first(store: Store, clock: Clock) -> None:
    kept = []
    for n in range(5):
        clock.now_s = 1000.0 + n
        kept.append(store.add_feedback("t", FeedbackBody(tool=f"tool{n}", outcome="called")))
        store.add_feedback("other", FeedbackBody(tool="hidden", outcome="called"))
    newest = store.latest_feedback("t", before=2**63 - 1, since=1001.0, limit=3)
    assert newest == (kept[4], kept[3], kept[2])
    assert store.latest_feedback("t", before=newest[-1].id, since=1001.0, limit=3) == (kept[1],)


def test_an_idempotency_key_is_claimed_once_by_all_processes(opened: Callable[[], Store]) -> None:
    stores = [opened() for _ in range(4)]
    claims: list[KeptAnswer | None] = []

    def claim(store: Store) -> None:
        claims.append(store.begin_write("owner", "k", "request"))

    threads = [threading.Thread(target=claim, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert claims.count(None) == 1
    assert [claim.is_running for claim in claims if claim is not None] == [True] * 3
    assert stores[0].begin_write("other owner", "k", "request") is None


def test_a_key_that_is_freed_can_be_claimed_again(store: Store) -> None:
    assert store.begin_write("o", "k", "request") is None
    store.end_write("o", "k", None)
    assert store.begin_write("o", "k", "another") is None


def test_a_write_whose_process_has_died_can_be_begun_again(store: Store, clock: Clock) -> None:
    assert store.begin_write("", "k", "request") is None
    clock.now_s += 599
    running = store.begin_write("", "k", "request")
    assert running is not None
    assert running.is_running
    clock.now_s += 2
    assert store.begin_write("", "k", "request") is None
    answer = KeptAnswer("request", 201, "application/json", '"etag"', b"\x00made")
    store.end_write("", "k", answer)
    clock.now_s += 24 * 3600 - 1
    assert store.begin_write("", "k", "request") == answer
    clock.now_s += 2
    assert store.begin_write("", "k", "request") is None
