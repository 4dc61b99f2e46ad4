"""Server-sent events out of bytes, however these are cut.

Source: WHATWG HTML Living Standard, section 9.2.6, "Interpreting an event stream".
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass

# Only these end a line. `str.splitlines` and with it `httpx` would also cut at U+2028, which JSON may hold.
_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"
_FIELD = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?::|data|event|id|retry)")
_FIELDS = (b"data:", b"event:", b"id:", b"retry:")
_BEGINNING = 1 << 16


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
    """The data of each event, in order; names, ids and comments are left out, and so are events without data.

    Unlike a browser this also gives a last event that no blank line follows: not every server sends one.
    """
    decoder = _Decoder()
    async for chunk in chunks:
        for data in decoder.feed(chunk):
            yield data
    for data in decoder.feed(b"\n\n"):
        yield data


@dataclass
class StreamMeter:
    """How much of a stream has come.

    Attributes:
        n_bytes, n_events: In all.
        since_event: Bytes since the last event.
        beginning: The first bytes, of a stream that has given no event yet.
        has_ended: No more bytes come: an event that comes now lacks its end.
    """

    n_bytes: int = 0
    n_events: int = 0
    since_event: int = 0
    beginning: bytes = b""
    has_ended: bool = False

    def take(self, chunk: bytes) -> None:
        """Bytes have come."""
        self.n_bytes += len(chunk)
        self.since_event += len(chunk)
        if not self.n_events and len(self.beginning) < _BEGINNING:
            self.beginning += chunk[:_BEGINNING]

    def end_event(self) -> None:
        """An event is complete."""
        self.n_events += 1
        self.since_event = 0

    @property
    def is_no_stream(self) -> bool:
        """Whether what came was something else than events: a page, or an answer in one piece."""
        begun = any(field.startswith(self.beginning) for field in _FIELDS)
        return not (self.n_events or begun or not self.beginning.strip() or _FIELD.match(self.beginning))


class _Decoder:
    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._data: list[bytes] = []
        self._started = False
        self._held = b""

    def feed(self, chunk: bytes) -> Iterator[str]:
        chunk = self._held + chunk
        # A CR at the end may be the first half of a CRLF.
        self._held = b"\r" if chunk.endswith(b"\r") else b""
        *lines, rest = _LINE_END.split(chunk.removesuffix(self._held))
        for line in lines:
            line = b"".join((*self._pending, line))  # noqa: PLW2901
            self._pending.clear()
            if not self._started:
                line = line.removeprefix(_BOM)  # noqa: PLW2901
                self._started = True
            if line:
                self._take(line)
            else:
                data = b"\n".join(self._data)
                self._data.clear()
                if data:
                    yield data.decode("utf-8", "replace")
        self._pending.append(rest)

    def _take(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
