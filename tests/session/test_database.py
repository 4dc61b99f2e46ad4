"""One transaction in an SQLite file: all or nothing, and no lock outlives it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from toolsearch.advisors.journal import SqliteCallJournal
from toolsearch.advisors.memory import SqliteConversationStore
from toolsearch.exceptions import StoreError
from toolsearch.messages import UserMessage
from toolsearch.session.database import connected, opened, transaction
from toolsearch.session.sqlite import SqliteSessionStore

Opens = Callable[[Path | str], object]
BY_CALL: list[Opens] = [SqliteConversationStore, SqliteCallJournal]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rows.sqlite"
    with opened(path) as cursor:
        cursor.execute("CREATE TABLE rows (n)")
        cursor.executemany("INSERT INTO rows VALUES (?)", [(n,) for n in range(1000)])
    return path


def count(path: Path) -> int:
    with closing(sqlite3.connect(path, timeout=0)) as database:
        return int(database.execute("SELECT count(*) FROM rows").fetchone()[0])


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_an_error_between_two_rows_leaves_no_lock_though_it_is_kept(path: Path, journal: str) -> None:
    """A logged or collected exception refers to the cursor that it came from."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA journal_mode = {journal}")
    database = connected(path)

    def fails() -> None:
        with transaction(database) as cursor:
            cursor.execute("DELETE FROM rows WHERE n < 10")
            for (n,) in cursor.execute("SELECT n FROM rows"):
                assert 1 / (n - 10)

    with pytest.raises(ZeroDivisionError) as kept:
        fails()
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("DELETE FROM rows WHERE n >= 990")
        other.execute("COMMIT")
    assert count(path) == 990
    assert kept.value.__traceback__
    database.close()


def test_a_commit_that_fails_leaves_the_connection_usable(path: Path) -> None:
    database = connected(path)
    database.execute("PRAGMA foreign_keys = ON")
    database.execute("CREATE TABLE a (n PRIMARY KEY)")
    database.execute("CREATE TABLE b (n REFERENCES a DEFERRABLE INITIALLY DEFERRED)")
    for _ in range(2):
        with pytest.raises(sqlite3.IntegrityError), transaction(database) as cursor:
            cursor.execute("INSERT INTO b VALUES (1)")
    with transaction(database) as cursor:
        assert cursor.execute("SELECT count(*) FROM b").fetchone() == (0,)
    database.close()


def test_a_message_that_cannot_be_read_keeps_nobody_from_writing(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite"
    store = SqliteConversationStore(path)
    store.append("bad", "", [UserMessage.of("a"), UserMessage.of("b")])
    with opened(path) as cursor:
        cursor.execute("UPDATE messages SET message = '{' WHERE position = 1")
    with pytest.raises(StoreError, match="holds a message that cannot be read") as caught:
        store.messages("bad", "")
    with closing(sqlite3.connect(path, timeout=0)) as other:
        other.execute("BEGIN EXCLUSIVE")
    store.append("good", "", [UserMessage.of("c")])
    assert store.messages("good", "") == (UserMessage.of("c"),)
    assert caught.value.path == path
    store.forget("bad", "")
    assert store.messages("bad", "") == ()


@pytest.mark.parametrize("store", BY_CALL)
@pytest.mark.parametrize("path", [":memory:", ""])
def test_a_database_that_is_gone_after_each_call_is_refused(store: Opens, path: str) -> None:
    with pytest.raises(ValueError, match=r"gone after each call. Use Memory\w+, or give a file"):
        store(path)


@pytest.mark.parametrize("store", [*BY_CALL, SqliteSessionStore])
@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE messages (a); CREATE TABLE resumed_runs (a); CREATE TABLE sessions (a)",
        "PRAGMA user_version = 2",
    ],
)
def test_a_file_in_another_form_is_refused_when_it_is_opened(
    store: Opens, script: str, tmp_path: Path
) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
    with pytest.raises(StoreError, match=r"another form|format 2") as caught:
        store(path)
    assert caught.value.path == path


def test_all_stores_may_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "all.sqlite"
    for _ in range(2):
        conversations, journal = SqliteConversationStore(path), SqliteCallJournal(path)
        with SqliteSessionStore(path) as sessions:
            sessions.discover("s", "", ["a"])
        conversations.append("s", "", [UserMessage.of("a")])
        journal.take("run", "me", over=True)
        journal.note("run", "me", "call", "{}")
    assert conversations.messages("s", "") == (UserMessage.of("a"),) * 2
    assert journal.take("run", "you", over=True) == {"call": "{}"}
