"""What somebody is told who asks in a way that nothing answers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import Served, service

JSON = {"Content-Type": "application/json"}
BODIES = (
    ("POST", "/v1/search"),
    ("POST", "/v1/search/batch"),
    ("POST", "/v1/sessions"),
    ("POST", "/v1/sessions/s/search"),
    ("POST", "/v1/sessions/s/handle"),
    ("POST", "/v1/sessions/s/load"),
    ("POST", "/v1/sessions/s/forget"),
    ("POST", "/v1/render"),
    ("POST", "/v1/feedback"),
    ("POST", "/v1/keys"),
    ("PUT", "/v1/tools/mail__x"),
    ("PATCH", "/v1/tools/mail__send_email"),
)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with service() as served:
        yield served


def told(served: Served, method: str, path: str, status: int, **sent: Any) -> str:
    """The detail of the problem that a request ends with, which has this status."""
    response = served.http.request(method, path, **sent)
    assert response.status_code == status, response.text
    return str(response.json()["detail"])


@pytest.mark.parametrize(("method", "path"), BODIES)
@pytest.mark.parametrize("kind", ["", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded"])
def test_a_body_that_does_not_say_that_it_is_json_needs_the_header(
    served: Served, method: str, path: str, kind: str
) -> None:
    headers = {"Content-Type": kind} if kind else {}
    detail = told(served, method, path, 415, content=b'{"queries": "mail"}', headers=headers)
    assert detail.endswith("Send the header Content-Type: application/json.")


def test_a_body_with_its_type_corrected_is_another_request(served: Served) -> None:
    """The key of the first request must not have its 415 given again."""
    content = b'{"tool": "web__search", "outcome": "called"}'
    key = {"Idempotency-Key": "typed"}
    told(served, "POST", "/v1/feedback", 415, content=content, headers=key)
    assert served.http.post("/v1/feedback", content=content, headers={**key, **JSON}).is_success


@pytest.mark.parametrize(("method", "path"), BODIES)
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"queries": "mail" "k": 1}', "Expecting ',' delimiter at character 20"),
        (b"{'queries': 1}", "Expecting property name enclosed in double quotes at character 2"),
        (b"\xff\xff", "it is not UTF-8"),
        (b"[" * 200_000, "it is nested too deeply to be read"),
    ],
)
def test_a_body_that_is_not_json_is_told_where_it_breaks(
    served: Served, method: str, path: str, content: bytes, reason: str
) -> None:
    detail = told(served, method, path, 400, content=content, headers=JSON)
    assert detail == f"The body is not JSON: {reason}."


@pytest.mark.parametrize(
    ("path", "body", "hint"),
    [
        ("/v1/search", {"queries": "mail", "server": "mail"}, "Did you mean 'sources'?"),
        ("/v1/search", {"queries": "mail", "source": "mail"}, "Did you mean 'sources'?"),
        ("/v1/search", {"query": "mail"}, "Did you mean 'queries'?"),
        ("/v1/search", {"queries": "mail", "exclud": []}, "Did you mean 'exclude'?"),
        ("/v1/search/batch", {"searches": [{"query": "mail"}]}, "Did you mean 'queries'?"),
        ("/v1/feedback", {"name": "web__search", "outcome": "called"}, "Did you mean 'tool'?"),
        ("/v1/sessions/s/load", {"tools": ["web__search"]}, "Did you mean 'names'?"),
        ("/v1/keys", {"name": "bot", "server": ["mail"]}, "Did you mean 'sources'?"),
        ("/v1/sessions/s/load", {"xyzzy": 1}, "There are names"),
    ],
)
def test_a_field_that_there_is_not_has_the_one_named_that_was_meant(
    served: Served, path: str, body: Any, hint: str
) -> None:
    assert hint in told(served, "POST", path, 422, json=body)


def test_our_own_words_come_without_those_of_the_validator(served: Served) -> None:
    problem = told(served, "POST", "/v1/search", 422, content=b'{"queries": "\\ud800"}', headers=JSON)
    assert problem.startswith("body.queries.0: it holds half a character (a lone surrogate)")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/search", "POST"),
        ("POST", "/v1/tools/mail__x", "GET, PUT, PATCH, DELETE"),
        ("PUT", "/v1/tools", "GET"),
    ],
)
def test_a_method_that_a_path_does_not_take_has_the_others_named(
    served: Served, method: str, path: str, allowed: str
) -> None:
    response = served.http.request(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, allowed)
    assert response.json()["detail"].endswith(f"It takes {allowed}.")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/openai/chat/completions", "/openai/v1/chat/completions"),
        ("/v1/chat/completions", "/openai/v1/chat/completions"),
        ("/v1/responses", "/openai/v1/responses"),
        ("/chat/completions", "/openai/v1/chat/completions"),
        ("/anthropic/messages", "/anthropic/v1/messages"),
        ("/v1/messages", "/anthropic/v1/messages"),
        ("/openai/v1/chat/completions", "Start it with --proxy"),
        ("/anthropic/v1/messages", "--anthropic-upstream"),
        ("/v1/calls", "--call MODULE"),
        ("/v1/sessions/a%2Fb/load", "may have no '/'"),
        ("/v1/sessions/a/b/load", "may have no '/'"),
    ],
)
def test_a_path_with_nothing_at_it_says_where_it_may_be(served: Served, path: str, hint: str) -> None:
    assert hint in told(served, "POST", path, 404, json={})


def test_other_paths_with_nothing_at_them_say_just_that(served: Served) -> None:
    for path in ("/nothing", "/v1/sessionss/a", "/v1/messagesx", "/v1/callsx"):
        assert told(served, "POST", path, 404) == "There is nothing at this path."


@pytest.mark.parametrize("accept", ["*/*", "application/x-ndjson"])
def test_an_upload_of_which_nothing_can_be_used_is_refused(served: Served, accept: str) -> None:
    before = served.http.get("/v1/catalogs").json()
    lines = b'{"description": "no name"}\nnot json\n'
    response = served.http.post("/v1/tools/bulk", content=lines, headers={"Accept": accept})
    problem = response.json() if accept == "*/*" else json.loads(response.text.splitlines()[-1])["problem"]
    assert (problem["status"], problem["type"]) == (422, "urn:toolsearch:problem:upload")
    assert [issue["line"] for issue in problem["issues"]] == [1, 2]
    assert "would be removed" not in problem["detail"]
    assert served.http.get("/v1/catalogs").json() == before


def test_an_upload_with_something_of_use_or_with_nothing_wrong_is_not_refused(served: Served) -> None:
    mixed = served.http.post("/v1/tools/bulk", content=b'{"name": "one", "server": "new"}\nnot json\n')
    assert (mixed.status_code, mixed.json()["added"], len(mixed.json()["issues"])) == (200, 1, 1)
    assert served.http.post("/v1/tools/bulk", json=[]).json()["added"] == 0


def test_a_foreign_host_and_origin_are_told_how_to_let_them_in(served: Served) -> None:
    assert "--allow-host NAME" in told(served, "GET", "/v1/tools", 403, headers={"Host": "evil.example"})
    origin = {"Origin": "https://app.example"}
    assert "--allow-origin URL" in told(served, "GET", "/v1/tools", 403, headers=origin)
