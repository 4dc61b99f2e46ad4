"""The page as files over HTTP; no browser is needed."""

import http.client
import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import Served, service
from toolsearch.server.routers.page import page_files


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with service() as served:
        yield served


def test_the_page_is_where_its_address_leads(served: Served) -> None:
    moved = served.http.get("/ui", params={"a": "b"})
    assert (moved.status_code, moved.headers["location"]) == (308, "ui/")
    page = served.http.get("/ui/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.text.startswith("<!doctype html>")
    assert served.http.head("/ui/").status_code == 200
    assert served.http.post("/ui/").status_code == 405


def test_browsers_are_told_to_load_and_to_ask_nothing_else(served: Served) -> None:
    for path in ("/ui/", "/ui/app.js", "/ui/style.css", "/ui/favicon.svg"):
        headers = served.http.get(path).headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert {policy[f"{kind}-src"] for kind in ("script", "style", "img", "connect")} == {"'self'"}
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert policy["require-trusted-types-for"] == "'script'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"


def test_files_are_asked_for_again_and_sent_only_if_they_changed(served: Served) -> None:
    first = served.http.get("/ui/app.js")
    assert (first.headers["cache-control"], first.headers["content-type"]) == (
        "no-cache",
        "text/javascript; charset=utf-8",
    )
    again = served.http.get("/ui/app.js", headers={"If-None-Match": f'W/"x", {first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert served.http.get("/ui/app.js", headers={"If-None-Match": '"x"'}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/ui/../openapi.json",
        "/ui/../../pyproject.toml",
        "/ui/%2e%2e/app.py",
        "/ui/..%2fapp.py",
        "/ui/..%5capp.py",
        "/ui//etc/passwd",
        "/ui/views/../../app.py",
        "/ui/views",
        "/ui/views/",
        "/ui/index.html%00",
        "/ui/__init__.py",
        "/uix",
    ],
)
def test_no_path_leads_to_another_file(served: Served, path: str) -> None:
    """The path is sent as it stands here."""
    connection = http.client.HTTPConnection(urlsplit(served.url).netloc)
    connection.request("GET", path)
    response = connection.getresponse()
    assert response.status == 404
    assert response.read().startswith(b'{"type"')
    connection.close()


def test_every_file_that_is_named_is_there_and_none_is_elsewhere(served: Served) -> None:
    for name, file in page_files().items():
        text = file.content.decode()
        named = re.findall(r'(?:href|src)="([^"#]+)"', text) if name.endswith(".html") else []
        named += re.findall(r'^import .* from "([^"]+)";$', text, re.MULTILINE)
        for path in named:
            assert urljoin(name, path).removeprefix("/") in page_files(), (name, path)
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text
        )
    assert {"index.html", "app.js", "style.css", "views/search.js"} <= page_files().keys()
    assert sum(len(file.content) for file in page_files().values()) < 150_000


def test_the_page_needs_no_key_and_what_it_asks_for_does() -> None:
    with service() as served:
        served.key()
        assert served.http.get("/ui/").status_code == 200
        assert served.http.get("/ui/app.js").status_code == 200
        assert served.http.get("/v1/tools").status_code == 401
        assert served.http.get("/uix").status_code == 401


def test_the_page_may_ask_its_own_service_and_no_other_page_may(served: Served) -> None:
    own = urlsplit(served.url).netloc
    body = {"queries": "mail"}
    for origin in (f"http://{own}", f"https://{own}"):
        assert served.http.post("/v1/search", json=body, headers={"Origin": origin}).status_code == 200
    for origin in (
        "http://127.0.0.1:1",
        f"http://{own}.evil.example",
        f"ftp://{own}",
        f"http://evil.example@{own}",
        own,
        "null",
        "",
    ):
        refused = served.http.post("/v1/search", json=body, headers={"Origin": origin})
        assert refused.status_code == 403, origin
    evil = {"Origin": "http://evil.example", "Host": "evil.example"}
    assert served.http.post("/v1/search", json=body, headers=evil).status_code == 403


def test_without_the_page_there_is_none_and_no_page_may_ask() -> None:
    with service(ui=False) as served:
        assert [served.http.get(path).status_code for path in ("/ui", "/ui/", "/ui/app.js")] == [404] * 3
        asked = served.http.post("/v1/search", json={"queries": "mail"}, headers={"Origin": served.url})
        assert asked.status_code == 403


def test_the_page_is_no_part_of_the_api(served: Served) -> None:
    assert not [path for path in served.http.get("/openapi.json").json()["paths"] if path.startswith("/ui")]
