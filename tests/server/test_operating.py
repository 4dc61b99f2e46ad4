"""Running the service: reload, stopping under load, limits of a key, and the audit log."""

import logging
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import httpx
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.retrieval.support import OFFICE
from tests.server.support import StuckEmbedder, service, until
from toolsearch.api.scopes import KeyScope
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.retrieval.building import build_index

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


@pytest.mark.parametrize("process", ["own", "shared"])
def test_a_process_of_its_own_spares_what_is_loaded_the_search_for_garbage(process: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", ONE_PROCESS, process], capture_output=True, text=True, timeout=120, check=True
    )
    assert ran.stdout.split() == [str(process == "own")]
