"""Being alive and ready, problems, sizes, writes sent twice, and what stays as it is under change."""

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.retrieval.support import OFFICE
from tests.server.support import OFFICE_NAMES, Served, service, until
from toolsearch.embedders.base import Vectors
from toolsearch.index.tool_index import ToolIndex
from toolsearch.server.routers import tools as tools_router
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

PING = {"name": "ping", "server": "net", "description": "Ping a host."}


@pytest.fixture
def served() -> Iterator[Served]:
    with service() as served:
        yield served


def test_until_the_model_is_loaded_it_is_alive_and_not_ready(tmp_path: Path) -> None:
    """E181."""
    release = threading.Event()

    class Loading(HashingEmbedder):
        waits = False

        def embed_queries(self, texts: Sequence[str]) -> Vectors:
            if self.waits:
                assert release.wait(20)
            return super().embed_queries(texts)

    from tests.server.support import running
    from toolsearch.retrieval.building import build_index
    from toolsearch.server import ServerSettings, create_app

    embedder = Loading()
    build_index(OFFICE, embedder).save(tmp_path / "index")
    embedder.waits = True
    app = create_app(tmp_path / "index", ServerSettings(port=0), embedder=embedder)
    with running(app) as url, httpx.Client(base_url=url) as http:
        for _ in range(3):
            assert http.get("/healthz").status_code == 200
            early = http.get("/readyz")
            assert (early.status_code, early.json()["type"]) == (503, "urn:toolsearch:problem:not-ready")
            assert http.post("/v1/search", json={"queries": "mail"}).status_code == 503
        release.set()
        until(lambda: http.get("/readyz").status_code == 200)
        assert http.post("/v1/search", json={"queries": "send_email"}).status_code == 200


def test_an_index_that_does_not_answer_any_more_is_not_ready(served: Served) -> None:
    """E181."""
    searcher = served.app.state.service.catalog.searcher
    whole = searcher.search

    def fail(request: object) -> None:
        raise RuntimeError("FAISS has lost its file")

    searcher.search = fail
    assert served.http.get("/readyz").status_code == 503
    assert served.http.get("/healthz").status_code == 200
    searcher.search = whole
    assert served.http.get("/readyz").status_code == 200


