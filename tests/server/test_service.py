"""Being alive and ready, problems, sizes, and what is counted."""

import asyncio
import json
import queue
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.retrieval.support import OFFICE
from tests.server.support import Served, StuckEmbedder, service, until
from toolsearch.embedders.base import Vectors
from toolsearch.embedders.cache import CachedEmbedder
from toolsearch.exceptions import StoreError, TooBusyError
from toolsearch.retrieval.building import build_index
from toolsearch.server import ServerSettings, create_app, serving
from toolsearch.server.rates import Rates
from toolsearch.server.running import make_server
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

    embedder = Loading()
    build_index(OFFICE, embedder).save(tmp_path / "index")
    embedder.waits = True
    app = create_app(tmp_path / "index", ServerSettings(port=0), embedder=embedder)
    with serving(app) as url, httpx.Client(base_url=url) as http:
        for _ in range(3):
            assert http.get("/healthz").status_code == 200
            early = http.get("/readyz")
            assert (early.status_code, early.json()["type"]) == (503, "urn:toolsearch:problem:not-ready")
            assert http.post("/v1/search", json={"queries": "mail"}).status_code == 503
        release.set()
        until(lambda: http.get("/readyz").status_code == 200)
        assert http.post("/v1/search", json={"queries": "send_email"}).status_code == 200


def test_the_encoder_is_loaded_when_the_service_starts_not_by_its_first_request(tmp_path: Path) -> None:
    class Slow(HashingEmbedder):
        warmed = threading.Event()

        def warm_up(self) -> None:
            self.warmed.set()

    embedder = Slow()
    index = build_index(OFFICE, embedder)
    create_app(index, ServerSettings(port=0), embedder=CachedEmbedder(embedder, tmp_path / "vectors"))
    assert embedder.warmed.wait(20)


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

    app = create_app(folder, ServerSettings(port=0), embedder=HashingEmbedder())
    with serving(app) as url, httpx.Client(base_url=url) as http:
        assert http.get("/readyz").status_code == 503
        assert str(tmp_path) not in http.post("/v1/search", json={"queries": "mail"}).text


def test_every_failure_is_a_problem_document(served: Served) -> None:
    for method, path, content, status in (
        ("GET", "/nothing", b"", 404),
        ("DELETE", "/v1/search", b"", 405),
        ("POST", "/v1/search", b"{", 400),
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


def test_methods_that_clients_make_up_are_one_in_the_metrics() -> None:
    """Else anybody could fill the memory with them, without a key."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    # httptools refuses what it does not know.
    with service(http=H11Protocol) as served:
        for n in range(5):
            assert served.http.request(f"MADE{n}", "/healthz").status_code == 405
        text = served.http.get("/metrics").text
    assert 'toolsearch_requests_total{method="(other)",route="/healthz",status="405"} 5' in text
    assert "MADE" not in text


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


def test_what_runs_is_finished_when_the_service_stops() -> None:
    embedder, urls = StuckEmbedder("slow query"), queue.Queue[str]()
    server = make_server(
        create_app(build_index(OFFICE, embedder), ServerSettings(port=0), embedder=embedder),
        ServerSettings(port=0),
        on_start=urls.put,
    )
    running = threading.Thread(target=server.run)
    running.start()
    with httpx.Client(base_url=urls.get(timeout=30), timeout=20) as http:
        until(lambda: http.get("/readyz").status_code == 200)
        statuses: list[int] = []

        def search() -> None:
            statuses.append(http.post("/v1/search", json={"queries": "slow query"}).status_code)

        asking = threading.Thread(target=search)
        asking.start()
        assert embedder.entered.wait(20)
        server.should_exit = True
        until(lambda: not server.servers[0].is_serving())
        assert statuses == []
        embedder.release.set()
        asking.join()
        running.join()
        assert statuses == [200]


def test_a_busy_service_is_ready(served: Served) -> None:
    work = served.app.state.service.work
    taken = work._most - work.taken
    work._taken += taken
    try:
        assert served.http.post("/v1/search", json={"queries": "mail"}).status_code == 429
        assert served.http.get("/readyz").status_code == 200
    finally:
        work._taken -= taken


def test_a_database_that_fails_is_told_without_its_path(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("unable to open /secret/path")

    monkeypatch.setattr(served.app.state.service.records, "add_feedback", fail)
    body = {"tool": "web__search", "outcome": "called"}
    response = served.http.post("/v1/feedback", json=body)
    assert (response.status_code, response.json()["type"]) == (503, "urn:toolsearch:problem:store")
    assert "/secret" not in response.text


@pytest.mark.parametrize(
    "error", [sqlite3.OperationalError("disk full"), StoreError("x", "is full")], ids=repr
)
def test_usage_that_cannot_be_written_in_the_end_does_not_keep_the_service_from_closing(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    closed = threading.Event()

    def fail(*_: object) -> None:
        raise error

    with service() as served:
        running = served.app.state.service
        running.owned.callback(closed.set)
        running.usage.called("t")
        monkeypatch.setattr(running.records, "add_usage", fail)
    assert closed.is_set()
    assert "Usage and rounds of the last seconds are lost" in caplog.text


def test_a_key_may_make_so_many_requests_and_others_are_not_held_up() -> None:
    with service(rate_per_s=0.001, rate_burst=2) as served:
        one, other = served.as_key(served.key()), served.as_key(served.key())
        assert [one.get("/v1/sources").status_code for _ in range(3)] == [200, 200, 429]
        assert 900 < int(one.get("/v1/sources").headers["retry-after"]) <= 1000
        assert other.get("/v1/sources").status_code == 200
        assert served.http.get("/readyz").status_code == 200


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    rates = Rates(2.0, 3, clock=lambda: now[0])
    for _ in range(3):
        rates.take("a")
    with pytest.raises(TooBusyError) as caught:
        rates.take("a")
    assert caught.value.retry_after_s == 0.5
    now[0] = 0.5
    rates.take("a")
    now[0] = 60
    for _ in range(3):
        rates.take("a")
    with pytest.raises(TooBusyError):
        rates.take("a")


def test_a_definition_that_no_encoding_can_carry_is_answered_all_the_same() -> None:
    broken = Tool(raw_name="broken", description="Half a character: \ud800", title="\ud800")
    with service((*OFFICE, broken)) as served:
        found = served.http.post("/v1/search", json={"queries": "broken", "k": 1, "form": "openai_chat"})
        assert found.json()["hits"][0]["description"] == "Half a character: \ud800"
        assert served.http.get("/v1/tools").json()["total"] == len(OFFICE) + 1
        assert served.http.get("/v1/catalogs/default/tools").status_code == 200
