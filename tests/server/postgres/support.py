"""Replicas of the service on one PostgreSQL database: in this process, or as processes of their own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from tests.server.support import Served, service
from toolsearch.embedders.base import Embedder
from toolsearch.postgres.url import DatabaseUrl

ROOT = Path(__file__).parents[3]
DEMO = ROOT / "indexes" / "demo" / "index"


@contextlib.contextmanager
def replicas(
    url: DatabaseUrl,
    n: int = 2,
    *,
    embedder: Embedder | None = None,
) -> Iterator[list[Served]]:
    """Services that are ready, each with a catalog of its own in memory; the first fills the database."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(service(database=url, embedder=embedder)) for _ in range(n)]


@contextlib.contextmanager
def process(url: DatabaseUrl, *arguments: object) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """``toolsearch serve`` on the database as a process, and the address that it says."""
    command = [sys.executable, "-m", "toolsearch", "serve", *map(str, arguments), "--port", "0"]
    environment = {"PYTHONPATH": str(ROOT), "TOOLSEARCH_SERVER_DATABASE": url.text}
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | environment)
    assert running.stderr is not None
    said: list[str] = []
    try:
        for line in running.stderr:
            said.append(line)
            found = re.search(r"at (http://\S+)", line)
            if found:
                break
        else:
            raise AssertionError("".join(said))
        # Whoever does not read what it says holds it up in the end.
        reading = threading.Thread(target=said.extend, args=(running.stderr,), daemon=True)
        reading.start()
        yield found[1], running
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGINT)
            running.wait(timeout=60)
        running.stderr.close()


class Load:
    """Threads that call something again and again until they are stopped, and what went wrong there."""

    def __init__(self, *work: Callable[[], None]) -> None:
        self._stop = threading.Event()
        self.errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, args=(each,)) for each in work]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                work()
            except BaseException as exc:  # noqa: BLE001 - the test looks at it
                self.errors.append(exc)
                return


def definition(name: str, source: str = "net", text: str = "") -> dict[str, str]:
    return {"name": name, "server": source, "description": text or f"The tool {name}."}


def names(http: httpx.Client) -> set[str]:
    """Public names of all tools."""
    found: set[str] = set()
    cursor: str | None = ""
    while cursor is not None:
        page = http.get("/v1/tools", params={"limit": 500, **({"cursor": cursor} if cursor else {})}).json()
        found |= {tool["name"] for tool in page["tools"]}
        cursor = page["next_cursor"]
    return found
