"""Bodies of answers over HTTP, mended so that one part that cannot be read leaves the others."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from toolsearch.sources.mcp.wire import readable

_DATA = b"data:"


class MendedJson(httpx2.AsyncByteStream):
    """A body that is one message, which whoever asked waits for as a whole."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield readable(b"".join([chunk async for chunk in self._stream]))

    async def aclose(self) -> None:
        await self._stream.aclose()


class MendedEvents(httpx2.AsyncByteStream):
    """A stream of events, each line of which goes on once it is whole; a longer one goes on as it comes."""

    def __init__(self, stream: httpx2.AsyncByteStream, *, max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts: list[bytes] = []
        length = 0
        is_passing = False
        async for chunk in self._stream:
            whole, end, rest = chunk.rpartition(b"\n")
            if end:
                lines = b"".join([*parts, whole, end])
                yield lines if is_passing else b"".join(map(_mended, lines.splitlines(keepends=True)))
                parts, length, is_passing = [], 0, False
            parts.append(rest)
            length += len(rest)
            if is_passing or length > self._max_bytes:
                is_passing = True
                yield b"".join(parts)
                parts = []
        yield b"".join(parts)

    async def aclose(self) -> None:
        await self._stream.aclose()


def _mended(line: bytes) -> bytes:
    if not line.startswith(_DATA):
        return line
    text = line[len(_DATA) :].strip()
    mended = readable(text) if text.startswith(b"{") else text
    return line if mended is text else b"data: " + mended + line[len(line.rstrip(b"\r\n")) :]
