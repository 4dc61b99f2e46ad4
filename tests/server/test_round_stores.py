"""What sessions did is kept alike in both databases."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.postgres.support import upgraded_database
from toolsearch.server.round_store import SqliteRoundStore
from toolsearch.server.rounds import RoundStore, SessionEvent, StoredEvents

NOW = [0.0]
TOOLS = SessionEvent(
    kind="tools", names=("a__b",), form="anthropic", delivery="append", built_in=("x",), tokens=7
)
SEARCH = SessionEvent(kind="search", names=("é\0",), queries=("some\0thing", "é"), is_error=True, tokens=3)


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], RoundStore]]:
    """Opens the same database each time, as another process would; it keeps 4 events for 10 seconds."""
    NOW[0] = 0.0
    given: dict[str, Any] = {"ttl_s": 10.0, "kept": 4, "clock": lambda: NOW[0]}
    with contextlib.ExitStack() as stack:
        if request.param == "postgres":
            url = stack.enter_context(upgraded_database())
            from toolsearch.postgres.database import PostgresDatabase
            from toolsearch.server.postgres_rounds import PostgresRoundStore

        def open_store() -> RoundStore:
            if request.param == "sqlite":
                return stack.enter_context(SqliteRoundStore(tmp_path / "service.db", **given))
            return PostgresRoundStore(stack.enter_context(PostgresDatabase(url)), **given)

        yield open_store


def test_events_come_back_as_they_were_in_any_process(opened: Callable[[], RoundStore]) -> None:
    opened().add_events([("t", "s", TOOLS), ("t", "s", SEARCH)])
    stored = opened().events("t", "s", limit=9)
    assert stored.events == (TOOLS, SEARCH)
    assert stored.rounds_total == 1
    assert stored.last_id > 0


def test_the_newest_events_come_in_their_order_and_all_rounds_are_counted(
    opened: Callable[[], RoundStore],
) -> None:
    store = opened()
    store.add_events([("t", "s", SessionEvent(kind="tools", names=(name,))) for name in "abc"])
    stored = store.events("t", "s", limit=2)
    assert [event.names for event in stored.events] == [("b",), ("c",)]
    assert stored.rounds_total == 3


def test_tenants_and_sessions_have_their_own(opened: Callable[[], RoundStore]) -> None:
    store = opened()
    store.add_events([("t", "s", TOOLS), ("t", "other", SEARCH), ("u", "s", SEARCH)])
    assert store.events("t", "s", limit=9).events == (TOOLS,)
    assert store.events("u", "s", limit=9).events == (SEARCH,)
    assert store.events("u", "other", limit=9) == StoredEvents()
    store.drop("t", "s")
    assert store.events("t", "s", limit=9) == StoredEvents()
    assert store.events("u", "s", limit=9).events == (SEARCH,)


def test_sessions_are_listed_by_their_last_event_in_pages(opened: Callable[[], RoundStore]) -> None:
    store = opened()
    for session, event, at in (
        ("s1", TOOLS, 1.0),
        ("s2", SEARCH, 2.0),
        ("s1", SEARCH, 3.0),
        ("s3", TOOLS, 4.0),
    ):
        store.add_events([("t", session, SessionEvent(**{**vars(event), "at": at}))])
    first = store.sessions("t", before=2**63 - 1, limit=2)
    assert [(each.id, each.rounds, each.searches) for _, each in first] == [("s3", 1, 0), ("s1", 1, 1)]
    assert (first[1][1].began_at, first[1][1].last_at) == (1.0, 3.0)
    assert [each.id for _, each in store.sessions("t", before=first[1][0], limit=9)] == ["s2"]
    assert store.sessions("u", before=2**63 - 1, limit=9) == ()


def test_old_events_and_too_many_are_dropped_with_the_next_ones(opened: Callable[[], RoundStore]) -> None:
    store = opened()
    store.add_events([("t", "old", TOOLS), ("t", "new", SessionEvent(kind="tools", at=8.0))])
    NOW[0] = 11.0
    store.add_events([("t", "new", SessionEvent(kind="tools", at=11.0))])
    assert store.events("t", "old", limit=9) == StoredEvents()
    assert store.events("t", "new", limit=9).rounds_total == 2
    store.add_events([("u", "many", SessionEvent(kind="tools", at=11.0))] * 6)
    assert store.events("u", "many", limit=9).rounds_total == 4
    assert store.events("t", "new", limit=9) == StoredEvents()
