"""Sessions watched round by round."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.retrieval.support import OFFICE
from tests.server.support import Served, service
from toolsearch.api.scopes import KeyScope
from toolsearch.server.round_store import SqliteRoundStore
from toolsearch.server.rounds import RoundRecorder, SessionEvent
from toolsearch.tokens import count_tokens, definition_tokens


@pytest.fixture
def served() -> Iterator[Served]:
    with service() as served:
        yield served


def search(served: Served, session: str, *queries: str, limit: int = 1) -> Any:
    body = {"arguments": {"queries": list(queries), "limit": limit}}
    return served.http.post(f"/v1/sessions/{session}/search", json=body).json()


def rounds(served: Served, session: str, **query: Any) -> Any:
    return served.http.get(f"/v1/sessions/{session}/rounds", params=query).json()


def test_a_session_is_told_round_by_round(served: Served) -> None:
    first = served.http.get("/v1/sessions/s/tools", params={"form": "anthropic"}).json()["tools"]
    told = search(served, "s", "send_email")
    served.http.get("/v1/sessions/s/tools")
    served.http.post("/v1/sessions/s/load", json={"names": ["web__search"]})
    served.http.post("/v1/sessions/s/forget", json={"names": ["mail__send_email"]})
    search(served, "s", limit=0)
    seen = rounds(served, "s")
    assert [(r["number"], r["form"], r["tools"]) for r in seen["rounds"]] == [
        (1, "anthropic", ["tool_search"]),
        (2, "openai_chat", ["tool_search", "mail__send_email"]),
    ]
    (found,) = seen["rounds"][0]["events"]
    assert (found["kind"], found["queries"], found["tools"], found["is_error"]) == (
        "search",
        ["send_email"],
        ["mail__send_email"],
        False,
    )
    assert found["tokens"] == count_tokens(told["text"])
    later = [(e["kind"], e["tools"], e["is_error"]) for e in seen["rounds"][1]["events"]]
    assert later == [
        ("load", ["web__search"], False),
        ("forget", ["mail__send_email"], False),
        ("search", [], True),
    ]
    email = next(tool for tool in OFFICE if tool.name == "mail__send_email")
    built_in = seen["rounds"][0]["tokens"]
    assert built_in == pytest.approx(count_tokens(json.dumps(first[0])), abs=30)
    assert seen["rounds"][1]["tokens"] == built_in + definition_tokens(email.definition)
    catalog = served.http.get("/v1/catalogs/default").json()
    assert (seen["catalog_tools"], seen["catalog_tokens"]) == (catalog["tools"], catalog["tokens"])


def test_looking_changes_nothing_and_costs_nothing_as_long_as_nothing_happens(served: Served) -> None:
    served.http.get("/v1/sessions/s/tools")
    first = served.http.get("/v1/sessions/s/rounds")
    known = {"If-None-Match": first.headers["etag"]}
    assert served.http.get("/v1/sessions/s/rounds", headers=known).status_code == 304
    search(served, "s", "send_email")
    assert served.http.get("/v1/sessions/s/rounds", headers=known).status_code == 200
    assert rounds(served, "s")["rounds_total"] == 1


def test_the_newest_rounds_keep_their_numbers(served: Served) -> None:
    for _ in range(5):
        served.http.get("/v1/sessions/s/tools")
    seen = rounds(served, "s", limit=2)
    assert ([r["number"] for r in seen["rounds"]], seen["rounds_total"]) == ([4, 5], 5)


def test_a_search_before_any_list_of_tools_is_round_0(served: Served) -> None:
    search(served, "s", "send_email")
    (only,) = rounds(served, "s")["rounds"]
    assert (only["number"], only["tools"], len(only["events"])) == (0, [], 1)


def test_sessions_are_listed_by_their_last_use_in_pages(served: Served) -> None:
    for session in ("a", "b", "c", "a"):
        search(served, session, "send_email")
    page = served.http.get("/v1/sessions", params={"limit": 2}).json()
    assert [(s["id"], s["searches"]) for s in page["sessions"]] == [("a", 2), ("c", 1)]
    rest = served.http.get("/v1/sessions", params={"limit": 2, "cursor": page["next_cursor"]}).json()
    assert ([s["id"] for s in rest["sessions"]], rest["next_cursor"]) == (["b"], None)
    for cursor in ("no", "LTE"):
        assert served.http.get("/v1/sessions", params={"cursor": cursor}).status_code == 400


def test_what_a_session_did_is_gone_with_it(served: Served) -> None:
    search(served, "s", "send_email")
    served.http.delete("/v1/sessions/s")
    assert served.http.get("/v1/sessions").json()["sessions"] == []
    assert rounds(served, "s")["rounds"] == []


def test_a_tenant_watches_its_own_sessions_and_the_tools_that_its_key_may_know_of(served: Served) -> None:
    """E171: names and numbers of hidden tools appear nowhere."""
    whole = served.as_key(served.key(tenant="team"))
    narrow = served.as_key(served.key(tenant="team", deny=("mail__send_email",)))
    other = served.as_key(served.key(tenant="other"))
    body = {"arguments": {"queries": ["send_email"], "limit": 1}}
    assert whole.post("/v1/sessions/s/search", json=body).json()["discovered"] == ["mail__send_email"]
    whole.get("/v1/sessions/s/tools")
    assert "mail__send_email" in whole.get("/v1/sessions/s/rounds").text
    seen = narrow.get("/v1/sessions/s/rounds").json()
    assert [event["tokens"] for round_ in seen["rounds"] for event in round_["events"]] == [None]
    assert [round_["tools"] for round_ in seen["rounds"]] == [[], ["tool_search"]]
    assert '"mail__send_email"' not in json.dumps(seen)
    assert other.get("/v1/sessions/s/rounds").json()["rounds"] == []
    assert other.get("/v1/sessions").json()["sessions"] == []
    assert served.as_key(served.key(KeyScope.MANAGE)).get("/v1/sessions").status_code == 403


def test_nothing_is_kept_where_it_is_not_to_be() -> None:
    with service(keep_rounds=False) as served:
        search(served, "s", "send_email")
        assert served.http.get("/v1/sessions").json() == {"sessions": [], "kept": False, "next_cursor": None}
        assert (rounds(served, "s")["kept"], rounds(served, "s")["rounds"]) == (False, [])


def test_rounds_outlive_the_process(tmp_path: Path) -> None:
    with service(database=tmp_path / "service.db") as served:
        served.http.get("/v1/sessions/s/tools")
    with service(database=tmp_path / "service.db") as served:
        assert rounds(served, "s")["rounds_total"] == 1


def test_events_are_forgotten_by_age_and_by_number() -> None:
    now = [0.0]
    with SqliteRoundStore(ttl_s=10, kept=3, clock=lambda: now[0]) as store:
        recorder = RoundRecorder(store, clock=lambda: now[0])
        for at in (0.0, 5.0, 11.0):
            now[0] = at
            recorder.add("t", f"s{at:.0f}", SessionEvent(kind="tools"))
            recorder.flush()
        assert [s.id for _, s in recorder.sessions("t", before=99, limit=9)] == ["s11", "s5"]
        for _ in range(5):
            recorder.add("t", "many", SessionEvent(kind="tools"))
        assert recorder.events("t", "many", limit=9).rounds_total == 3


def test_what_cannot_be_written_just_now_is_written_later(monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteRoundStore(ttl_s=10) as store:
        recorder = RoundRecorder(store)
        recorder.add("t", "s", SessionEvent(kind="load", names=("a",)))

        def fail(*_: object) -> None:
            raise sqlite3.OperationalError("locked")

        with monkeypatch.context() as patch:
            patch.setattr(SqliteRoundStore, "add_events", fail)
            with pytest.raises(sqlite3.OperationalError):
                recorder.flush()
        assert [event.names for event in recorder.events("t", "s", limit=9).events] == [("a",)]


def test_a_search_of_a_session_counts_as_used(served: Served) -> None:
    found = search(served, "s", "send_email")["discovered"]
    search(served, "s", "xyzzy plugh")
    search(served, "s", limit=0)
    total = served.http.get("/v1/usage").json()["total"]
    tokens = {tool.name: definition_tokens(tool.definition) for tool in OFFICE}
    returned = sum(tokens[name] for name in found)
    assert (total["searches"], total["nothing_fits"]) == (2, 1)
    assert total["returned_tokens"] == returned
    assert total["spared_tokens"] == 2 * sum(tokens.values()) - returned
