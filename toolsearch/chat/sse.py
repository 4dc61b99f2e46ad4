"""Server-sent events out of bytes, however these are cut.

Source: WHATWG HTML Living Standard, section 9.2.6, "Interpreting an event stream".
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator

# Only these end a line. `str.splitlines` and with it `httpx` would also cut at U+2028, which JSON may hold.
_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


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


class _Decoder:
    def __init__(self) -> None:
        self._pending = b""
        self._data: list[bytes] = []
        self._started = False

    def feed(self, chunk: bytes) -> Iterator[str]:
        pending = self._pending + chunk
        # A CR at the end may be the first half of a CRLF.
        held = b"\r" if pending.endswith(b"\r") else b""
        *lines, rest = _LINE_END.split(pending.removesuffix(held))
        self._pending = rest + held
        for line in lines:
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

    def _take(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
