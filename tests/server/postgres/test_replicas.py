"""Replicas on one database: what one changes the others know, and nothing that was acknowledged is lost."""

import statistics
import threading
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.postgres.support import Load, definition, names, replicas
from tests.server.support import OFFICE_NAMES, Served, until
from toolsearch.api.scopes import KeyScope
from toolsearch.exceptions import DatabaseUnreachableError
from toolsearch.postgres.url import DatabaseUrl
from toolsearch.testing import HashingEmbedder

HEARD_WITHIN_S = 1.0
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def two(url: DatabaseUrl) -> Iterator[list[Served]]:
    with replicas(url) as served:
        yield served


def test_a_change_on_one_replica_is_seen_on_the_other(two: list[Served]) -> None:
    """Much sooner than by asking now and then, which is what a lost notification costs."""
    one, other = two
    times = []

    def told(served: Served) -> object:
        return served.http.get("/v1/tools/net__ping").json().get("definition", {}).get("description")

    for turn in range(5):
        body = definition("ping", text=f"Ping a host, way {turn}.")
        assert one.http.put("/v1/tools/net__ping", json=body).status_code in {200, 201}
        began = time.monotonic()
        until(lambda: told(other) == body["description"])  # noqa: B023 - it is asked at once
        times.append(time.monotonic() - began)
    assert statistics.median(times) < HEARD_WITHIN_S, times
    assert other.http.post("/v1/search", json={"queries": "ping"}).json()["hits"][0]["name"] == "net__ping"
    assert one.http.delete("/v1/tools/net__ping").status_code == 204
    until(lambda: other.http.get("/v1/tools/net__ping").status_code == 404)
    assert names(other.http) == set(OFFICE_NAMES)


def test_replicas_answer_alike_to_the_last_digit(two: list[Served]) -> None:
    one, other = two
    odd = rb'{"name": "ping", "server": "net", "description": "Half a character: \ud800, none: \u0000"}'
    assert one.http.post("/v1/tools/bulk", content=odd, headers=JSON).json()["added"] == 1
    one.http.post("/v1/tools/bulk", content=b'{"name": "pong", "server": "net"}\n')
    one.http.delete(f"/v1/tools/{OFFICE_NAMES[0]}")

    def answers(served: Served) -> list[object]:
        found = [
            served.http.post("/v1/search", json={"queries": query, "form": "own"}).json()
            for query in ("send mail to a customer", "ping", "what is on my calendar", "nothing of the kind")
        ]
        for answer in found:
            del answer["took_ms"], answer["timings_ms"]
        catalog = served.http.get("/v1/catalogs/default")
        return [*found, catalog.json(), catalog.headers["etag"]]

    until(lambda: answers(other)[-1] == answers(one)[-1])
    assert answers(other) == answers(one)


def test_versions_hold_across_replicas(two: list[Served]) -> None:
    """A change is judged by what is in the database, not by what the replica has heard of."""
    one, other = two
    for turn in range(5):
        made = one.http.put("/v1/tools/net__ping", json=definition("ping", text=f"One {turn}."))
        stale, fresh = made.headers["etag"], {"If-Match": made.headers["etag"]}
        put = other.http.put(
            "/v1/tools/net__ping", json=definition("ping", text=f"Two {turn}."), headers=fresh
        )
        assert put.status_code == 200
        patched = one.http.patch(
            "/v1/tools/net__ping", json={"title": "Ping"}, headers={"If-Match": put.headers["etag"]}
        )
        assert patched.status_code == 200
        assert other.http.delete("/v1/tools/net__ping", headers={"If-Match": stale}).status_code == 412
        assert (
            other.http.put(
                "/v1/tools/net__ping", json=definition("ping"), headers={"If-None-Match": "*"}
            ).status_code
            == 412
        )


