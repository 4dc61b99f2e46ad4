"""`toolsearch pins` against a service."""

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.cli.conftest import Run
from tests.server.support import service


def test_it_shows_what_is_worth_pinning(run: Run) -> None:
    with service() as served:
        done = run("pins", served.url)
        assert (done.code, done.out) == (0, "")
        assert "No tool is worth pinning" in done.err
        for i in range(20):
            body = {"tool": "mail__send_email", "outcome": "called", "session_id": f"s{i}"}
            assert served.http.post("/v1/feedback", json=body).status_code == 201
        done = run("pins", served.url)
        assert done.code == 0
        assert "mail__send_email" in done.out
        assert "20 sessions of 4 rounds" in done.err
        report = run("pins", served.url, "--json", "--rounds", 1000).json
        assert (report["sessions"], report["rounds"], report["pins"]) == (20, 1000.0, [])


def test_a_service_that_cannot_be_reached_is_an_error(run: Run) -> None:
    done = run("pins", "http://127.0.0.1:9")
    assert done.code == 4
    assert "The service at http://127.0.0.1:9 cannot be reached" in done.err
    assert "Errno" not in done.err
