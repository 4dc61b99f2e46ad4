"""The body of a request, read with an end to it, and the client that may go away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from typing import TYPE_CHECKING, cast

from starlette.datastructures import Headers

from toolsearch.exceptions import BodyTooLargeError, RequestRefusedError, SlowRequestError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope

LEAST_BYTES_S = 1024
"""Bytes a second that a client must keep up, once it has had its time."""

_SLOW = "The body of the request did not come in time."
_GONE = "http.disconnect"


async def read_body(scope: Scope, receive: Receive, *, limit: int, timeout_s: float) -> bytes:
    """The whole body.

    Raises:
        BodyTooLargeError, SlowRequestError: it is too long, or takes too long.
        RequestRefusedError: the client has gone.
    """
    stated = Headers(scope=scope).get("content-length", "0")
    if stated.isdecimal() and int(stated) > limit:
        raise BodyTooLargeError(limit)
    chunks: list[bytes] = []
    n_bytes = 0
    try:
        async with asyncio.timeout(timeout_s):
            async for chunk in Incoming(receive).chunks():
                chunks.append(chunk)
                n_bytes += len(chunk)
                if n_bytes > limit:
                    raise BodyTooLargeError(limit)
    except TimeoutError:
        raise SlowRequestError(_SLOW) from None
    return b"".join(chunks)


class Incoming:
    """A request as it comes in."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._is_read = asyncio.Event()

    async def chunks(self, *, timeout_s: float | None = None) -> AsyncIterator[bytes]:
        """The body piece by piece, of any length.

        With `timeout_s` no more than that is waited for it in all, beside what `LEAST_BYTES_S` allow for.

        Raises:
            RequestRefusedError: the client has gone.
            SlowRequestError: it is too slow.
        """
        more = True
        left_s = timeout_s
        while more:
            asked = time.monotonic()
            try:
                async with asyncio.timeout(left_s):
                    message = await self._receive()
            except TimeoutError:
                raise SlowRequestError(_SLOW) from None
            if timeout_s is not None and left_s is not None:
                earned_s = len(message.get("body", b"")) / LEAST_BYTES_S
                left_s = min(timeout_s, left_s + earned_s - (time.monotonic() - asked))
            if message["type"] == _GONE:
                raise RequestRefusedError("The client has gone.")
            more = message.get("more_body", False)
            yield message.get("body", b"")
        self._is_read.set()

    def read(self) -> None:
        """The body is not wanted, or has been read already."""
        self._is_read.set()

    async def while_there(self, work: Awaitable[None]) -> None:
        """Do `work`, and stop it when the client goes away. Nothing is raised then."""
        working = cast("asyncio.Task[None]", asyncio.current_task())
        is_gone = False

        async def watch() -> None:
            nonlocal is_gone
            await self._is_read.wait()
            while (await self._receive())["type"] != _GONE:
                pass
            is_gone = True
            working.cancel()

        watching = asyncio.ensure_future(watch())
        try:
            await work
        except asyncio.CancelledError:
            # Somebody else may want this task to end, too.
            if not is_gone or working.uncancel() > 0:
                raise
        finally:
            watching.cancel()
