"""The service learns from feedback and calls, tenant by tenant, if it is told to."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.clock import Clock
from tests.postgres.support import upgraded_database
from tests.retrieval.support import OFFICE
from tests.server.support import Served, service
from toolsearch import Client, ToolFailed, tool
from toolsearch.api.scopes import KeyScope
from toolsearch.api.usage import FeedbackBody
from toolsearch.exceptions import EmbeddingError, ServiceError
from toolsearch.retrieval.usage import UsageEvent
from toolsearch.server.database import SqliteDatabase
from toolsearch.server.learning import UsageStore
from toolsearch.server.retention import Retention
from toolsearch.server.usage_store import SqliteUsageStore
from toolsearch.testing import FlakyEmbedder, HashingEmbedder

JARGON = "run the tps ritual for acme"


@tool
def ritual(day: str) -> str:
    """The ritual of a day."""
    if day == "sunday":
        raise ToolFailed("not on sundays")
    return day


@pytest.fixture
def served() -> Iterator[Served]:
    with service(learn=True) as served:
        yield served


def teach(served: Served, tool: str, *, by: Any = None, times: int = 3, **more: Any) -> None:
    for i in range(times):
        body = {"tool": tool, "outcome": "succeeded", "query": JARGON, "session_id": f"s{i}", **more}
        response = (by or served.http).post("/v1/feedback", json=body)
        assert response.status_code == 201, response.text


def usage_of(http: Any, query: str = JARGON) -> dict[str, float]:
    body = {"queries": query, "k": len(OFFICE), "explain": True}
    hits = http.post("/v1/search", json=body).json()["hits"]
    return {hit["name"]: hit["channels"]["usage"] for hit in hits if hit["channels"].get("usage")}


def test_feedback_counts_from_the_next_search_on(served: Served) -> None:
    assert usage_of(served.http) == {}
    teach(served, "files__search")
    assert set(usage_of(served.http)) == {"files__search"}
    assert usage_of(served.http, "something else entirely") == {}


@pytest.mark.parametrize(("reach", "place"), [(1.0, 1), (2.0, 0)])
def test_a_reach_of_one_leaves_the_best_hit_and_lifts_below_it(reach: float, place: int) -> None:
    body = {"queries": "send an email to a customer", "k": len(OFFICE)}
    with service(learn=True, learn_reach=reach) as served:
        before = [hit["name"] for hit in served.http.post("/v1/search", json=body).json()["hits"]]
        teach(served, before[5], times=9, query=body["queries"])
        after = [hit["name"] for hit in served.http.post("/v1/search", json=body).json()["hits"]]
    assert after.index(before[5]) == place
    assert [name for name in after if name != before[5]] == [name for name in before if name != before[5]]


def test_judgements_lift_and_sink_tools(served: Served) -> None:
    def ranked(http: httpx.Client) -> list[str]:
        body = {"queries": JARGON, "k": len(OFFICE)}
        return [hit["name"] for hit in http.post("/v1/search", json=body).json()["hits"]]

    one, other = (served.as_key(served.key(tenant=name)) for name in ("acme", "globex"))
    before = ranked(one)
    last = before[-1]
    teach(served, last, by=one, outcome="relevant")
    lifted = ranked(one)
    assert lifted.index(last) < len(before) - 1
    assert [name for name in lifted if name != last] == before[:-1]
    teach(served, last, by=one, outcome="irrelevant")
    assert ranked(one) == before
    assert ranked(other) == before


def test_without_the_setting_nothing_is_learned() -> None:
    with service() as served:
        teach(served, "files__search")
        assert usage_of(served.http) == {}
        assert served.app.state.service.learning is None


def test_tenants_never_mix(served: Served) -> None:
    one, two, other = (served.as_key(served.key(tenant=name)) for name in ("acme", "acme", "globex"))
    teach(served, "files__search", by=one)
    assert set(usage_of(two)) == {"files__search"}
    assert usage_of(other) == {}
    plain = [hit["score"] for hit in other.post("/v1/search", json={"queries": JARGON}).json()["hits"]]
    with service() as never:
        hits = never.http.post("/v1/search", json={"queries": JARGON}).json()["hits"]
        assert plain == [hit["score"] for hit in hits]


def test_a_key_is_not_shown_what_another_of_its_tenant_taught_of_hidden_tools(served: Served) -> None:
    whole = served.as_key(served.key(tenant="acme"))
    part = served.as_key(served.key(tenant="acme", sources=("mail",)))
    teach(served, "files__search", by=whole)
    assert "files" not in part.post("/v1/search", json={"queries": JARGON, "k": 7}).text


def test_the_query_of_a_session_is_that_of_the_search_that_found_the_tool(served: Served) -> None:
    queries = [JARGON, "the weather of a city"]
    for i in range(3):
        path = f"/v1/sessions/s{i}/search"
        found = served.http.post(path, json={"arguments": {"queries": queries, "limit": 20}}).json()
        assert "geo__get_weather" in found["discovered"]
        body = {"tool": "geo__get_weather", "outcome": "called", "session_id": f"s{i}"}
        assert served.http.post("/v1/feedback", json=body).status_code == 201
    assert usage_of(served.http, queries[1]) != {}
    body = {"tool": "web__search", "outcome": "called", "session_id": "unknown"}
    assert served.http.post("/v1/feedback", json=body).status_code == 201


def test_a_session_that_has_ended_is_not_asked_any_more(served: Served) -> None:
    arguments = {"arguments": {"queries": ["the weather of a city"]}}
    served.http.post("/v1/sessions/s/search", json=arguments)
    served.http.delete("/v1/sessions/s")
    body = {"tool": "geo__get_weather", "outcome": "succeeded", "session_id": "s"}
    served.http.post("/v1/feedback", json=body)
    assert usage_of(served.http, "the weather of a city") == {}


def test_calls_of_sessions_are_kept_as_feedback_and_learned() -> None:
    with service((*OFFICE, ritual), callable_tools=(ritual,), learn=True) as served:
        for session, day in (("s1", "friday"), ("s2", "sunday")):
            arguments = {"arguments": {"queries": ["the ritual of a day"], "limit": 1}}
            found = served.http.post(f"/v1/sessions/{session}/search", json=arguments).json()
            assert found["discovered"] == ["ritual"]
            call = {"name": "ritual", "arguments": {"day": day}, "session_id": session}
            assert served.http.post("/v1/calls", json=call).status_code == 200
        entries = served.http.get("/v1/feedback").json()["feedback"]
        assert [(e["tool"], e["outcome"], e["session_id"]) for e in entries] == [
            ("ritual", "succeeded", "s1"),
            ("ritual", "failed", "s2"),
        ]
        assert set(usage_of(served.http, "the ritual of a day")) == {"ritual"}


def test_what_a_tool_gave_is_told_though_nothing_can_be_learned_of_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A failure would have the caller run it again: the tool is gone by then, or the disk is full."""

    @tool
    def vanishing() -> str:
        """A tool that takes itself out of the catalog."""
        assert running.http.delete("/v1/tools/vanishing").status_code == 204
        return "ran"

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk is full at /secret")

    with service((*OFFICE, vanishing, ritual), callable_tools=(vanishing, ritual), learn=True) as running:
        done = running.http.post("/v1/calls", json={"name": "vanishing"})
        assert (done.status_code, done.json().get("text")) == (200, "ran")
        monkeypatch.setattr(running.app.state.service.records, "add_feedback", fail)
        done = running.http.post("/v1/calls", json={"name": "ritual", "arguments": {"day": "friday"}})
        assert (done.status_code, done.json().get("text")) == (200, "friday")
    told = [record.getMessage() for record in caplog.records if "of a call" in record.getMessage()]
    assert [text.rpartition(" ")[2] for text in told] == ["UnknownToolError", "OperationalError"]


