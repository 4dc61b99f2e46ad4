"""`Connections`: ends those whose client sends the head of a request, or takes its answer, too slowly.

uvicorn closes a connection that says nothing after an answer, and waits for ever for the end of a head that
has begun, for the first byte of a new connection, and for a client to read.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

from toolsearch.api.problem import PREFIX, PROBLEM_TYPE
from toolsearch.server.incoming import LEAST_BYTES_S
from toolsearch.server.settings import ServerSettings

MAX_HEAD_BYTES = 64 * 1024
"""Of a request line and its headers; h11 has the same limit, and httptools has none."""

_HELD_BYTES = 16 * 1024
_LONGEST_PAUSE_S = 1.0

_log = logging.getLogger("toolsearch.server")


class Connections:
    """All of a server, looked at about once a second and more often where a limit is shorter."""

    def __init__(self, settings: Callable[[], ServerSettings], http: type[asyncio.Protocol]) -> None:
        """`settings` gives those of now, `http` speaks HTTP: a protocol class of uvicorn."""
        self._settings = settings
        self._http = http
        self._open: set[_Connection] = set()
        self._next: asyncio.TimerHandle | None = None

    @property
    def protocol(self) -> type[asyncio.Protocol]:
        """What uvicorn is to make of each connection."""
        owner, http = self, self._http

        class Protocol(_Connection):
            def __init__(self, **given: Any) -> None:
                super().__init__(owner, http(**given))

        return Protocol

    def add(self, connection: _Connection) -> None:
        """Look at `connection`, too, until it is lost."""
        self._open.add(connection)
        if self._next is None:
            self._plan()

    def discard(self, connection: _Connection) -> None:
        """It is lost."""
        self._open.discard(connection)

    def _plan(self) -> None:
        settings = self._settings()
        shortest_s = min(settings.header_timeout_s, settings.timeout_s)
        pause_s = min(_LONGEST_PAUSE_S, shortest_s / 4)
        self._next = asyncio.get_running_loop().call_later(pause_s, self._check)

    def _check(self) -> None:
        settings = self._settings()
        for connection in tuple(self._open):
            connection.check(head_s=settings.header_timeout_s, answer_s=settings.timeout_s)
        self._next = None
        if self._open:
            self._plan()


@dataclass(frozen=True)
class _Unsent:
    """So many bytes of answers waited for the client at that time."""

    n_bytes: int
    at: float


class _Connection(asyncio.Protocol):
    """One connection; all that it hears it tells the protocol that speaks HTTP."""

    def __init__(self, owner: Connections, http: asyncio.Protocol) -> None:
        self._owner = owner
        # What is known of its requests is the same in the protocols of uvicorn: `cycle`, the last one whose
        # head was read, and `scope`, which one that has only begun may replace.
        self._http: Any = http
        self._loop = asyncio.get_running_loop()
        self._began: float | None = self._loop.time()
        self._head_bytes = 0
        self._unsent: _Unsent | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        _hold_little(transport.get_extra_info("socket"))
        self._http.connection_made(transport)
        self._owner.add(self)

    def data_received(self, data: bytes) -> None:
        self._http.data_received(data)
        if not self._awaits_head:
            self._began, self._head_bytes = None, 0
            return
        if self._began is None:
            self._began = self._loop.time()
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES and self._has_begun:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large.")

    def eof_received(self) -> bool | None:
        return cast("bool | None", self._http.eof_received())

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.discard(self)
        self._http.connection_lost(exc)

    def pause_writing(self) -> None:
        self._http.pause_writing()

    def resume_writing(self) -> None:
        self._http.resume_writing()

    def check(self, *, head_s: float, answer_s: float) -> None:
        """End the connection where its client has been too slow."""
        now = self._loop.time()
        if self._is_stuck(now, answer_s):
            _log.info("A client that did not take its answer is dropped.")
            self._transport.abort()
        elif self._began is not None and now - self._began >= head_s and not self._transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "The headers of the request did not come in time.")

    def _is_stuck(self, now: float, answer_s: float) -> bool:
        """Whether the client took nearly nothing of what waits for it, for so long."""
        waiting, before = self._transport.get_write_buffer_size(), self._unsent
        if not waiting:
            self._unsent = None
        elif (
            before is None or waiting > before.n_bytes or before.n_bytes - waiting >= LEAST_BYTES_S * answer_s
        ):
            self._unsent = _Unsent(waiting, now)
        else:
            return now - before.at >= answer_s
        return False

    @property
    def _awaits_head(self) -> bool:
        """Whether every request whose head was read has been answered."""
        return self._http.cycle is None or self._http.cycle.response_complete

    @property
    def _has_begun(self) -> bool:
        """Whether what came since is of another request, not the rest of a body that nobody waits for."""
        return self._http.cycle is None or self._http.scope is not self._http.cycle.scope

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Close the connection, and say why where a request has begun."""
        _log.info("A connection is closed: %s", detail)
        if self._head_bytes and self._has_begun and not self._transport.is_closing():
            self._transport.write(_answer(status, detail))
        self._transport.close()


def _hold_little(connected: socket.socket | None) -> None:
    """Have the system take no more of an answer than it can soon send, so that what is left tells how fast
    a client takes it. Without this it shows in steps of a megabyte."""
    option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
    if option is not None and connected is not None and connected.family != getattr(socket, "AF_UNIX", None):
        connected.setsockopt(socket.IPPROTO_TCP, option, _HELD_BYTES)


def _answer(status: HTTPStatus, detail: str) -> bytes:
    kind = status.phrase.lower().replace(" ", "-")
    problem = {"type": PREFIX + kind, "title": status.phrase, "status": int(status), "detail": detail}
    body = json.dumps(problem).encode()
    head = (
        f"HTTP/1.1 {int(status)} {status.phrase}\r\nContent-Type: {PROBLEM_TYPE}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n\r\n"
    )
    return head.encode() + body
