"""`Sending`: the response to a caller, begun when there is something to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import httpx

from toolsearch.exceptions import UpstreamError
from toolsearch.server.proxy.events import written_event
from toolsearch.server.proxy.headers import to_caller
from toolsearch.server.proxy.said import Said

if TYPE_CHECKING:
    from starlette.types import Send

SKIPPED = b"x-toolsearch-skipped"
"""Tells why the tools of a request went out as they came, where that is worth telling."""

_BEGINNINGS = frozenset(
    {"message_start", "ping", "response.created", "response.in_progress", "response.queued"}
)


class Sending:
    """One response.

    Attributes:
        has_begun: Whether the caller knows the status.
    """

    def __init__(self, send: Send, *, skipped: str = "") -> None:
        self._send = send
        self._skipped = skipped
        self._held = b""
        self.has_begun = False

    async def whole(self, response: httpx.Response, body: bytes) -> None:
        """`body` with status and headers of `response`."""
        length = (b"content-length", str(len(body)).encode())
        await self._begin(response, [*to_caller(response.headers.raw, anew=True), length])
        await self._send({"type": "http.response.body", "body": body})

    async def passed(self, response: httpx.Response) -> None:
        """`response` byte for byte, as it comes.

        Raises:
            UpstreamError: it broke off.
        """
        if response.is_closed:
            # Read for what it says.
            await self.whole(response, response.content)
            return
        await self._begin(response, to_caller(response.headers.raw))
        try:
            async for chunk in response.aiter_raw():
                await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        except httpx.HTTPError as exc:
            raise broken(exc) from exc
        await self.end()

    async def events(self, response: httpx.Response, events: Sequence[Said | bytes]) -> None:
        """More events of a stream. What only begins an answer waits for the rest: so a failure of a later
        round can still be told by its status."""
        if not events:
            return
        out = b"".join(map(written_event, events))
        if not self.has_begun and all(map(_only_begins, events)):
            self._held += out
            return
        await self._flush(response, out)

    async def last(self, response: httpx.Response, events: Sequence[Said | bytes]) -> None:
        """The events that end a stream."""
        await self._flush(response, b"".join(map(written_event, events)))
        await self.end()

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def failed(self, body: bytes) -> None:
        """An event that tells of an error in the middle of a stream, as its end."""
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _flush(self, response: httpx.Response, out: bytes) -> None:
        if not self.has_begun:
            await self._begin(response, to_caller(response.headers.raw, anew=True))
        out, self._held = self._held + out, b""
        if out:
            await self._send({"type": "http.response.body", "body": out, "more_body": True})

    async def _begin(self, response: httpx.Response, headers: list[tuple[bytes, bytes]]) -> None:
        self.has_begun = True
        if self._skipped:
            headers = [*headers, (SKIPPED, self._skipped.encode("ascii", "replace"))]
        await self._send({"type": "http.response.start", "status": response.status_code, "headers": headers})


def broken(error: httpx.HTTPError) -> UpstreamError:
    """The error for a response that did not come to its end."""
    late = isinstance(error, httpx.TimeoutException)
    return UpstreamError(f"The provider's answer broke off ({type(error).__name__}).", is_late=late)


def _only_begins(event: Said | bytes) -> bool:
    """Whether an event says nothing of the answer yet."""
    if isinstance(event, bytes):
        return False
    if event.type in _BEGINNINGS:
        return True
    choices = event.choices
    if not choices or choices[0].finish_reason is not None or choices[0].delta is None:
        return False
    return not any(value for name, value in choices[0].delta if name != "role")