def test_texts_of_queries_are_kept_only_where_that_is_set(tmp_path: Path) -> None:
    for keep, kept in ((False, ""), (True, JARGON)):
        path = tmp_path / f"{keep}.db"
        with service(learn=True, keep_queries=keep, database=path) as served:
            teach(served, "files__search", times=1)
            assert served.http.get("/v1/feedback").json()["feedback"][0]["query"] == kept
        on_disk = b"".join(file.read_bytes() for file in tmp_path.glob(f"{keep}.db*"))
        assert (b"ritual" in on_disk) == keep


def test_what_was_learned_outlives_the_service(tmp_path: Path) -> None:
    with service(learn=True, database=tmp_path / "s.db") as served:
        teach(served, "files__search")
        before = usage_of(served.http)
    with service(learn=True, database=tmp_path / "s.db") as served:
        learning = served.app.state.service.learning
        learning.refresh()
        assert usage_of(served.http).keys() == before.keys()
        learned = len(learning.usage)
        teach(served, "files__search")
        learning.refresh()
        assert len(learning.usage) == learned == 3


def test_services_on_one_database_learn_from_each_other(tmp_path: Path) -> None:
    with (
        service(learn=True, database=tmp_path / "s.db") as one,
        service(learn=True, database=tmp_path / "s.db") as two,
    ):
        first, second = (each.app.state.service.learning for each in (one, two))
        teach(one, "files__search")
        second.refresh()
        assert set(usage_of(two.http)) == {"files__search"}
        assert two.http.delete("/v1/feedback").status_code == 204
        first.refresh()
        assert usage_of(one.http) == {}


def test_a_tenant_forgets_its_feedback_and_what_it_taught(served: Served) -> None:
    acme = served.key(KeyScope.SEARCH, KeyScope.MANAGE, tenant="acme")
    globex, admin = served.key(tenant="globex"), served.key(KeyScope.ADMIN)
    one, other = served.as_key(acme), served.as_key(globex)
    for client in (one, other):
        teach(served, "files__search", by=client)
    with Client(served.url, api_key=acme) as whole:
        whole.delete_feedback()
        with pytest.raises(ServiceError) as caught:
            whole.delete_feedback("globex")
        assert caught.value.status == 403
    assert one.get("/v1/feedback").json()["feedback"] == []
    assert (usage_of(one), set(usage_of(other))) == ({}, {"files__search"})
    assert other.delete("/v1/feedback").status_code == 403
    with Client(served.url, api_key=admin) as whole:
        whole.delete_feedback("globex")
    assert usage_of(other) == {}


