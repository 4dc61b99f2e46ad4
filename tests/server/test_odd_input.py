"""Input that no client of ours sends has the same answers from both databases, and none is a failure."""

import base64
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.postgres.support import upgraded_database
from tests.server.support import Served, service


@pytest.fixture(params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    with contextlib.ExitStack() as stack:
        kept: Any = tmp_path / "service.db"
        if request.param == "postgres":
            kept = stack.enter_context(upgraded_database())
        yield stack.enter_context(service(keep_rounds=True, keep_queries=True, database=kept))


def test_text_with_nul_names_nothing_and_is_kept_where_it_is_text(served: Served) -> None:
    http = served.http
    assert http.post("/v1/sessions/q/load", json={"names": ["web__search"]}).status_code == 200
    forgotten = http.post("/v1/sessions/q/forget", json={"names": ["a\0", "web__search\0"]})
    assert (forgotten.status_code, forgotten.json()["discovered"]) == (200, ["web__search"])
    assert http.post("/v1/sessions/q/load", json={"names": ["a\0"]}).status_code == 404
    found = http.post("/v1/sessions/q/search", json={"arguments": {"queries": ["search\0 the web"]}})
    assert found.status_code == 200
    assert http.get("/v1/sessions/q/rounds").status_code == 200
    body = {"tool": "web__search", "outcome": "called", "query": "search\0 the web"}
    assert http.post("/v1/feedback", json=body).json()["query"] == body["query"]
    assert http.delete("/v1/feedback?tenant=%00").status_code == 204
    assert [entry["query"] for entry in http.get("/v1/feedback").json()["feedback"]] == [body["query"]]
    assert http.delete("/v1/keys/%00").status_code == 404
    for path in ("tools", "sources", "tags", "catalogs"):
        assert http.get(f"/v1/{path}/%00").status_code == 404
    assert http.get("/v1/tools?text=%00&source=%00&tag=%00").json()["tools"] == []


@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/feedback", "/v1/catalogs/default/lint"])
@pytest.mark.parametrize("place", [2**63, 10**19 - 1, 10**300, -1, "1e3", "٣", "1\0", " 1", "tool"])
def test_a_cursor_that_leads_to_no_place_is_refused(served: Served, path: str, place: int | str) -> None:
    cursor = base64.urlsafe_b64encode(str(place).encode()).decode().rstrip("=")
    response = served.http.get(path, params={"cursor": cursor})
    assert response.status_code == (422 if len(cursor) > 400 else 400)


@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/feedback", "/v1/catalogs/default/lint", "/v1/tools"])
def test_the_last_place_that_a_cursor_can_lead_to_is_the_end(served: Served, path: str) -> None:
    cursor = base64.urlsafe_b64encode(str(2**63 - 1).encode()).decode().rstrip("=")
    response = served.http.get(path, params={"cursor": cursor})
    assert (response.status_code, response.json()["next_cursor"]) == (200, None)
