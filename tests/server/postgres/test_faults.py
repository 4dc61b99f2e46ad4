"""A replica that dies, and a database that goes and comes back: nothing that was acknowledged is lost."""

import signal
import threading
from contextlib import closing

import httpx
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.postgres.support import power
from tests.server.postgres.support import DEMO, Load, definition, names, process, replicas
from tests.server.support import OFFICE_NAMES, Served, until
from toolsearch.api.scopes import KeyScope
from toolsearch.postgres.url import DatabaseUrl


class Writer:
    """Puts one tool after the other, and remembers which were acknowledged and which were not."""

    def __init__(self, url: str, name: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=60)
        self._name = name
        self._turn = 0
        self.acknowledged: list[str] = []
        self.statuses: set[int] = set()

    def __call__(self) -> None:
        self._turn += 1
        name = f"{self._name}_{self._turn}"
        try:
            response = self._http.put(f"/v1/tools/net__{name}", json=definition(name))
        except httpx.TransportError:
            self.statuses.add(0)
            threading.Event().wait(0.05)
            return
        self.statuses.add(response.status_code)
        if response.status_code == 201:
            self.acknowledged.append(f"net__{name}")
        else:
            threading.Event().wait(0.05)

    def close(self) -> None:
        self._http.close()


def test_a_replica_that_is_killed_under_writes_loses_nothing_it_acknowledged(url: DatabaseUrl) -> None:
    with (
        process(url, DEMO) as (first, doomed),
        process(url) as (second, _),
        httpx.Client(base_url=second, timeout=60) as http,
        httpx.Client(base_url=first, timeout=60) as other,
        closing(Writer(first, "dying")) as dying,
        closing(Writer(second, "living")) as living,
    ):
        until(lambda: other.get("/readyz").status_code == 200, tries=12_000)
        until(lambda: http.get("/readyz").status_code == 200, tries=12_000)
        before = names(http)
        sessions: list[str] = []

        def discover() -> None:
            body = {"names": ["shopfront__orders_refund"]}
            session = f"s{len(sessions)}"
            try:
                if other.post(f"/v1/sessions/{session}/load", json=body).status_code == 200:
                    sessions.append(session)
            except httpx.TransportError:
                threading.Event().wait(0.05)

        with Load(dying, living, discover) as load:
            until(lambda: min(len(dying.acknowledged), len(living.acknowledged)) >= 4, tries=12_000)
            doomed.send_signal(signal.SIGKILL)
            doomed.wait(timeout=60)
            seen = len(living.acknowledged)
            until(lambda: len(living.acknowledged) >= seen + 2, tries=12_000)
        assert load.errors == []
        assert living.statuses == {201}
        acknowledged = {*dying.acknowledged, *living.acknowledged}
        until(lambda: acknowledged <= names(http))
        # Of what was not acknowledged at most the one write that was under way.
        assert len(names(http) - before - acknowledged) <= 1
        for session in sessions:
            found = http.get(f"/v1/sessions/{session}").json()["discovered"]
            assert found == ["shopfront__orders_refund"]


def test_a_database_that_is_restarted_under_load_loses_nothing_it_acknowledged(url: DatabaseUrl) -> None:
    with (
        power() as switch,
        replicas(url) as (one, other),
        closing(Writer(one.url, "a")) as first,
        closing(Writer(other.url, "b")) as second,
    ):
        writers = (first, second)
        failed: list[str] = []

        def search(served: Served) -> None:
            response = served.http.post("/v1/search", json={"queries": "send mail to a customer"})
            if response.status_code != 200 or response.json()["hits"][0]["name"] != "mail__send_email":
                failed.append(response.text)

        seen: list[int] = []

        def gone_on() -> bool:
            return all(len(w.acknowledged) > n for w, n in zip(writers, seen, strict=True))

        with Load(*writers, lambda: search(one), lambda: search(other)) as load:
            for _ in range(2):
                seen[:] = [len(writer.acknowledged) for writer in writers]
                until(gone_on, tries=9000)
                switch.cut()
                until(lambda: all(503 in writer.statuses for writer in writers), tries=9000)
                switch.restore()
            seen[:] = [len(writer.acknowledged) for writer in writers]
            until(gone_on, tries=9000)
        assert load.errors == []
        assert failed == []
        assert {status for writer in writers for status in writer.statuses} == {201, 503}
        acknowledged = {name for writer in writers for name in writer.acknowledged}
        for served in (one, other):
            until(lambda: acknowledged <= names(served.http))  # noqa: B023
        # Only what broke as it was being committed may count without an answer that says so.
        assert names(one.http) == names(other.http) >= {*OFFICE_NAMES, *acknowledged}


def test_without_the_database_searches_go_on_and_changes_are_told_to_come_again(url: DatabaseUrl) -> None:
    with power() as switch, replicas(url) as (one, other):
        admin = one.key(KeyScope.ADMIN, KeyScope.SEARCH)
        http = other.as_key(admin)
        until(lambda: http.get("/v1/sources").status_code == 200)
        assert other.http.get("/readyz").json() == {"status": "ready", "database": "answers"}
        switch.cut()
        until(lambda: other.http.get("/readyz").json() == {"status": "ready", "database": "away"})

        assert http.post("/v1/search", json={"queries": "mail"}).json()["hits"]
        assert http.get("/v1/tools/web__search").status_code == 200
        assert other.http.post("/v1/search", json={"queries": "mail"}).status_code == 401
        for response in (
            http.put("/v1/tools/net__ping", json=definition("ping")),
            http.delete("/v1/tools/web__search"),
            http.post("/v1/sessions/s/load", json={"names": ["web__search"]}),
            http.post("/v1/feedback", json={"tool": "web__search", "outcome": "called"}),
            http.post("/v1/sessions", json={}, headers={"Idempotency-Key": "k"}),
            http.post("/v1/keys", json={"name": "new"}),
        ):
            assert response.status_code == 503
            assert response.json()["type"] == "urn:toolsearch:problem:database"
            assert int(response.headers["retry-after"]) >= 1
        assert "toolsearch_database_up 0" in http.get("/metrics").text

        switch.restore()
        until(lambda: other.http.get("/readyz").json()["database"] == "answers")
        assert http.put("/v1/tools/net__ping", json=definition("ping")).status_code == 201
        until(lambda: one.as_key(admin).get("/v1/tools/net__ping").status_code == 200)
        assert "toolsearch_database_up 1" in http.get("/metrics").text
