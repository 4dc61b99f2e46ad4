"""Running the service: reload, stopping under load, limits of a key, and the audit log."""

import contextlib
import json
import logging
import os
import queue
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.retrieval.support import OFFICE
from tests.server.support import StuckEmbedder, service, until
from toolsearch.api.scopes import KeyScope
from toolsearch.cli.app import app
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.retrieval.building import build_index
from toolsearch.tools import JsonObject, Tool, ToolContext

ONE_PROCESS = """
import gc, sys, time
from toolsearch import build_index
from toolsearch.server import create_app, serving
from toolsearch.testing import HashingEmbedder
from tests.retrieval.support import OFFICE
import httpx

embedder = HashingEmbedder()
app = create_app(build_index(OFFICE, embedder), embedder=embedder, own_process=sys.argv[1] == "own")
with serving(app) as url:
    while httpx.get(url + "/readyz").status_code != 200:
        time.sleep(0.01)
    print(gc.get_freeze_count() > 0)
"""

PING = {"name": "ping", "server": "net", "description": "Ping a host."}


def test_searches_do_not_wait_for_changes_that_wait_for_each_other() -> None:
    embedder = StuckEmbedder("glacial")
    with service(embedder=embedder, max_running=2) as served:

        def put(name: str, description: str) -> None:
            body = {"name": name, "description": description}
            assert served.http.put(f"/v1/tools/{name}", json=body).status_code == 201

        changes = [threading.Thread(target=put, args=("slow", "A glacial tool."))]
        changes[0].start()
        assert embedder.entered.wait(20)
        changes += [threading.Thread(target=put, args=(f"ping{n}", "Ping a host.")) for n in range(4)]
        for change in changes[1:]:
            change.start()
        until(lambda: "toolsearch_work 5\n" in served.http.get("/metrics").text)
        answered = served.http.post("/v1/search", json={"queries": "send email"}, timeout=10)
        assert answered.status_code == 200
        assert served.http.get("/v1/tools").json()["total"] == len(OFFICE)
        embedder.release.set()
        for change in changes:
            change.join()
        assert served.http.get("/v1/tools").json()["total"] == len(OFFICE) + 5


def test_a_key_may_have_so_many_requests_running_and_others_are_not_held_up() -> None:
    embedder = StuckEmbedder("slow query")
    with service(embedder=embedder, max_per_key=1, max_running=4) as served:
        one, other = served.as_key(served.key()), served.as_key(served.key())
        body = {"queries": "slow query"}
        answered = queue.Queue[int]()
        asking = threading.Thread(target=lambda: answered.put(one.post("/v1/search", json=body).status_code))
        asking.start()
        assert embedder.entered.wait(20)
        refused = one.get("/v1/sources")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert other.get("/v1/sources").status_code == 200
        embedder.release.set()
        asking.join()
        assert answered.get() == 200
        assert one.get("/v1/sources").status_code == 200