def test_two_replicas_that_write_at_once_lose_nothing(two: list[Served]) -> None:
    kept: list[str] = []

    def write(served: Served, writer: int) -> None:
        for turn in range(15):
            name = f"tool_{writer}_{turn}"
            if served.http.put(f"/v1/tools/net__{name}", json=definition(name)).status_code == 201:
                kept.append(f"net__{name}")

    threads = [threading.Thread(target=write, args=(two[n % 2], n)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == 60
    for served in two:
        until(lambda: names(served.http) == {*OFFICE_NAMES, *kept})  # noqa: B023 - it is asked at once


def test_of_two_who_change_one_version_one_is_told(two: list[Served]) -> None:
    first = two[0].http.put("/v1/tools/net__ping", json=definition("ping")).headers["etag"]
    statuses: list[int] = []

    def change(served: Served, text: str) -> None:
        body = definition("ping", text=text)
        statuses.append(
            served.http.put("/v1/tools/net__ping", json=body, headers={"If-Match": first}).status_code
        )

    threads = [threading.Thread(target=change, args=(two[n % 2], f"Way {n}.")) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, *[412] * 5]


def test_the_catalog_changes_under_searches_on_every_replica(two: list[Served]) -> None:
    one, other = two
    counts: list[int] = []

    def search(served: Served) -> None:
        response = served.http.post("/v1/search", json={"queries": "send mail to a customer", "k": 3})
        assert response.status_code == 200, response.text
        hits = [hit["name"] for hit in response.json()["hits"]]
        assert hits[0] == "mail__send_email", hits
        counts.append(len(hits))

    with Load(lambda: search(one), lambda: search(other), lambda: search(other)) as load:
        for turn in range(10):
            writer = two[turn % 2].http
            assert writer.put(f"/v1/tools/net__t{turn}", json=definition(f"t{turn}")).status_code == 201
        assert one.http.delete("/v1/sources/net").status_code == 204
        until(lambda: names(other.http) == set(OFFICE_NAMES))
    assert load.errors == []
    assert len(counts) > 10


def test_a_key_that_is_revoked_on_one_replica_counts_on_none(two: list[Served]) -> None:
    one, other = two
    admin, times = one.as_key(one.key(KeyScope.ADMIN)), []
    for _ in range(5):
        key = one.key()
        there = other.as_key(key)
        until(lambda: there.get("/v1/sources").status_code == 200)  # noqa: B023 - it is asked at once
        entries = admin.get("/v1/keys").json()["keys"]
        revoked = next(entry["id"] for entry in entries if key.startswith(f"ts_{entry['id']}"))
        assert admin.delete(f"/v1/keys/{revoked}").status_code == 204
        began = time.monotonic()
        assert one.as_key(key).get("/v1/sources").status_code == 401
        until(lambda: there.get("/v1/sources").status_code == 401)  # noqa: B023
        times.append(time.monotonic() - began)
    assert statistics.median(times) < HEARD_WITHIN_S, times


def test_sessions_and_idempotency_keys_are_of_all_replicas(two: list[Served]) -> None:
    one, other = two
    assert one.http.post("/v1/sessions/s/load", json={"names": ["web__search"]}).status_code == 200
    found = other.http.post("/v1/sessions/s/load", json={"names": ["mail__send_email"]}).json()
    assert found["discovered"] == ["web__search", "mail__send_email"]
    key = {"Idempotency-Key": "k"}
    body = {"tool": "web__search", "outcome": "called"}
    first = one.http.post("/v1/feedback", json=body, headers=key)
    again = other.http.post("/v1/feedback", json=body, headers=key)
    assert first.json() == again.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert len(other.http.get("/v1/feedback").json()["feedback"]) == 1
    one.http.post("/v1/search", json={"queries": "mail"})
    other.http.post("/v1/search", json={"queries": "mail"})
    one.app.state.service.usage.flush()
    assert other.http.get("/v1/usage").json()["total"]["searches"] == 2


def test_a_write_that_ends_while_the_database_is_away_may_be_tried_again_on_any_replica(
    two: list[Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    database = one.app.state.service.database
    whole = one.app.state.service.catalog.change

    def away(*_: object, **__: object) -> None:
        raise DatabaseUnreachableError("postgresql://db/name", "does not answer in time")

    def change(*arguments: object, **options: object) -> object:
        monkeypatch.setattr(database, "transact", away)
        return whole(*arguments, **options)

    monkeypatch.setattr(one.app.state.service.catalog, "change", change)
    key = {"Idempotency-Key": "k"}
    assert one.http.put("/v1/tools/net__ping", json=definition("ping"), headers=key).status_code == 503
    assert other.http.put("/v1/tools/net__ping", json=definition("ping"), headers=key).status_code == 409
    monkeypatch.undo()

    def again(served: Served) -> int:
        return served.http.put("/v1/tools/net__ping", json=definition("ping"), headers=key).status_code

    until(lambda: again(other) == 201)
    until(lambda: again(one) == 201)


def test_vectors_come_from_the_database(url: DatabaseUrl) -> None:
    """Only who changes a tool embeds it; who starts later embeds nothing."""
    embedder = HashingEmbedder()
    with replicas(url, embedder=embedder) as (one, other):
        embedder.document_calls.clear()
        one.http.put("/v1/tools/net__ping", json=definition("ping", text="Ping a host."))
        until(lambda: other.http.get("/v1/tools/net__ping").status_code == 200)
        assert len(embedder.embedded) == 1
        embedder.document_calls.clear()
        assert other.http.post("/v1/catalogs/default/reload").status_code == 200
        assert other.http.post("/v1/search", json={"queries": "ping a host"}).json()["hits"]
        assert embedder.embedded == []
