"""Tools that are listed, put, changed and taken away, one by one or many at once."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.retrieval.support import OFFICE
from tests.server.support import OFFICE_NAMES, Served, service
from toolsearch.index.tool_index import ToolIndex
from toolsearch.server.answers import LINES_TYPE
from toolsearch.testing import HashingEmbedder

PING = {"name": "ping", "server": "net", "description": "Ping a host."}


@pytest.fixture
def served() -> Iterator[Served]:
    with service() as served:
        yield served


def test_pages_lead_to_every_tool_once_though_tools_come_and_go(served: Served) -> None:
    seen, cursor = [], None
    while True:
        page = served.http.get(
            "/v1/tools", params={"limit": 2, **({"cursor": cursor} if cursor else {})}
        ).json()
        seen += [tool["name"] for tool in page["tools"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        # What is before the cursor moves nothing behind it.
        served.http.put("/v1/tools/aaa", json={"name": "aaa"})
    assert seen == OFFICE_NAMES


def test_tools_are_listed_by_source_and_tag(served: Served) -> None:
    def names(**query: str) -> list[str]:
        return [tool["name"] for tool in served.http.get("/v1/tools", params=query).json()["tools"]]

    assert names(source="mail") == ["mail__search_mail", "mail__send_email"]
    assert names(source="mail", tag="mail") == ["mail__send_email"]
    assert names(source="none") == names(tag="none") == []


def test_a_tool_is_put_once_where_that_is_asked_for(served: Served) -> None:
    only_new = {"If-None-Match": "*"}
    assert served.http.put("/v1/tools/net__ping", json=PING, headers=only_new).status_code == 201
    assert served.http.put("/v1/tools/net__ping", json=PING, headers=only_new).status_code == 412
    assert served.http.put("/v1/tools/net__ping", json=PING).status_code == 200
    gone = {"If-Match": '"0123"'}
    assert (
        served.http.put("/v1/tools/net__pong", json={**PING, "name": "pong"}, headers=gone).status_code == 412
    )


def test_a_tool_has_a_version(served: Served) -> None:
    first = served.http.get("/v1/tools/web__search")
    known = {"If-None-Match": f'W/{first.headers["etag"]}, "other"'}
    unchanged = served.http.get("/v1/tools/web__search", headers=known)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert unchanged.headers["etag"] == first.headers["etag"]
    served.http.patch("/v1/tools/web__search", json={"title": "Search"})
    changed = served.http.get("/v1/tools/web__search", headers=known)
    assert (changed.status_code, changed.json()["definition"]["title"]) == (200, "Search")


def test_a_patch_takes_away_what_it_says_is_null(served: Served) -> None:
    served.http.patch("/v1/tools/web__search", json={"title": "Search", "meta": {"a": {"b": 1, "c": 2}}})
    patched = served.http.patch(
        "/v1/tools/web__search", json={"title": None, "meta": {"a": {"b": None}}}
    ).json()
    assert "title" not in patched["definition"]
    assert patched["definition"]["meta"] == {"a": {"c": 2}}
    renamed = served.http.patch("/v1/tools/web__search", json={"name": "other"})
    assert (renamed.status_code, renamed.json()["type"]) == (422, "urn:toolsearch:problem:definition")


def test_an_upload_tells_how_far_it_is_and_what_was_wrong(served: Served) -> None:
    lines = [
        json.dumps(PING),
        "not json",
        json.dumps({"name": "", "description": "x"}),
        json.dumps(PING | {"name": "pong"}),
    ]
    with served.http.stream(
        "POST",
        "/v1/tools/bulk",
        content="\n".join(lines),
        headers={"Content-Type": LINES_TYPE, "Accept": LINES_TYPE},
    ) as response:
        told = [json.loads(line) for line in response.iter_lines()]
    assert told[0]["stage"] == "read"
    assert {"stage": "embed", "done": 2, "total": 2}.items() <= told[1].items()
    report = told[-1]["report"]
    assert (told[-1]["stage"], report["added"], report["unchanged"]) == ("done", 2, 0)
    assert [issue["line"] for issue in report["issues"]] == [2, 3]
    assert served.http.post("/v1/tools/bulk", content="\n".join(lines)).json()["unchanged"] == 2


def test_an_upload_that_fails_says_so_in_its_last_line(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full at /secret/path")

    monkeypatch.setattr(served.app.state.service.catalog, "change", fail)
    response = served.http.post("/v1/tools/bulk", json=[PING], headers={"Accept": LINES_TYPE})
    last = json.loads(response.text.splitlines()[-1])
    assert (last["stage"], last["problem"]["status"]) == ("failed", 500)
    assert "/secret" not in response.text


def test_hostile_definitions_are_taken_or_told(served: Served) -> None:
    """E164."""
    deep = '{"type": "object", "properties": {"x": ' * 500 + "{}" + "}}" * 500
    properties: dict[str, Any] = {f"p{i}": {} for i in range(2000)}
    hostile = [
        json.dumps({"name": "long", "description": "word " * 200_000}),
        json.dumps({"name": "wide", "input_schema": {"type": "object", "properties": properties}}),
        f'{{"name": "deep", "input_schema": {deep}}}',
        '{"name": "tool_search"}',
        '{"name": 7}',
        '["no", "tool"]',
    ]
    for definition in hostile:
        response = served.http.post("/v1/tools/bulk", content=definition)
        assert response.status_code in {200, 422}
    assert served.http.get("/readyz").status_code == 200
    body = {"names": ["long", "wide"]}
    for form in ("own", "openai_chat", "openai_responses", "anthropic", "mcp"):
        sent = served.http.post("/v1/render", json={**body, "form": form})
        assert (sent.status_code, len(sent.content) < 70_000, "…" in sent.text) == (200, True, True)
    served.http.post("/v1/sessions/s/load", json=body)
    for delivery in ("append", "bridge"):
        tools = served.http.get("/v1/sessions/s/tools", params={"form": "anthropic", "delivery": delivery})
        assert (tools.status_code, len(tools.content) < 70_000) == (200, True)
    # The catalog keeps the whole.
    whole = served.http.get("/v1/tools/long").json()["definition"]["description"]
    assert len(whole) > 900_000


def test_changes_are_there_after_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with service(folder=folder) as served:
        assert served.http.put("/v1/tools/net__ping", json=PING).status_code == 201
        assert served.http.delete("/v1/tools/web__search").status_code == 204
        names = [tool["name"] for tool in served.http.get("/v1/tools").json()["tools"]]
    loaded = ToolIndex.load(folder, HashingEmbedder())
    assert list(loaded.columns.names) == names == sorted({*OFFICE_NAMES, "net__ping"} - {"web__search"})
    assert loaded.calibration is not None


def test_an_index_that_was_changed_on_disk_can_be_read_again(tmp_path: Path) -> None:
    from toolsearch.retrieval.building import build_index

    folder = tmp_path / "index"
    with service(folder=folder) as served:
        build_index(OFFICE[:2], HashingEmbedder()).save(folder)
        assert served.http.get("/v1/tools").json()["total"] == len(OFFICE)
        reloaded = served.http.post("/v1/catalogs/default/reload").json()
        assert reloaded["tools"] == served.http.get("/v1/tools").json()["total"] == 2
        assert served.http.get("/v1/sessions/s/receipt").json()["catalog_tools"] == 2


def test_the_last_tool_can_go_and_another_come(served: Served) -> None:
    assert served.http.put("/v1/catalogs/default/tools", json=[]).json()["removed"] == len(OFFICE)
    assert served.http.post("/v1/search", json={"queries": "mail"}).json()["hits"] == []
    assert served.http.put("/v1/tools/net__ping", json=PING).status_code == 201
    found = served.http.post("/v1/search", json={"queries": "ping"}).json()
    assert [hit["name"] for hit in found["hits"]] == ["net__ping"]


def test_searches_have_an_answer_while_the_catalog_changes(served: Served) -> None:
    stop, statuses, problems = threading.Event(), set(), []

    def search() -> None:
        with httpx.Client(base_url=served.url, timeout=120) as http:
            while not stop.is_set():
                response = http.post("/v1/search", json={"queries": "send_email", "k": 1})
                statuses.add(response.status_code)
                if response.json()["hits"][0]["name"] != "mail__send_email":
                    problems.append(response.text)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(15):
        assert (
            served.http.put(f"/v1/tools/net__ping{n}", json={**PING, "name": f"ping{n}"}).status_code == 201
        )
    stop.set()
    for thread in threads:
        thread.join()
    assert (statuses, problems) == ({200}, [])
    assert served.http.get("/v1/tools").json()["total"] == len(OFFICE) + 15


@pytest.mark.parametrize("source", ["a/b", "/", "a//b/", "a%2Fb", "a b?c#d", "", "é"])
def test_every_source_that_is_listed_can_be_asked_for_replaced_and_deleted(
    served: Served, source: str
) -> None:
    path = f"/v1/sources/{quote(source, safe='')}"
    body = [{"name": "a/b", "server": source}, {"name": "other", "server": source}]
    assert served.http.put(path, json=body).json()["added"] == 2
    (listed,) = [s for s in served.http.get("/v1/sources").json()["sources"] if s["name"] == source]
    assert served.http.get(path).json() == listed
    listed_tools = served.http.get("/v1/tools", params={"source": source}).json()["tools"]
    for tool in listed_tools:
        assert served.http.get(f"/v1/tools/{quote(tool['name'], safe='')}").json() == tool
    assert served.http.put(path, json=body[:1]).json()["removed"] == 1
    assert served.http.delete(path).status_code == 204
    assert served.http.get(path).json()["type"] == "urn:toolsearch:problem:unknown"
    assert served.http.get("/v1/tools").json()["total"] == len(OFFICE)
    assert 'route="/v1/sources/{source}"' in served.http.get("/metrics").text


def test_writers_at_once_lose_nothing(served: Served) -> None:
    def put(n: int) -> None:
        with httpx.Client(base_url=served.url, timeout=120) as http:
            assert http.put(f"/v1/tools/net__p{n}", json={**PING, "name": f"p{n}"}).status_code == 201
            tags = {"tags": [f"t{n}"]} if n % 2 else {"title": f"t{n}"}
            assert http.patch("/v1/tools/web__search", json=tags).status_code == 200

    threads = [threading.Thread(target=put, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert served.http.get("/v1/tools", params={"source": "net"}).json()["total"] == 6
    merged = served.http.get("/v1/tools/web__search").json()["definition"]
    # Patches of different parts are both there, whichever came first.
    assert "title" in merged
    assert "tags" in merged


WRONG = [
    ("description", 5),
    ("title", ["x"]),
    ("tags", 5),
    ("search_hint", {}),
    ("pinned", "yes"),
    ("read_only", 1),
    ("prefix", "a b"),
    ("output_schema", {"type": "nothing"}),
    ("description", "Half a character: \ud800"),
]


@pytest.mark.parametrize(("member", "value"), WRONG)
def test_what_would_be_mended_is_refused_where_it_cannot_be_told(
    served: Served, member: str, value: Any
) -> None:
    path, headers = "/v1/tools/net__ping", {"Content-Type": "application/json"}
    assert served.http.put(path, json=PING).status_code == 201
    before = served.http.get(path).json()
    for method, body in (("PATCH", {member: value}), ("PUT", {**PING, member: value})):
        refused = served.http.request(method, path, content=json.dumps(body), headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (422, "urn:toolsearch:problem:definition")
        assert member in refused.json()["detail"]
    assert served.http.get(path).json() == before
    report = served.http.post("/v1/tools/bulk", content=json.dumps({**PING, member: value})).json()
    assert [issue["severity"] for issue in report["issues"]] == ["mended"]
    assert served.http.patch(path, json={member: None, "title": "Ping"}).status_code == 200


def test_no_address_in_what_is_uploaded_is_asked(served: Served) -> None:
    """E165: callers give tools, never addresses to get them from, and references are not followed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/latest/"
        schema = {"type": "object", "properties": {"a": {"$ref": f"{address}schema.json"}}}
        tool = {"name": "ping", "server": "net", "description": f"See {address}.", "input_schema": schema}
        document = {
            "openapi": "3.1.0",
            "info": {"title": "x", "version": "1"},
            "servers": [{"url": address}],
            "paths": {"/ping": {"$ref": f"{address}paths.json"}},
        }
        served.http.post("/v1/tools/bulk", json=[tool])
        served.http.post("/v1/tools/bulk", json=document)
        served.http.put("/v1/tools/net__ping", json=tool)
        served.http.put("/v1/sources/net", json=document)
        served.http.post("/v1/tools/bulk", content=json.dumps(address))
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.parametrize("address", ["http://169.254.169.254/latest/", "http://tools.internal.example/mcp"])
@pytest.mark.parametrize("way", ["POST /v1/tools/bulk", "PUT /v1/sources/net", "PUT /v1/tools/net__ping"])
@pytest.mark.parametrize("kind", ["text", "url", "mcpServers"])
def test_an_address_as_upload_is_refused_before_any_connection(
    served: Served, monkeypatch: pytest.MonkeyPatch, address: str, way: str, kind: str
) -> None:
    """E165, of the metadata of a cloud and of a host whose name leads to 10.0.0.5."""
    body = {"text": address, "url": {"url": address}, "mcpServers": {"mcpServers": {"net": {"url": address}}}}
    host, port = served.url.removeprefix("http://").split(":")
    asked: list[object] = []
    connect, lookup = socket.socket.connect, socket.getaddrinfo

    def connecting(self: socket.socket, to: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and to[:2] != (host, int(port)):
            asked.append(to)
        connect(self, to)

    def looking_up(name: Any, *rest: Any, **options: Any) -> Any:
        if name not in {host, host.encode()}:
            asked.append(name)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.5", 80))]
        return lookup(name, *rest, **options)

    before = served.http.get("/v1/tools").json()
    monkeypatch.setattr(socket.socket, "connect", connecting)
    monkeypatch.setattr(socket, "getaddrinfo", looking_up)
    response = served.http.request(*way.split(), json=body[kind])
    assert asked == []
    is_told = response.is_success and any(
        issue["severity"] == "error" for issue in response.json().get("issues", ())
    )
    assert response.status_code in range(400, 500) or is_told, response.text
    assert served.http.get("/v1/tools").json() == before
