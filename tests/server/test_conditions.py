"""Conditions of requests: what is known is not sent again, what has changed is not written over."""

import json
from collections.abc import Iterator

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import OFFICE_NAMES, Served, service
from toolsearch.api.scopes import KeyScope
from toolsearch.client import Client
from toolsearch.exceptions import ServiceError
from toolsearch.server.answers import LINES_TYPE

PING = {"name": "ping", "server": "net", "description": "Ping a host."}
ENTRY, TOOLS, MAIL, BULK = (
    "/v1/catalogs/default",
    "/v1/catalogs/default/tools",
    "/v1/sources/mail",
    "/v1/tools/bulk",
)
WRITES = [("PUT", TOOLS, ENTRY), ("PUT", MAIL, MAIL), ("DELETE", MAIL, MAIL), ("POST", BULK, ENTRY)]


@pytest.fixture
def served() -> Iterator[Served]:
    with service() as served:
        yield served


def names(served: Served) -> list[str]:
    return [tool["name"] for tool in served.http.get("/v1/tools").json()["tools"]]


def version(served: Served, path: str) -> str:
    return served.http.get(path).headers["etag"]


def write(served: Served, method: str, path: str, **headers: str) -> int:
    body = None if method == "DELETE" else json.dumps([PING])
    sent = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    return served.http.request(method, path, content=body, headers=sent).status_code


@pytest.mark.parametrize("path", [ENTRY, TOOLS, f"{TOOLS}?form=anthropic", MAIL])
def test_what_is_known_is_not_sent_again(served: Served, path: str) -> None:
    known = {"If-None-Match": version(served, path)}
    same = served.http.get(path, headers=known)
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", known["If-None-Match"])
    served.http.patch("/v1/tools/web__search", json={"title": "Search"})
    # A source knows nothing of the tools of others.
    assert served.http.get(path, headers=known).status_code == (304 if path == MAIL else 200)
    served.http.patch("/v1/tools/mail__send_email", json={"title": "Send"})
    assert served.http.get(path, headers=known).status_code == 200


@pytest.mark.parametrize(("method", "path", "versioned"), WRITES)
@pytest.mark.parametrize("header", ["If_Match", "If_None_Match"])
def test_a_write_that_is_for_something_else_writes_nothing(
    served: Served, method: str, path: str, versioned: str, header: str
) -> None:
    known = version(served, versioned)
    wrong, right = ('"0123"', known) if header == "If_Match" else (known, '"0123"')
    assert write(served, method, path, **{header: wrong}) == 412
    assert names(served) == OFFICE_NAMES
    assert write(served, method, path, **{header: right}) in {200, 204}
    assert names(served) != OFFICE_NAMES
    assert write(served, method, path, If_Match=known) in {412, 404}


@pytest.mark.parametrize(("method", "path"), [write[:2] for write in WRITES if write[0] != "DELETE"])
def test_a_write_told_in_lines_heeds_its_condition(served: Served, method: str, path: str) -> None:
    headers = {"Accept": LINES_TYPE, "If-Match": '"0123"', "Content-Type": "application/json"}
    response = served.http.request(method, path, content=json.dumps([PING]), headers=headers)
    assert json.loads(response.text.splitlines()[-1])["problem"]["status"] == 412
    assert names(served) == OFFICE_NAMES


@pytest.mark.parametrize(("method", "path", "versioned"), [w for w in WRITES if w[0] != "DELETE"])
def test_a_write_tells_the_version_that_it_made(
    served: Served, method: str, path: str, versioned: str
) -> None:
    body = [PING, {**PING, "server": "mail"}]
    assert served.http.request(method, path, json=body).headers["etag"] == version(served, versioned)


def test_a_source_is_put_once_where_that_is_asked_for(served: Served) -> None:
    path = "/v1/sources/net"
    assert write(served, "PUT", path, If_Match="*") == 412
    assert write(served, "PUT", path, If_None_Match="*") == 200
    assert write(served, "PUT", path, If_None_Match="*") == 412
    assert write(served, "PUT", path, If_Match="*") == 200


@pytest.mark.parametrize("form", ["own", "anthropic"])
def test_what_was_read_can_be_replaced_and_replaced_again(served: Served, form: str) -> None:
    read = served.http.get(TOOLS, params={"form": form})
    first = {"If-Match": read.headers["etag"]}
    body = [*read.json()["tools"][:-1], PING]
    report = served.http.put(TOOLS, json=body, headers=first)
    assert (report.status_code, "net__ping" in names(served)) == (200, True)
    # The version that was read is gone, and the report tells the new one.
    assert served.http.put(TOOLS, json=[], headers=first).status_code == 412
    second = {"If-Match": f'"{report.json()["fingerprint"]}"'}
    assert served.http.put(TOOLS, json=[PING], headers=second).status_code == 200
    assert names(served) == ["net__ping"]


def test_the_version_of_a_source_is_of_what_a_key_may_know(served: Served) -> None:
    part = served.as_key(served.key(deny=("mail__search_mail",)))
    whole = served.as_key(served.key())
    before = [key.get(MAIL).headers["etag"] for key in (part, whole)]
    manage = served.as_key(served.key(KeyScope.MANAGE))
    assert manage.patch("/v1/tools/mail__search_mail", json={"title": "Find"}).status_code == 200
    after = [key.get(MAIL).headers["etag"] for key in (part, whole)]
    assert (before[0] == after[0], before[1] == after[1]) == (True, False)


def test_the_client_says_what_it_has_seen(served: Served) -> None:
    with Client(served.url) as client:
        with pytest.raises(ServiceError, match="412"):
            client.put_source("mail", [PING], if_match="0123")
        with pytest.raises(ServiceError, match="412"):
            client.delete_source("mail", if_match="0123")
        with pytest.raises(ServiceError, match="412"):
            client.put_tools([PING], if_match="0123")
        assert names(served) == OFFICE_NAMES
        client.put_tools([PING], if_match=client.get_catalog().fingerprint)
        client.delete_source("mail", if_match=client.get_source("mail").fingerprint)
    assert [name for name in names(served) if name.startswith("mail__")] == []
