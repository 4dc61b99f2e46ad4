"""Pin suggestions over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.retrieval.support import OFFICE
from tests.server.support import Served, service
from toolsearch import Client, Tool
from toolsearch.discovery.pins import ROUNDS, SEARCH_TOKENS


@pytest.fixture
def served() -> Iterator[Served]:
    pinned = Tool(raw_name="always", description="Always sent.", pinned=True)
    with service((*OFFICE, pinned), keep_rounds=True) as served:
        yield served


def called(served: Served, tool: str, sessions: int, *, by: httpx.Client | None = None) -> None:
    http = by or served.http
    for i in range(sessions):
        body = {"tool": tool, "outcome": "called", "session_id": f"s{i}"}
        assert http.post("/v1/feedback", json=body).status_code == 201


def test_tools_that_most_sessions_call_are_suggested(served: Served) -> None:
    called(served, "mail__send_email", 20)
    called(served, "web__search", 2)
    called(served, "always", 20)
    with Client(served.url) as client:
        found = client.get_pins()
        assert (found.sessions, found.rounds, found.search_tokens) == (20, ROUNDS, SEARCH_TOKENS)
        assert [(pin.name, pin.sessions, pin.share) for pin in found.pins] == [("mail__send_email", 20, 1.0)]
        assert found.pins[0].tokens == client.get_tool("mail__send_email").tokens
        assert client.get_pins(rounds=1000).pins == ()
        assert client.get_pins(search_tokens=1).pins == ()


def test_the_latest_feedback_counts_where_there_is_very_much(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    called(served, "web__search", 20)
    called(served, "mail__send_email", 20)
    monkeypatch.setattr("toolsearch.server.pins._FEEDBACK_READ", 20)
    monkeypatch.setattr("toolsearch.server.feedback._READ", 7)
    found = served.http.get("/v1/usage/pins").json()
    assert [(pin["name"], pin["sessions"]) for pin in found["pins"]] == [("mail__send_email", 20)]


def test_rounds_and_searches_are_counted_where_they_are_kept(served: Served) -> None:
    for i in range(12):
        session = f"/v1/sessions/s{i}"
        for _ in range(3):
            served.http.get(f"{session}/tools")
        served.http.post(f"{session}/search", json={"arguments": {"queries": ["send an email"]}})
    called(served, "mail__send_email", 6)
    found = served.http.get("/v1/usage/pins").json()
    assert (found["sessions"], found["rounds"]) == (12, 3.0)
    assert 0 < found["search_tokens"] != SEARCH_TOKENS


def test_only_the_tenants_own_sessions_and_tools_that_it_may_know_of(served: Served) -> None:
    one = served.as_key(served.key(tenant="acme"))
    part = served.as_key(served.key(tenant="acme", sources=("web",)))
    other = served.as_key(served.key(tenant="globex"))
    called(served, "mail__send_email", 20, by=one)
    names = [
        [pin["name"] for pin in each.get("/v1/usage/pins").json()["pins"]] for each in (one, part, other)
    ]
    assert names == [["mail__send_email"], [], []]


def test_sessions_of_hidden_tools_count_for_nothing(served: Served) -> None:
    one = served.as_key(served.key(tenant="acme"))
    part = served.as_key(served.key(tenant="acme", sources=("web",)))
    before = part.get("/v1/usage/pins").json()
    called(served, "mail__send_email", 20, by=one)
    for n in range(4):
        one.get(f"/v1/sessions/r{n}/tools")
        one.post(f"/v1/sessions/r{n}/load", json={"names": ["mail__send_email"]})
        one.post(f"/v1/sessions/r{n}/search", json={"arguments": {"queries": ["send_email"], "limit": 1}})
    assert part.get("/v1/usage/pins").json() == before
    assert one.get("/v1/usage/pins").json()["sessions"] == 24
    one.post("/v1/sessions/r0/load", json={"names": ["web__search"]})
    called(served, "web__search", 2, by=one)
    assert part.get("/v1/usage/pins").json()["sessions"] == 3


def test_pages_of_feedback_are_those_of_the_tools_that_the_key_may_know_of(served: Served) -> None:
    one = served.as_key(served.key(tenant="acme"))
    part = served.as_key(served.key(tenant="acme", sources=("web",)))
    called(served, "mail__send_email", 3, by=one)
    empty = part.get("/v1/feedback", params={"limit": 1}).json()
    assert empty == {"feedback": [], "next_cursor": None}
    called(served, "web__search", 2, by=one)
    called(served, "mail__send_email", 3, by=one)
    first = part.get("/v1/feedback", params={"limit": 1}).json()
    last = part.get("/v1/feedback", params={"limit": 1, "cursor": first["next_cursor"]}).json()
    assert [entry["session_id"] for entry in first["feedback"] + last["feedback"]] == ["s0", "s1"]
    assert last["next_cursor"] is None
