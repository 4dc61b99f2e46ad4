"""A server over HTTP: the client of the SDK's transports, with limits, and failures that name their cause."""

from __future__ import annotations

import math
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from toolsearch.sources.mcp.asked import CURRENT, Asked
from toolsearch.sources.mcp.mended_body import MendedEvents, MendedJson
from toolsearch.sources.mcp.wire import TOO_LONG

# Notifications are posted one after the other: one that hangs would hold up all that follows.
_NOTIFICATION_S = 30.0
_NOTIFICATION = re.compile(rb'"method"\s*:\s*"notifications/')
_LONGEST_NOTIFICATION = 10_000


def http_streams(
    url: str,
    *,
    headers: Mapping[str, str],
    auth: httpx2.Auth | None,
    connect_timeout_s: float,
    max_bytes: int,
) -> AbstractAsyncContextManager[Any]:
    """The streams of messages of a server that speaks streamable HTTP."""

    @asynccontextmanager
    async def streams() -> AsyncIterator[Any]:
        client = McpHttpClient(
            headers=dict(headers), auth=auth, timeout=_timeout(connect_timeout_s), max_bytes=max_bytes
        )
        async with (
            client,
            streamable_http_client(url, http_client=client, max_sse_event_size=max_bytes) as opened,
        ):
            yield opened

    return streams()


def sse_streams(
    url: str,
    *,
    headers: Mapping[str, str],
    auth: httpx2.Auth | None,
    connect_timeout_s: float,
    max_bytes: int,
) -> AbstractAsyncContextManager[Any]:
    """The streams of messages of a server that speaks the HTTP with SSE of 2024."""

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        del timeout
        limits = _timeout(connect_timeout_s)
        return McpHttpClient(headers=headers, auth=auth, timeout=limits, max_bytes=max_bytes)

    return sse_client(url, headers=dict(headers), auth=auth, httpx_client_factory=client)


class McpHttpClient(httpx2.AsyncClient):
    """Notes in `asked.CURRENT` what became of a request, and answers 502 where there is no answer.

    An exception would end the connection with all its other requests.
    """

    def __init__(self, *, max_bytes: int, **options: Any) -> None:
        super().__init__(**options)
        self._max_bytes = max_bytes

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The response to `request`; one of status 502 where none came."""
        asked = CURRENT.get()
        if request.method == "POST" and _is_notification(request):
            request.extensions = {**request.extensions, "timeout": httpx2.Timeout(_NOTIFICATION_S).as_dict()}
        try:
            response = await super().send(request, **options)
        except (httpx2.TransportError, ssl.SSLError) as exc:
            _note_failure(asked, exc)
            return httpx2.Response(502, request=request, content=b"")
        if asked is not None and response.status_code >= 400:
            asked.status = response.status_code
        if options.get("stream") and isinstance(response.stream, httpx2.AsyncByteStream):
            is_endless = response.headers.get("content-type", "").lower().startswith("text/event-stream")
            body = _Limited(response.stream, math.inf if is_endless else self._max_bytes, asked)
            if "content-encoding" in response.headers:
                # What is packed is read as it is.
                response.stream = body
            elif is_endless:
                response.stream = MendedEvents(body, max_bytes=self._max_bytes)
            else:
                response.stream = MendedJson(body)
        return response


class _Limited(httpx2.AsyncByteStream):
    """A body that ends with an error where it is too long, or breaks off.

    That of a stream of events may go on for ever: each event has a limit of its own.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: float, asked: Asked | None) -> None:
        self._stream = stream
        self._max_bytes = max_bytes
        self._asked = asked

    async def __aiter__(self) -> AsyncIterator[bytes]:
        n_bytes = 0
        try:
            async for chunk in self._stream:
                n_bytes += len(chunk)
                if n_bytes > self._max_bytes:
                    if self._asked is not None:
                        self._asked.failure = TOO_LONG
                    raise httpx2.StreamError(TOO_LONG)
                yield chunk
        except httpx2.TransportError as exc:
            _note_failure(self._asked, exc)
            raise httpx2.StreamError("the answer broke off") from exc

    async def aclose(self) -> None:
        await self._stream.aclose()


def _timeout(connect_timeout_s: float) -> httpx2.Timeout:
    """No limit to the wait for an answer: calls and lists have limits of their own."""
    return httpx2.Timeout(connect_timeout_s, read=None)


def _is_notification(request: httpx2.Request) -> bool:
    content = request.content
    return len(content) <= _LONGEST_NOTIFICATION and _NOTIFICATION.search(content) is not None


def _note_failure(asked: Asked | None, exc: Exception) -> None:
    if asked is None:
        return
    asked.is_sent = not isinstance(
        exc, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout | httpx2.UnsupportedProtocol
    )
    asked.failure = _reason(exc)


def _reason(exc: BaseException) -> str:
    """Why there is no answer, without the address, which may hold a password."""
    cause: BaseException | None = exc
    while cause is not None:
        if isinstance(cause, ssl.SSLError) or "certificate" in str(cause).lower():
            return f"has a certificate that is not trusted: {cause!s:.200}"
        cause = cause.__cause__ or cause.__context__
    if isinstance(exc, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return "cannot be reached in time"
    if isinstance(exc, httpx2.ConnectError):
        return f"cannot be reached: {exc!s:.200}"
    if isinstance(exc, httpx2.UnsupportedProtocol):
        return "has a url that is neither http nor https"
    if isinstance(exc, httpx2.TimeoutException):
        return "stopped answering"
    return f"broke the connection off ({type(exc).__name__})"
