"""A provider that answers any path with what a script says, byte for byte, and may break off or wait."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from toolsearch.server import ServerSettings, serving

BREAK, WAIT = "break", "wait"


@dataclass(frozen=True)
class Reply:
    """Status, headers and pieces of a body: `BREAK` closes the connection, at `WAIT` the client is to."""

    body: tuple[bytes | str, ...] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)


@dataclass(frozen=True)
class Got:
    """A request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Scripted:
    """The requests so far; `gone` is set when a client goes away during `WAIT`, `waits` before it."""

    replies: Iterator[Reply]
    got: list[Got] = field(default_factory=list)
    waits: threading.Event = field(default_factory=threading.Event)
    gone: threading.Event = field(default_factory=threading.Event)
    state: SimpleNamespace = field(
        default_factory=lambda: SimpleNamespace(service=SimpleNamespace(settings=ServerSettings()))
    )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        query = scope["query_string"].decode()
        target = scope["raw_path"].decode() + (f"?{query}" if query else "")
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.got.append(Got(scope["method"], target, headers, body))
        reply = next(self.replies)
        if reply.body[:1] == (BREAK,) and not reply.status:
            raise ConnectionAbortedError
        raw = [(name.encode(), value.encode()) for name, value in reply.headers]
        await send({"type": "http.response.start", "status": reply.status, "headers": raw})
        for piece in reply.body:
            if piece == BREAK:
                return  # without an end, so the server closes the connection
            if piece == WAIT:
                self.waits.set()
                while (await receive())["type"] != "http.disconnect":
                    pass
                self.gone.set()
                return
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})


@contextlib.contextmanager
def scripted(*replies: Reply) -> Iterator[tuple[Scripted, str]]:
    """The provider and its base URL."""
    app: Any = Scripted(iter(replies))
    with serving(app) as url:
        yield app, url


async def _lifespan(receive: Any, send: Any) -> None:
    while (await receive())["type"] == "lifespan.startup":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})
