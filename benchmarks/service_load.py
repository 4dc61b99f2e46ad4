"""Sends requests to the service from a process of its own, as wrk does, and prints what came of them as JSON.

It is given a plan on standard input; see `Plan`. Requests are plain HTTP/1.1 over connections that stay open.
Closed: each of so many connections sends its next request when it has the answer to the one before. Open: so
many requests a second whatever becomes of them, each on a connection that is free, or on a new one.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import numpy as np

from toolsearch.tools import JsonObject

_ANSWER_WITHIN_S = 120.0


@dataclass(frozen=True)
class Plan:
    """What to send, and how.

    Attributes:
        requests: Method, path and JSON body (None for none) of each; they are sent in turn, again and again.
            ``{n}`` in a path or in a text of a body is the number of the request.
        connections: How many at once; for an open load how many at most.
        seconds: For how long.
        total: How many requests at most; None for any number.
        rate: Requests a second of an open load; None for a closed one.
        first: The number of the first request.
    """

    host: str
    port: int
    requests: list[tuple[str, str, Any]]
    connections: int
    seconds: float
    total: int | None = None
    rate: float | None = None
    headers: dict[str, str] = field(default_factory=dict)
    first: int = 0


@dataclass
class _Seen:
    """What came back: statuses, seconds until each answer with status 200 and the like, and what failed."""

    statuses: Counter[int] = field(default_factory=Counter)
    took_s: list[float] = field(default_factory=list)
    refused_without_time: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, status: int, head: bytes, took_s: float) -> None:
        self.statuses[status] += 1
        if status < 400:
            self.took_s.append(took_s)
        elif status == 429 and b"\r\nretry-after:" not in head.lower():
            self.refused_without_time += 1


class _Connection:
    """One connection, for one request after another."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes, seen: _Seen) -> None:
        """Send a request and wait for the whole answer."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(_ANSWER_WITHIN_S):
                status, head = await self._asked(request)
        except (OSError, EOFError, ValueError, TimeoutError, asyncio.LimitOverrunError) as exc:
            seen.failures[type(exc).__name__] += 1
            self.close()
            return
        seen.add(status, head, time.perf_counter() - started)
        if b"\r\nconnection: close" in head.lower():
            self.close()

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _asked(self, request: bytes) -> tuple[int, bytes]:
        if self._streams is not None and self._streams[0].at_eof():
            # The service closes connections that were idle for a while, as every client has to see.
            self.close()
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._plan.host, self._plan.port)
        reader, writer = self._streams
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        if status not in {204, 304}:
            _, _, rest = head.lower().partition(b"\r\ncontent-length:")
            await reader.readexactly(int(rest.partition(b"\r\n")[0]))
        return status, head


async def run(plan: Plan) -> JsonObject:
    """What came of the plan: requests a second, latencies of answers, statuses, failures."""
    seen = _Seen()
    requests = _numbered(plan)
    started = time.perf_counter()
    if plan.rate is None:
        await _closed(plan, requests, seen, started)
    else:
        await _open(plan, requests, seen, started)
    took_s = time.perf_counter() - started
    latencies = np.array(seen.took_s or [0.0]) * 1000
    return {
        "requests": sum(seen.statuses.values()) + sum(seen.failures.values()),
        "seconds": round(took_s, 2),
        "answers_per_s": round(len(seen.took_s) / took_s, 2),
        **{f"p{p}_ms": round(float(np.percentile(latencies, p)), 2) for p in (50, 95, 99)},
        "statuses": {str(status): n for status, n in sorted(seen.statuses.items())},
        "refused_without_retry_after": seen.refused_without_time,
        "failures": dict(seen.failures),
    }


async def _closed(plan: Plan, requests: Iterator[bytes], seen: _Seen, started: float) -> None:
    left = plan.total if plan.total is not None else sys.maxsize

    async def ask_on() -> None:
        nonlocal left
        connection = _Connection(plan)
        while left > 0 and time.perf_counter() - started < plan.seconds:
            left -= 1
            await connection.ask(next(requests), seen)
        connection.close()

    await asyncio.gather(*(ask_on() for _ in range(plan.connections)))


async def _open(plan: Plan, requests: Iterator[bytes], seen: _Seen, started: float) -> None:
    assert plan.rate is not None
    free: list[_Connection] = []
    tasks: set[asyncio.Task[None]] = set()

    async def ask(connection: _Connection, request: bytes) -> None:
        await connection.ask(request, seen)
        free.append(connection)

    for i in range(int(plan.rate * plan.seconds)):
        wait_s = started + i / plan.rate - time.perf_counter()
        # Also lets answers be read where the generator itself is late.
        await asyncio.sleep(max(wait_s, 0))
        if not free and len(tasks) >= plan.connections:
            seen.failures["no connection free"] += 1
            continue
        connection = free.pop() if free else _Connection(plan)
        task = asyncio.create_task(ask(connection, next(requests)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    for connection in free:
        connection.close()


def _numbered(plan: Plan) -> Iterator[bytes]:
    ready = [None if "{n}" in json.dumps(request) else _bytes(plan, *request) for request in plan.requests]
    for number, (request, raw) in enumerate(cycle(zip(plan.requests, ready, strict=True)), plan.first):
        yield raw or _bytes(plan, *json.loads(json.dumps(request).replace("{n}", str(number))))


def _bytes(plan: Plan, method: str, path: str, body: Any) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    headers = {"Host": f"{plan.host}:{plan.port}", "Content-Length": str(len(content)), **plan.headers}
    if content:
        headers["Content-Type"] = "application/json"
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join((*lines, "", "")).encode() + content


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(Plan(**json.load(sys.stdin))))))