def test_a_damaged_index_is_never_ready_and_the_path_is_not_told(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with service(folder=folder):
        pass
    next(folder.glob("snapshot-*/tools.jsonl")).write_bytes(b"x")
    from tests.server.support import running
    from toolsearch.server import ServerSettings, create_app

    app = create_app(folder, ServerSettings(port=0), embedder=HashingEmbedder())
    with running(app) as url, httpx.Client(base_url=url) as http:
        assert http.get("/readyz").status_code == 503
        assert str(tmp_path) not in http.post("/v1/search", json={"queries": "mail"}).text


def test_every_failure_is_a_problem_document(served: Served) -> None:
    for method, path, content, status in (
        ("GET", "/nothing", b"", 404),
        ("DELETE", "/v1/search", b"", 405),
        ("POST", "/v1/search", b"{", 422),
        ("POST", "/v1/search", b"\xff\xff", 400),
        ("POST", "/v1/search", b"[" * 200_000, 400),
        ("POST", "/v1/search", b'{"queries": "a", "unknown": 1}', 422),
        ("GET", "/v1/tools?limit=0", b"", 422),
        ("GET", "/v1/tools?cursor=%00", b"", 400),
        ("GET", "/v1/sessions/a%20b", b"", 422),
        ("GET", "/v1/catalogs/other", b"", 404),
        ("GET", "/v1/usage?since=never", b"", 422),
    ):
        headers = {"Content-Type": "application/json"} if content else {}
        response = served.http.request(method, path, content=content, headers=headers)
        problem = response.json()
        assert (response.status_code, problem["status"]) == (status, status), path
        assert response.headers["content-type"] == "application/problem+json"
        assert problem["type"].startswith("urn:toolsearch:problem:")
        assert problem["request_id"] == response.headers["x-request-id"]
        assert problem["title"]
        assert problem["detail"]


def test_a_problem_does_not_repeat_what_was_sent(served: Served) -> None:
    body = {"queries": ["s3cr3t"], "k": "s3cr3t", "form": "s3cr3t"}
    assert "s3cr3t" not in served.http.post("/v1/search", json=body).text


def test_a_body_too_large_is_refused_stated_or_not() -> None:
    with service(max_body_bytes=2000, max_upload_bytes=4000) as served:
        large = json.dumps({"queries": "a " * 2000}).encode()
        stated = served.http.post("/v1/search", content=large, headers={"Content-Type": "application/json"})
        pieces = (large[i : i + 500] for i in range(0, len(large), 500))
        unstated = served.http.post(
            "/v1/search", content=pieces, headers={"Content-Type": "application/json"}
        )
        for response in (stated, unstated):
            assert (response.status_code, response.json()["type"]) == (
                413,
                "urn:toolsearch:problem:body-too-large",
            )
        tool = {**PING, "description": "a " * 1500}
        assert served.http.post("/v1/tools/bulk", json=[tool]).status_code == 200
        assert served.http.post("/v1/tools/bulk", json=[tool, tool]).status_code == 413
        assert served.http.post("/v1/search", json={"queries": "mail"}).status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    with service(timeout_s=0.2) as served:
        host, port = served.url.removeprefix("http://").split(":")

        async def slow() -> bytes:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(
                f"POST /v1/search HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
                "Content-Length: 100\r\n\r\n{".encode()
            )
            line = await reader.readline()
            writer.close()
            return line

        assert b" 408 " in asyncio.run(slow())


def test_metrics_count_requests_by_the_template_of_their_path(served: Served) -> None:
    served.http.get("/v1/tools/geo__get_weather")
    served.http.get("/v1/tools/nothing_of_this_name")
    served.http.get("/made-up-path")
    text = served.http.get("/metrics").text
    assert 'toolsearch_requests_total{method="GET",route="/v1/tools/{name}",status="200"} 1' in text
    assert 'toolsearch_requests_total{method="GET",route="/v1/tools/{name}",status="404"} 1' in text
    assert 'toolsearch_request_seconds_count{route="/v1/tools/{name}"} 2' in text
    assert f"toolsearch_tools {len(OFFICE)}" in text
    assert "toolsearch_ready 1" in text
    assert "made-up-path" not in text
    assert "nothing_of_this_name" not in text
    assert text.endswith("\n")


def test_a_write_that_is_sent_twice_is_carried_out_once(served: Served) -> None:
    body = {"tool": "web__search", "outcome": "called"}
    first, second = (
        served.http.post("/v1/feedback", json=body, headers={"Idempotency-Key": "k1"}) for _ in range(2)
    )
    assert (first.status_code, first.json()) == (second.status_code, second.json())
    assert ("idempotency-replayed" in first.headers, "idempotency-replayed" in second.headers) == (
        False,
        True,
    )
    assert len(served.http.get("/v1/feedback").json()["feedback"]) == 1
    other = served.http.post(
        "/v1/feedback", json={**body, "outcome": "failed"}, headers={"Idempotency-Key": "k1"}
    )
    assert (other.status_code, other.json()["type"]) == (422, "urn:toolsearch:problem:idempotency-key")


def test_a_delete_that_is_sent_twice_has_the_same_answer(served: Served) -> None:
    key = {"Idempotency-Key": "k1"}
    assert [served.http.delete("/v1/tools/web__search", headers=key).status_code for _ in range(2)] == [
        204,
        204,
    ]
    assert served.http.delete("/v1/tools/web__search").status_code == 404


def test_a_write_that_fails_on_our_side_may_be_tried_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = served.app.state.service.catalog
    whole = catalog.change

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(catalog, "change", fail)
    key = {"Idempotency-Key": "k1"}
    assert served.http.put("/v1/tools/net__ping", json=PING, headers=key).status_code == 500
    monkeypatch.setattr(catalog, "change", whole)
    assert served.http.put("/v1/tools/net__ping", json=PING, headers=key).status_code == 201


def test_a_write_that_still_runs_is_not_begun_again() -> None:
    entered, release = threading.Event(), threading.Event()

    class Slow(HashingEmbedder):
        def embed_documents(self, texts: Sequence[str], **options: Any) -> Vectors:
            if any("Ping" in text for text in texts):
                entered.set()
                assert release.wait(20)
            return super().embed_documents(texts, **options)

    with service(embedder=Slow()) as served:
        put = {"url": "/v1/tools/net__ping", "json": PING, "headers": {"Idempotency-Key": "k1"}}
        statuses: list[int] = []
        thread = threading.Thread(target=lambda: statuses.append(served.http.put(**put).status_code))
        thread.start()
        assert entered.wait(20)
        assert served.http.put(**put).status_code == 409
        release.set()
        thread.join()
        assert statuses == [201]
        assert served.http.put(**put).status_code == 201


@pytest.mark.parametrize("key", ["", "a b", "a" * 201])
def test_an_idempotency_key_that_is_none_is_refused(served: Served, key: str) -> None:
    response = served.http.post("/v1/sessions", json={}, headers={b"idempotency-key": key.encode()})
    assert response.status_code == 422


def test_secrets_of_keys_are_not_kept_for_a_second_answer(served: Served, tmp_path: Path) -> None:
    body = {"name": "x", "scopes": ["admin"]}
    made = served.http.post("/v1/keys", json=body, headers={"Idempotency-Key": "k"}).json()
    again = served.as_key(made["secret"]).post("/v1/keys", json=body, headers={"Idempotency-Key": "k"}).json()
    assert made["secret"] != again["secret"]


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
        headers={"Content-Type": tools_router.LINES_TYPE, "Accept": tools_router.LINES_TYPE},
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
    response = served.http.post("/v1/tools/bulk", json=[PING], headers={"Accept": tools_router.LINES_TYPE})
    last = json.loads(response.text.splitlines()[-1])
    assert (last["stage"], last["problem"]["status"]) == ("failed", 500)
    assert "/secret" not in response.text


def test_hostile_definitions_are_taken_or_told(served: Served) -> None:
    """E164."""
    deep = '{"type": "object", "properties": {"x": ' * 500 + "{}" + "}}" * 500
    properties = {f"p{i}": {} for i in range(2000)}
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
        with httpx.Client(base_url=served.url, timeout=20) as http:
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


def test_writers_at_once_lose_nothing(served: Served) -> None:
    def put(n: int) -> None:
        with httpx.Client(base_url=served.url, timeout=20) as http:
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


def test_the_list_of_a_session_grows_at_its_end_only(served: Served) -> None:
    """E153, E157."""
    before: list[Any] = []
    for query in ("send_email", "get_weather", "list_events"):
        body = {"arguments": {"queries": [query], "limit": 1}}
        served.http.post("/v1/sessions/s/search", json=body)
        texts = {served.http.get("/v1/sessions/s/tools").text for _ in range(2)}
        assert len(texts) == 1
        tools = json.loads(texts.pop())["tools"]
        assert tools[: len(before)] == before
        assert len(tools) == len(before) + (2 if not before else 1)
        before = tools
    bridged = served.http.get("/v1/sessions/s/tools", params={"delivery": "bridge"}).json()["tools"]
    assert [tool["function"]["name"] for tool in bridged] == ["tool_search", "call_tool"]


def test_sessions_are_forgotten_in_the_end() -> None:
    """E155."""
    with service(max_sessions=3) as served:
        for n in range(5):
            served.http.post(f"/v1/sessions/s{n}/load", json={"names": ["web__search"]})
        kept = [served.http.get(f"/v1/sessions/s{n}").json()["discovered"] for n in range(5)]
        assert kept == [[], [], ["web__search"], ["web__search"], ["web__search"]]


def test_a_bad_call_of_the_search_is_told_to_the_model(served: Served) -> None:
    """E117, E119."""
    for arguments in ({"queries": "mail", "limit": 0}, {"queries": "  "}, {"queries": None}, {"q": 1}, {}):
        result = served.http.post("/v1/sessions/s/search", json={"arguments": arguments}).json()
        assert (result["is_error"], result["discovered"]) == (True, [])
    assert served.http.get("/v1/sessions/s").json()["discovered"] == []


def test_a_tool_that_is_gone_is_no_longer_sent(served: Served) -> None:
    served.http.post("/v1/sessions/s/load", json={"names": ["web__search", "geo__get_weather"]})
    served.http.delete("/v1/tools/web__search")
    assert served.http.get("/v1/sessions/s").json()["discovered"] == ["geo__get_weather"]


def shout(text: str) -> Tool:
    async def call(arguments: dict[str, Any], context: Any) -> str:
        return f"{arguments['what']}{text} for {context.tenant or 'nobody'} in {context.session_id or '-'}"

    return Tool(raw_name="shout", description="Shout something.", call=call)


def test_without_tools_to_call_there_is_no_calling(served: Served) -> None:
    assert served.http.post("/v1/calls", json={"name": "web__search"}).status_code == 404


def test_a_tool_that_was_given_can_be_called() -> None:
    from toolsearch.api.keys import KeyScope

    tool = shout("!")
    with service((*OFFICE, tool), callable_tools=(tool,)) as served:
        done = served.http.post("/v1/calls", json={"name": "shout", "arguments": {"what": "Hey"}})
        assert done.json() == {"text": "Hey! for nobody in -", "is_error": False, "structured": None}
        failed = served.http.post("/v1/calls", json={"name": "shout", "arguments": {}})
        assert (failed.status_code, failed.json()["is_error"]) == (200, True)
        unknown = served.http.post("/v1/calls", json={"name": "web__search"})
        assert unknown.status_code == 404
        body = {"name": "shout", "arguments": {"what": "Hey"}, "session_id": "s"}
        assert served.http.post("/v1/calls", json=body).status_code == 404
        served.http.post("/v1/sessions/s/load", json={"names": ["shout"]})
        assert served.http.post("/v1/calls", json=body).json()["text"] == "Hey! for nobody in s"
        assert served.http.get("/v1/usage").json()["total"]["calls"] == 3
        blind = served.as_key(served.key(KeyScope.CALL, deny=("shout",)))
        assert blind.post("/v1/calls", json={"name": "shout"}).status_code == 404
        seeing = served.as_key(served.key(KeyScope.SEARCH))
        assert seeing.post("/v1/calls", json={"name": "shout"}).status_code == 403


def test_the_document_of_the_api_has_an_example_for_every_body(served: Served) -> None:
    document = served.http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["operationId"], (method, path)
            assert operation["summary"]
            assert "application/problem+json" in operation["responses"]["4XX"]["content"]
            for content in operation.get("requestBody", {}).get("content", {}).values():
                assert "example" in json.dumps(_resolved(content, document)), (method, path)


def _resolved(value: Any, document: Any) -> Any:
    """`value` with the schema that it refers to, one step deep."""
    schemas = document["components"]["schemas"]
    text = json.dumps(value)
    return [value, *(schema for name, schema in schemas.items() if f'schemas/{name}"' in text)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
BODIES = (
    "/v1/search",
    "/v1/search/batch",
    "/v1/sessions",
    "/v1/sessions/s/search",
    "/v1/sessions/s/load",
    "/v1/sessions/s/forget",
    "/v1/render",
    "/v1/feedback",
    "/v1/tools/bulk",
)
FIELDS = ("queries", "k", "names", "tool", "outcome", "arguments", "id", "searches", "name", "scopes", "form")


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Served]:
    with service() as served:
        yield served


@given(
    path=st.sampled_from(BODIES),
    body=JSON | st.dictionaries(st.sampled_from(FIELDS), JSON, min_size=1),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_body_is_too_much_for_the_service(fuzzed: Served, path: str, body: Any) -> None:
    content = json.dumps(body).encode()
    response = fuzzed.http.post(path, content=content, headers={"Content-Type": "application/json"})
    assert response.status_code < 500, (path, body, response.text)
    response.json()


@given(part=st.text(min_size=1, max_size=30), query=st.text(max_size=30))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_path_is_too_much_for_the_service(fuzzed: Served, part: str, query: str) -> None:
    for path in ("/v1/tools", "/v1/sessions", "/v1/sources", "/v1/catalogs"):
        for method in ("GET", "DELETE"):
            assert fuzzed.http.request(method, f"{path}/{quote(part, safe='')}").status_code < 500
    assert fuzzed.http.get("/v1/tools", params={"cursor": query, "tag": part}).status_code < 500