def test_changes_and_attempts_are_in_the_audit_log_without_secrets_and_definitions(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with service() as served, caplog.at_level(logging.INFO, "toolsearch.audit"):
        admin, reader = served.as_key(served.key(KeyScope.ADMIN)), served.as_key(served.key())
        admin.put("/v1/tools/net__ping", json=PING)
        made = admin.post("/v1/keys", json={"name": "bot", "scopes": ["search"]}).json()
        reader.delete("/v1/tools/net__ping")
        admin.delete(f"/v1/keys/{made['key']['id']}")
        admin.get("/v1/tools/net__ping")
        reader.post("/v1/search", json={"queries": "s3cr3t"})
    lines = [record.getMessage() for record in caplog.records if record.name == "toolsearch.audit"]
    said = [line.partition(", ")[2].partition(", request")[0] for line in lines]
    assert said == [
        "PUT /v1/tools/{name} name='net__ping', done with 201",
        f"POST /v1/keys key_id='{made['key']['id']}', done with 201",
        "DELETE /v1/tools/{name} -, refused with 403",
        f"DELETE /v1/keys/{{key_id}} key_id='{made['key']['id']}', done with 204",
    ]
    for secret in (made["secret"], "Ping a host", "s3cr3t", "Bearer"):
        assert secret not in "\n".join(lines)


def test_who_was_not_let_in_is_in_the_audit_log_without_what_the_path_says(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with service() as served, caplog.at_level(logging.INFO, "toolsearch.audit"):
        served.key()
        for method, path in (
            ("POST", "/v1/keys"),
            ("DELETE", "/v1/keys/ts_s3cr3t"),
            ("PUT", "/v1/tools/bulk"),
            ("DELETE", "/v1/keys/ts_s3cr3t/" + "s3cr3t" * 1000),
            ("POST", "/v1/calls"),
            ("GET", "/v1/keys"),
            ("POST", "/v1/feedback"),
        ):
            assert served.http.request(method, path).status_code == 401
        served.http.delete("/v1/tools/mail__send_email", headers={"Origin": "https://elsewhere.example"})
    assert _audited(caplog) == [
        "key -, POST /v1/keys -, refused with 401",
        "key -, DELETE /v1/keys/{key_id} -, refused with 401",
        "key -, PUT /v1/tools/{name} -, refused with 401",
        "key -, DELETE /v1/keys/(unknown) -, refused with 401",
        "key -, POST /v1/calls/(unknown) -, refused with 401",
        "key -, DELETE /v1/tools/{name} -, refused with 403",
    ]


def test_uploads_are_in_the_audit_log_by_numbers(caplog: pytest.LogCaptureFixture) -> None:
    told = {"Accept": "application/x-ndjson", "Content-Type": "application/x-ndjson"}
    with service() as served, caplog.at_level(logging.INFO, "toolsearch.audit"):
        once = {"Idempotency-Key": "one"}
        for _ in range(2):
            served.http.post("/v1/tools/bulk", json=[PING], headers=once)
        served.http.put("/v1/sources/net", content=json.dumps({**PING, "name": "pong"}), headers=told)
        broken = {**told, "Content-Type": "application/json"}
        assert '"failed"' in served.http.post("/v1/tools/bulk", content=b"{", headers=broken).text
    assert _audited(caplog) == [
        "key -, POST /v1/tools/bulk added='1' changed='0' unchanged='0' removed='0', done with 200",
        "key -, POST /v1/tools/bulk -, answered again with 200",
        "key -, PUT /v1/sources/{source} source='net' added='1' changed='0' unchanged='0' removed='1', "
        "done with 200",
        "key -, POST /v1/tools/bulk -, refused with 422",
    ]


def test_lines_of_progress_come_while_the_work_goes_on_and_who_leaves_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    embedder = StuckEmbedder("slow tool")
    slow = [{**PING, "description": "A slow tool."}]
    told = {"Accept": "application/x-ndjson"}
    with service(embedder=embedder) as served, caplog.at_level(logging.INFO, "toolsearch.audit"):
        with served.http.stream("POST", "/v1/tools/bulk", json=slow, headers=told) as answer:
            assert json.loads(next(answer.iter_lines()))["stage"] == "read"
            assert embedder.entered.wait(20)
        until(lambda: bool(_audited(caplog)))
        assert _audited(caplog) == ["key -, POST /v1/tools/bulk -, left before its end with 200"]
        embedder.release.set()
        until(lambda: served.http.get("/v1/tools/net__ping").status_code == 200)


def test_all_lines_of_progress_come(tmp_path: Path) -> None:
    embedder = StuckEmbedder("slow tool")
    slow = [{**PING, "description": "A slow tool."}]
    told = {"Accept": "application/x-ndjson"}
    with (
        service(embedder=embedder, folder=tmp_path / "index") as served,
        served.http.stream("POST", "/v1/tools/bulk", json=slow, headers=told) as answer,
    ):
        lines = answer.iter_lines()
        assert json.loads(next(lines))["stage"] == "read"
        assert embedder.entered.wait(20)
        embedder.release.set()
        stages = [json.loads(line)["stage"] for line in lines]
    assert list(dict.fromkeys(stages)) == ["embed", "save", "done"]


def test_calls_and_the_end_of_feedback_are_in_the_audit_log(caplog: pytest.LogCaptureFixture) -> None:
    async def run(arguments: JsonObject, context: ToolContext) -> JsonObject:
        del context
        return arguments

    tool = Tool(raw_name="send_email", source="mail", call=run)
    with (
        service(callable_tools=(tool,)) as served,
        caplog.at_level(logging.INFO, "toolsearch.audit"),
    ):
        admin = served.as_key(served.key(KeyScope.ADMIN))
        reader = served.as_key(served.key(tenant="acme"))
        call = {"name": "mail__send_email", "arguments": {"to": "s3cr3t"}}
        assert admin.post("/v1/calls", json=call).status_code == 200
        assert reader.post("/v1/calls", json=call).status_code == 403
        assert admin.delete("/v1/feedback?tenant=acme").status_code == 204
        assert reader.delete("/v1/feedback").status_code == 403
    assert [line.partition(", ")[2] for line in _audited(caplog)] == [
        "POST /v1/calls tool='mail__send_email', done with 200",
        "POST /v1/calls -, refused with 403",
        "DELETE /v1/feedback tenant='acme', done with 204",
        "DELETE /v1/feedback -, refused with 403",
    ]


def test_keys_that_the_command_line_changes_are_in_the_audit_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = tmp_path / "service.db"
    runner = CliRunner()
    arguments = ["bot", "--scope", "admin", "--database", str(database), "--json"]
    first = json.loads(runner.invoke(app, ["keys", "add", *arguments]).stdout)
    with service(database=database) as served, caplog.at_level(logging.INFO, "toolsearch.audit"):
        second = json.loads(runner.invoke(app, ["keys", "add", *arguments]).stdout)
        admin = served.as_key(second["secret"])
        until(lambda: admin.get("/v1/keys").status_code == 200)
        runner.invoke(app, ["keys", "revoke", first["key"]["id"], "--database", str(database)])
        until(lambda: bool(admin.get("/v1/keys")) and len(_audited(caplog)) >= 2)
        made = admin.post("/v1/keys", json={"name": "more", "scopes": ["search"]}).json()["key"]["id"]
        assert admin.delete(f"/v1/keys/{made}").status_code == 204
    by_others = "by the command line, or by another process"
    own = second["key"]["id"]
    assert _audited(caplog) == [
        f"key {own} was made {by_others}",
        f"key {first['key']['id']} was revoked {by_others}",
        f"key {own}, POST /v1/keys key_id='{made}', done with 201",
        f"key {own}, DELETE /v1/keys/{{key_id}} key_id='{made}', done with 204",
    ]
    assert second["secret"] not in caplog.text


def _audited(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the lines of the audit log say, but for the ids of requests."""
    lines = [record.getMessage() for record in caplog.records if record.name == "toolsearch.audit"]
    return [line.removeprefix("audit: ").partition(", request")[0] for line in lines]


def test_a_name_with_line_ends_makes_no_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    with service() as served, caplog.at_level(logging.INFO, "toolsearch.audit"):
        served.http.delete("/v1/tools/a%0Aaudit: key root")
    (record,) = (record for record in caplog.records if record.name == "toolsearch.audit")
    assert "\n" not in record.getMessage()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build_index(OFFICE, BundledEmbedder()).save(tmp_path / "index")
    return tmp_path / "index"


class Process:
    """``toolsearch serve`` as a process of its own, with settings in a file."""

    def __init__(self, folder: Path, settings: str) -> None:
        self.config = folder.parent / "service.toml"
        self.config.write_text(settings)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.log = (folder.parent / "log").open("w+")
        command = [sys.executable, "-m", "toolsearch", "serve", str(folder), "--port", str(port)]
        self._process = subprocess.Popen(
            [*command, "--config", str(self.config)], stderr=self.log, env={**os.environ, "NO_COLOR": "1"}
        )
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)

    def __enter__(self) -> "Process":
        until(self._is_ready)
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self.log.close()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def ended(self) -> int:
        return self._process.wait(60)

    def told(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def _is_ready(self) -> bool:
        try:
            return self.http.get("/readyz").status_code == 200
        except httpx.TransportError:
            assert self._process.poll() is None, self.told()
            return False


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_hangup_reads_index_and_settings_again_and_drops_no_request(folder: Path) -> None:
    with Process(folder, "read_only = true\nmax_results = 3\n") as running:
        http = running.http
        assert len(http.post("/v1/search", json={"queries": "mail", "k": 5}).json()["hits"]) == 3
        statuses: Counter[int] = Counter()
        stop = threading.Event()

        def ask_on() -> None:
            with httpx.Client(base_url=http.base_url, timeout=60) as other:
                while not stop.is_set():
                    statuses[other.post("/v1/search", json={"queries": "mail"}).status_code] += 1

        asking = [threading.Thread(target=ask_on) for _ in range(3)]
        for thread in asking:
            thread.start()
        build_index(OFFICE[:4], BundledEmbedder()).save(folder)
        changed = ("read_only = true", "max_results = 2", "port = 1", "max_waiting = 9")
        proxies = ("proxy_exchanges = 7", "proxy_retries = 1")
        running.config.write_text("\n".join((*changed, *proxies)))
        running.signal(signal.SIGHUP)
        until(lambda: http.get("/v1/tools").json()["total"] == 4)
        until(lambda: len(http.post("/v1/search", json={"queries": "mail", "k": 5}).json()["hits"]) == 2)

        running.config.write_text("max_results = 'many'\n")
        running.signal(signal.SIGHUP)
        until(lambda: "The settings stay as they were" in running.told())
        assert len(http.post("/v1/search", json={"queries": "mail", "k": 5}).json()["hits"]) == 2
        stop.set()
        for thread in asking:
            thread.join()
        assert set(statuses) == {200}
        assert "count after a restart: max_waiting, proxy_exchanges\n" in running.told()


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_stopping_under_load_answers_every_request_that_was_taken(folder: Path) -> None:
    with Process(folder, "") as running:
        broken: list[Exception] = []
        statuses: Counter[int] = Counter()
        first = threading.Barrier(9, timeout=60)

        def ask_on() -> None:
            with httpx.Client(base_url=running.http.base_url, timeout=60) as http:
                statuses[http.post("/v1/search", json={"queries": "mail"}).status_code] += 1
                first.wait()
                while True:
                    try:
                        statuses[http.post("/v1/search", json={"queries": "mail"}).status_code] += 1
                    except (httpx.NetworkError, httpx.RemoteProtocolError) as exc:
                        broken.append(exc)
                        return

        asking = [threading.Thread(target=ask_on) for _ in range(8)]
        for thread in asking:
            thread.start()
        first.wait()
        running.signal(signal.SIGTERM)
        assert running.ended() in {0, -signal.SIGTERM}
        for thread in asking:
            thread.join()
        assert set(statuses) == {200}
        # A connection may be closed between two requests, but not within an answer.
        assert not [exc for exc in broken if "incomplete" in str(exc)]


class Streaming(BaseHTTPRequestHandler):
    """A provider that sends half of an answer, and the rest when it is let go on."""

    sent, go_on = threading.Event(), threading.Event()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"data: one\n\n")
        self.sent.set()
        assert self.go_on.wait(60)
        self.wfile.write(b"data: two\n\n")

    def log_message(self, *_: object) -> None: ...


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_stream_of_a_provider_ends_whole_after_the_service_was_stopped(folder: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Streaming) as provider:
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        upstream = f"http://127.0.0.1:{provider.server_address[1]}"
        with (
            Process(folder, f'proxy = true\nopenai_upstream = "{upstream}"\n') as running,
            running.http.stream("GET", "/openai/v1/events") as answer,
        ):
            parts = answer.iter_bytes()
            assert next(parts) == b"data: one\n\n"
            running.signal(signal.SIGTERM)
            until(lambda: not _takes_connections(running.http.base_url))
            Streaming.go_on.set()
            assert b"".join(parts) == b"data: two\n\n"
            assert running.ended() in {0, -signal.SIGTERM}
        provider.shutdown()


def _takes_connections(url: httpx.URL) -> bool:
    try:
        socket.create_connection((url.host, url.port or 80), timeout=5).close()
    except OSError:
        return False
    return True


def test_the_file_of_the_service_is_written_ahead(tmp_path: Path) -> None:
    database = tmp_path / "service.db"
    with service(database=database) as served:
        served.http.post("/v1/sessions/s/load", json={"names": ["mail__send_email"]})
        with contextlib.closing(sqlite3.connect(database)) as file:
            assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("process", ["own", "shared"])
def test_a_process_of_its_own_spares_what_is_loaded_the_search_for_garbage(process: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", ONE_PROCESS, process], capture_output=True, text=True, timeout=120, check=True
    )
    assert ran.stdout.split() == [str(process == "own")]
