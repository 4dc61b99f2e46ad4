"""Catalogs and sources that are replaced as a whole: nothing goes for what could not be read."""

import json
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import OFFICE_NAMES, Served, service
from toolsearch.client import Client
from toolsearch.server.answers import LINES_TYPE

JSON_TYPE = "application/json"
CATALOG, SOURCE = "/v1/catalogs/default/tools", "/v1/sources/mail"
SEND = {"name": "send_email", "server": "mail", "description": "Send an email."}


@pytest.fixture
def served() -> Iterator[Served]:
    with service() as served:
        yield served


def put(served: Served, path: str, body: str | bytes, kind: str, *, in_lines: bool) -> dict[str, Any]:
    """The problem that the upload ends with; the report where it does not."""
    accept = {"Accept": LINES_TYPE} if in_lines else {}
    response = served.http.put(path, content=body, headers={"Content-Type": kind, **accept})
    if not in_lines:
        answer: dict[str, Any] = response.json()
        assert answer.get("status", 200) == response.status_code
        return answer
    last = json.loads(response.text.splitlines()[-1])
    assert last["stage"] == ("failed" if last["problem"] else "done")
    told: dict[str, Any] = last["problem"] or last["report"]
    return told


def names(served: Served) -> list[str]:
    return [tool["name"] for tool in served.http.get("/v1/tools").json()["tools"]]


LINES = "\n".join([json.dumps(SEND), '{"name": "broken', json.dumps({**SEND, "name": "search_mail"})])
UNUSABLE = [
    ('[{"nme": "x"}]', JSON_TYPE, [1]),
    ('{"error": "not found"}', JSON_TYPE, [1]),
    ("null", JSON_TYPE, [1]),
    (json.dumps([SEND, {"name": ""}]), JSON_TYPE, [1]),
    (json.dumps([SEND, {**SEND, "description": "Other."}]), JSON_TYPE, [1]),
    ("<html>\n<p>Not found.</p>\n</html>", LINES_TYPE, [1, 2, 3]),
    (LINES, LINES_TYPE, [2]),
    (json.dumps(SEND).encode() + b"\n\xff\n", LINES_TYPE, [2]),
]


@pytest.mark.parametrize("in_lines", [False, True])
@pytest.mark.parametrize("path", [CATALOG, SOURCE])
@pytest.mark.parametrize("bad", UNUSABLE)
def test_nothing_is_removed_for_what_cannot_be_used(
    served: Served, bad: tuple[str | bytes, str, list[int]], path: str, in_lines: bool
) -> None:
    body, kind, lines = bad
    problem = put(served, path, body, kind, in_lines=in_lines)
    assert (problem["status"], problem["type"]) == (422, "urn:toolsearch:problem:upload")
    assert [issue["line"] for issue in problem["issues"]] == lines
    assert all(issue["severity"] == "error" and issue["reason"] for issue in problem["issues"])
    assert problem["issues"][0]["reason"].rstrip(".") in problem["detail"]
    assert names(served) == OFFICE_NAMES


@pytest.mark.parametrize("in_lines", [False, True])
@pytest.mark.parametrize("path", [CATALOG, SOURCE])
@pytest.mark.parametrize("kind", [JSON_TYPE, LINES_TYPE])
@pytest.mark.parametrize("body", ["", "\n\n"])
def test_an_empty_body_is_a_mistake_and_an_empty_list_is_none(
    served: Served, path: str, kind: str, body: str, in_lines: bool
) -> None:
    problem = put(served, path, body, kind, in_lines=in_lines)
    assert (problem["status"], problem["type"]) == (422, "urn:toolsearch:problem:catalog")
    assert "[]" in problem["detail"]
    assert names(served) == OFFICE_NAMES
    assert put(served, path, "[]", kind, in_lines=in_lines)["removed"] == (7 if path == CATALOG else 2)


def test_the_client_can_empty_what_it_replaces(served: Served) -> None:
    with Client(served.url) as client:
        assert client.put_source("mail", []).removed == 2
        assert client.put_catalog([]).removed == len(OFFICE_NAMES) - 2


@pytest.mark.parametrize("path", [CATALOG, SOURCE])
def test_what_is_mended_or_there_twice_is_no_reason_to_refuse(served: Served, path: str) -> None:
    body = [SEND, SEND, {"name": "search_mail", "server": "mail", "description": 5}]
    report = put(served, path, json.dumps(body), JSON_TYPE, in_lines=False)
    assert [issue["severity"] for issue in report["issues"]] == ["duplicate", "mended"]
    assert (report["changed"], report["removed"]) == (2, len(OFFICE_NAMES) - 2 if path == CATALOG else 0)


def test_what_is_told_of_a_bad_upload_has_an_end(served: Served) -> None:
    problem = put(served, CATALOG, "x\n" * 1000, LINES_TYPE, in_lines=False)
    assert "1,000 of 1,000 definitions" in problem["detail"]
    assert (len(problem["issues"]), len(problem["detail"]) < 1000) == (50, True)


@pytest.mark.parametrize(
    "body", ["", '[{"name": "a"', "nonsense", b"\xff\xfe\xff", b"[\xff]", '[{"name": "a"}]\n[{"na']
)
@pytest.mark.parametrize("kind", [JSON_TYPE, LINES_TYPE])
def test_no_path_of_the_machine_is_in_what_is_told_of_an_upload(
    served: Served, body: str | bytes, kind: str
) -> None:
    for method, path in (("POST", "/v1/tools/bulk"), ("PUT", CATALOG), ("PUT", SOURCE)):
        for accept in ("*/*", LINES_TYPE):
            headers = {"Content-Type": kind, "Accept": accept}
            answer = served.http.request(method, path, content=body, headers=headers).text
            assert tempfile.gettempdir() not in answer
            assert "toolsearch-" not in answer
    if kind == JSON_TYPE:
        detail = served.http.post("/v1/tools/bulk", content=body, headers={"Content-Type": kind}).json()
        assert detail.get("detail", "upload.json").startswith("upload.json")
