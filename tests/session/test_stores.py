"""A session store keeps what each conversation discovered, in order, and apart from every other."""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.clock import Clock
from tests.postgres.support import upgraded_database
from toolsearch.exceptions import StoreError
from toolsearch.session.base import SessionStore
from toolsearch.session.memory import MemorySessionStore
from toolsearch.session.sqlite import SqliteSessionStore

Open = Callable[[float | None], SessionStore]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Open]:
    with contextlib.ExitStack() as opened:
        if request.param == "postgres":
            url = opened.enter_context(upgraded_database())
            from toolsearch.postgres.database import PostgresDatabase
            from toolsearch.session.postgres import PostgresSessionStore

            database = opened.enter_context(PostgresDatabase(url))

        def open_store(ttl_s: float | None) -> SessionStore:
            if request.param == "memory":
                return MemorySessionStore(ttl_s=ttl_s, clock=clock)
            if request.param == "postgres":
                return PostgresSessionStore(database, ttl_s=ttl_s, clock=clock)
            file = SqliteSessionStore(tmp_path / "sessions.db", ttl_s=ttl_s, clock=clock)
            return opened.enter_context(file)

        yield open_store


@pytest.fixture
def store(opened: Open) -> SessionStore:
    return opened(None)


def test_names_stay_in_the_order_of_first_discovery(store: SessionStore) -> None:
    assert store.discover("s", "t", ["b", "a", "b"]) == ("b", "a")
    assert store.discover("s", "t", ["a", "c"]) == ("c",)
    assert store.discovered("s", "t") == ("b", "a", "c")


def test_a_session_that_is_not_known_has_discovered_nothing(store: SessionStore) -> None:
    assert store.discovered("s", "t") == ()
    store.forget("s", "t", ["a"])
    store.forget("s", "t")
    assert store.discovered("s", "t") == ()


@pytest.mark.parametrize(("tenant", "session"), [("t", "other"), ("other", "s"), ("ts", ""), ("", "ts")])
def test_sessions_and_tenants_share_nothing(store: SessionStore, tenant: str, session: str) -> None:
    store.discover("s", "t", ["pay"])
    store.settle("s", "t", "whole")
    assert store.discovered(session, tenant) == ()
    assert store.settle(session, tenant, "search") == "search"


def test_a_forgotten_name_that_is_found_again_comes_last(store: SessionStore) -> None:
    store.discover("s", "t", ["a", "b"])
    store.forget("s", "t", ["a"])
    assert store.discover("s", "t", ["a"]) == ("a",)
    assert store.discovered("s", "t") == ("b", "a")


def test_a_forgotten_session_begins_anew(store: SessionStore) -> None:
    store.discover("s", "t", ["a"])
    store.settle("s", "t", "whole")
    store.forget("s", "t")
    assert store.discovered("s", "t") == ()
    assert store.settle("s", "t", "search") == "search"


def test_the_first_choice_holds(store: SessionStore) -> None:
    assert store.settle("s", "t", "whole") == "whole"
    store.discover("s", "t", ["a"])
    assert store.settle("s", "t", "search") == "whole"


def test_a_session_is_forgotten_after_its_time_without_use(opened: Open, clock: Clock) -> None:
    store = opened(10)
    store.discover("idle", "t", ["a"])
    store.discover("busy", "t", ["b"])
    clock.now_s += 9
    assert store.discovered("busy", "t") == ("b",)
    clock.now_s += 2
    assert store.discovered("idle", "t") == ()
    assert store.discovered("busy", "t") == ("b",)


def test_threads_lose_no_name(store: SessionStore) -> None:
    def discover(worker: int) -> None:
        for i in range(20):
            store.discover("s", "t", [f"tool_{worker}_{i}"])

    threads = [threading.Thread(target=discover, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = store.discovered("s", "t")
    assert sorted(names) == sorted(f"tool_{worker}_{i}" for worker in range(4) for i in range(20))


def test_memory_keeps_only_the_sessions_that_were_used_last() -> None:
    """(E155) 10,000 sessions do not grow it."""
    store = MemorySessionStore(max_sessions=100)
    for i in range(10_000):
        store.discover(f"s{i}", "t", ["a"])
        store.discovered("s0", "t")
    assert store.n_sessions == 100
    assert store.discovered("s0", "t") == ("a",)
    assert store.discovered("s9900", "t") == ()
    assert store.discovered("s9999", "t") == ("a",)


def test_a_file_outlives_its_store_and_is_shared(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with SqliteSessionStore(path) as first, SqliteSessionStore(path) as second:
        first.discover("s", "t", ["b"])
        assert second.discover("s", "t", ["b", "a"]) == ("a",)
        second.settle("s", "t", "search")
    with SqliteSessionStore(path) as later:
        assert later.discovered("s", "t") == ("b", "a")
        assert later.settle("s", "t", "whole") == "search"


@pytest.mark.parametrize(("max_sessions", "ttl_s"), [(0, None), (1, 0), (1, -1)])
def test_a_bound_that_keeps_nothing_is_refused(max_sessions: int, ttl_s: float | None) -> None:
    with pytest.raises(ValueError, match="it must be a"):
        MemorySessionStore(max_sessions=max_sessions, ttl_s=ttl_s)


def test_a_file_is_opened_while_another_process_begins_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite gives up at once on the change to a write-ahead log, however long it is told to wait."""
    path = tmp_path / "sessions.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("CREATE TABLE other (x)")
    other.execute("BEGIN IMMEDIATE")
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        other.close()

    monkeypatch.setattr(time, "sleep", wait)
    with SqliteSessionStore(path) as store:
        store.discover("s", "t", ["a"])
    assert len(waited) == 1


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("CREATE TABLE sessions (id TEXT)", "has 'sessions' in another form"),
        ("PRAGMA user_version = 7", "has format 7, and this release reads 1"),
    ],
)
def test_a_file_in_another_form_is_refused(tmp_path: Path, script: str, problem: str) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
    with pytest.raises(StoreError, match=problem) as caught:
        SqliteSessionStore(path)
    assert caught.value.path == path


def test_a_store_in_a_database_in_memory_works_as_long_as_it_is_open() -> None:
    with SqliteSessionStore(":memory:") as store:
        store.discover("s", "t", ["a"])
        assert store.discovered("s", "t") == ("a",)
