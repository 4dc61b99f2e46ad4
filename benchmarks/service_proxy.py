"""What the model proxy of the service adds to a request whose answer has no search in it.

It is compared with a plain pass-through on the same stack (benchmarks/service_upstream.py): provider,
pass-through and proxy are asked in turn, request by request, each over a connection that stays open, so that
whatever else the machine does meets all of them. What one adds is its median less that of the provider. Two
requests: one with a few tools, which goes out as it came, and one with all tools of the demo catalog, of
which the model is sent `tool_search` alone, while the pass-through sends all of them.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.data import REPOSITORY
from benchmarks.service_process import HOST, Serving, free_port
from toolsearch.formats import write_tools
from toolsearch.sources.files import read_catalog
from toolsearch.tools import JsonObject

DEMO = REPOSITORY / "indexes" / "demo"
FEW = 5
ROUNDS = 1500
BLOCKS = 5
WARM_UP = 50
PATH = "/openai/v1/chat/completions"


def proxied() -> JsonObject:
    """Added latencies and their ratios, with few tools and with many; `ratio` is the worse of the two."""
    tools = write_tools(read_catalog(DEMO / "catalog").catalog.values(), "openai_chat")
    with ExitStack() as running:
        provider = running.enter_context(_process("provider"))
        plain = running.enter_context(_process("plain", "--upstream", f"http://{HOST}:{provider.port}"))
        upstream = f"http://{HOST}:{provider.port}/openai/v1"
        service = running.enter_context(Serving(DEMO / "index", "--openai-upstream", upstream))
        few = _compared(provider, plain, service, tools[:FEW])
        many = _compared(provider, plain, service, tools)
    worse = max(few, many, key=lambda part: part["ratio"])
    return {
        "tools": len(tools),
        "few_tools": few,
        "many_tools": many,
        "ratio": worse["ratio"],
        "ratios": worse["ratios"],
    }


def _compared(provider: Any, plain: Any, service: Any, tools: Any) -> JsonObject:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello there."}], "tools": tools}
    sent = json.dumps(body).encode()
    ends = {"direct": provider, "plain": plain, "proxy": service}
    _took_ms(HTTPConnection(HOST, service.port), sent)  # indexes the tools, which takes its time
    connections = {name: HTTPConnection(HOST, end.port) for name, end in ends.items()}
    took_ms = np.array(
        [[_took_ms(connection, sent) for connection in connections.values()] for _ in range(WARM_UP + ROUNDS)]
    )[WARM_UP:]
    for connection in connections.values():
        connection.close()
    blocks = np.median(took_ms.reshape(BLOCKS, -1, len(ends)), axis=1)
    ratios = (blocks[:, 2] - blocks[:, 0]) / (blocks[:, 1] - blocks[:, 0])
    middle = np.median(took_ms, axis=0)
    return {
        "tools": len(tools),
        **{f"{name}_p50_ms": round(float(value), 3) for name, value in zip(ends, middle, strict=True)},
        "ratios": [round(float(ratio), 3) for ratio in ratios],
        "ratio": round(float((middle[2] - middle[0]) / (middle[1] - middle[0])), 3),
    }


def _took_ms(connection: HTTPConnection, body: bytes) -> float:
    started = time.perf_counter()
    connection.request("POST", PATH, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    read = answer.read()
    took_s = time.perf_counter() - started
    assert answer.status == 200, read
    return took_s * 1000


@contextmanager
def _process(kind: str, *options: str) -> Iterator[Any]:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.service_upstream", kind, "--port", str(port), *options]
    process = subprocess.Popen(command, cwd=REPOSITORY)
    try:
        deadline = time.perf_counter() + 60
        while not _listens(port):
            assert process.poll() is None, "it has ended"
            assert time.perf_counter() < deadline, "it never listens"
            time.sleep(0.05)
        yield SimpleNamespace(port=port)
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
