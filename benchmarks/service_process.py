"""The processes of benchmarks/service.py: the service, what loads it, and what it is compared with."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from benchmarks.data import REPOSITORY
from benchmarks.service_load import Plan
from toolsearch.tools import JsonObject

HOST = "127.0.0.1"
_READY_WITHIN_S = 300.0
_STOPPED_WITHIN_S = 60.0


class Serving:
    """``toolsearch serve`` over an index, from ready until the end of the block.

    Attributes:
        ready_s: From starting the process to a first positive answer of ``/readyz``.
    """

    def __init__(self, index: Path, *options: str, environment: dict[str, str] | None = None) -> None:
        self._index = index.resolve()
        self._options = options
        self._environment = environment
        self.port = free_port()
        self.ready_s = 0.0

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        command = [sys.executable, "-m", "toolsearch", "serve", str(self._index), "--no-save"]
        command += ["--port", str(self.port), *self._options]
        started = time.perf_counter()
        environment = {"PYTHONPATH": str(REPOSITORY), **(self._environment or {})}
        self._process = subprocess.Popen(
            command, cwd=self._folder.name, env=environment, stderr=subprocess.DEVNULL
        )
        while not self._is_ready():
            assert self._process.poll() is None, "the service has ended"
            assert time.perf_counter() - started < _READY_WITHIN_S, "the service is never ready"
            time.sleep(0.01)
        self.ready_s = time.perf_counter() - started
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOPPED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    @property
    def rss_mb(self) -> float:
        """Resident memory, what is mapped from the index included."""
        return round(psutil.Process(self._process.pid).memory_info().rss / 2**20, 1)

    @property
    def index_mb(self) -> float:
        return round(sum(file.stat().st_size for file in self._index.rglob("*") if file.is_file()) / 2**20, 1)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.port}/readyz", timeout=10) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def loaded(
    service: Serving,
    requests: Sequence[tuple[str, str, Any]],
    *,
    connections: int,
    seconds: float,
    total: int | None = None,
    rate: float | None = None,
    first: int = 0,
) -> JsonObject:
    """What came of a load; see benchmarks/service_load.py."""
    plan = Plan(HOST, service.port, list(requests), connections, seconds, total, rate, first=first)
    return _ran([sys.executable, "-m", "benchmarks.service_load"], json.dumps(asdict(plan)))


def step(name: str, index: Path, *options: str, given: str = "") -> JsonObject:
    """What a step of benchmarks/service_steps.py measured, and the seconds that its process took."""
    started = time.perf_counter()
    told = _ran(
        [sys.executable, "-m", "benchmarks.service_steps", name, "--index", str(index), *options], given
    )
    return {**told, "seconds": time.perf_counter() - started}


def _ran(command: Sequence[str], given: str) -> JsonObject:
    done = subprocess.run(command, cwd=REPOSITORY, input=given, stdout=subprocess.PIPE, text=True, check=True)
    told: JsonObject = json.loads(done.stdout)
    return told


def free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])