def test_a_tool_that_changes_starts_anew(served: Served) -> None:
    teach(served, "files__search")
    patch = {"description": "Search files, and send what it finds elsewhere."}
    assert served.http.patch("/v1/tools/files__search", json=patch).status_code == 200
    assert usage_of(served.http) == {}
    teach(served, "files__search")
    assert set(usage_of(served.http)) == {"files__search"}


def test_feedback_is_dropped_when_it_is_old_or_too_much() -> None:
    clock = Clock()
    with SqliteDatabase(clock=clock) as records:
        for tenant in ("a", "b"):
            for _ in range(3):
                records.add_feedback(tenant, FeedbackBody(tool="t", outcome="called"))
        retention = Retention(records, days=1, clock=clock)
        records.trim_feedback(before=0, keeping=2)
        assert [len(records.feedback(tenant, after=0, limit=9)) for tenant in "ab"] == [2, 2]
        retention.sweep()
        clock.now_s = 24 * 3600.0 + 1
        records.add_feedback("b", FeedbackBody(tool="t", outcome="called"))
        retention.sweep()
        assert [len(records.feedback(tenant, after=0, limit=9)) for tenant in "ab"] == [0, 1]


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., UsageStore]]:
    """Opens the same store each time, as another process would."""
    with contextlib.ExitStack() as stack:
        if request.param == "postgres":
            url = stack.enter_context(upgraded_database())
            from toolsearch.postgres.database import PostgresDatabase
            from toolsearch.server.postgres_usage import PostgresUsageStore

        def open_store(**options: Any) -> UsageStore:
            if request.param == "sqlite":
                return stack.enter_context(SqliteUsageStore(tmp_path / "s.db", **options))
            return PostgresUsageStore(stack.enter_context(PostgresDatabase(url)), **options)

        yield open_store


def event(number: int, *, tenant: str = "acme", at: float = 0.0) -> UsageEvent:
    vector = np.eye(8, dtype=np.float32)[number % 8]
    return UsageEvent(
        f"tool{number}", b"\x00\x01", "called", vector, session_id=f"s{number}", tenant=tenant, at=at
    )


def test_events_are_read_in_their_order_by_who_has_the_same_embedder(opened: Any) -> None:
    writer, reader = opened(ttl_s=10.0, clock=Clock()), opened(ttl_s=10.0, clock=Clock())
    writer.add_events([event(0), event(1)], "one")
    writer.add_events([event(2)], "two")
    found = reader.events("one", after=0, limit=9)
    assert [entry.event.tool for entry in found] == ["tool0", "tool1"]
    first = found[0].event
    assert (first.document, first.outcome, first.session_id, first.tenant) == (
        b"\x00\x01",
        "called",
        "s0",
        "acme",
    )
    assert np.array_equal(first.vector, event(0).vector)
    assert [entry.event.tool for entry in reader.events("one", after=found[0].id, limit=9)] == ["tool1"]
    assert len(reader.events("one", after=0, limit=1)) == 1
    assert reader.newest_id(keeping=1) == found[1].id
    assert reader.newest_id(keeping=9) == 0


def test_events_of_a_tenant_are_forgotten_and_who_reads_on_hears_of_it(opened: Any) -> None:
    store = opened(ttl_s=10.0, clock=Clock())
    store.add_events([event(0), event(1, tenant="globex")], "one")
    store.forget("acme")
    found = store.events("one", after=0, limit=9)
    assert [(entry.tenant, entry.event is None) for entry in found] == [("globex", False), ("acme", True)]


def test_old_events_and_too_many_are_dropped(opened: Any) -> None:
    clock = Clock()
    store = opened(ttl_s=10.0, kept=2, clock=clock)
    store.add_events([event(n) for n in range(4)], "one")
    assert [entry.event.tool for entry in store.events("one", after=0, limit=9)] == ["tool2", "tool3"]
    clock.now_s = 11.0
    assert store.events("one", after=0, limit=9) == ()
    store.add_events([event(5, at=11.0)], "one")
    assert [entry.event.tool for entry in store.events("one", after=0, limit=9)] == ["tool5"]


def test_feedback_is_kept_though_the_encoder_fails() -> None:
    embedder = FlakyEmbedder(HashingEmbedder())
    with service(learn=True, embedder=embedder) as served:
        embedder.failures = [EmbeddingError("down")]
        teach(served, "files__search", times=1)
        assert len(served.http.get("/v1/feedback").json()["feedback"]) == 1
        assert usage_of(served.http) == {}
        teach(served, "files__search", times=1)
        assert set(usage_of(served.http)) == {"files__search"}


def test_feedback_whose_lesson_cannot_be_kept_is_a_problem(served: Served, monkeypatch: Any) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk is full at /secret")

    monkeypatch.setattr(served.app.state.service.learning._store, "add_events", fail)
    body = {"tool": "web__search", "outcome": "called", "query": JARGON}
    response = served.http.post("/v1/feedback", json=body)
    assert response.status_code == 503
    assert "/secret" not in response.text
