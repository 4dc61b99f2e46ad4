"""An answer over HTTP, read within a time and up to a size."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx


@dataclass(frozen=True)
class Answer:
    """What a service answered; `content` is its beginning where it is not `is_whole`."""

    status: int
    headers: httpx.Headers
    content: bytes
    is_whole: bool

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")


def ask(
    client: httpx.Client,
    url: httpx.URL,
    body: Mapping[str, Any],
    *,
    timeout_s: float,
    max_bytes: int,
    monotonic: Callable[[], float] = time.monotonic,
) -> Answer:
    """The answer to `body`, posted as JSON; of a longer one the first `max_bytes`.

    A service that sends a byte now and then is not waited for: its answer must be there within `timeout_s`.

    Raises:
        httpx.RequestError: no answer, none in time, or one that cannot be decoded.
    """
    deadline = monotonic() + timeout_s
    with client.stream("POST", url, json=body, timeout=timeout_s) as response:
        # Wrapped below the decoder, which may swallow piece after piece and give nothing.
        stream = cast("httpx.SyncByteStream", response.stream)
        response.stream = _TimedStream(stream, deadline, timeout_s, monotonic)
        content = bytearray()
        for piece in response.iter_bytes():
            content += piece
            if len(content) > max_bytes:
                break
        is_whole = len(content) <= max_bytes
        return Answer(response.status_code, response.headers, bytes(content[:max_bytes]), is_whole)


class _TimedStream(httpx.SyncByteStream):
    """The pieces of another stream, until the deadline."""

    def __init__(
        self,
        stream: httpx.SyncByteStream,
        deadline: float,
        timeout_s: float,
        monotonic: Callable[[], float],
    ) -> None:
        self._stream = stream
        self._deadline, self._timeout_s, self._monotonic = deadline, timeout_s, monotonic

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            if self._monotonic() > self._deadline:
                raise httpx.ReadTimeout(f"the answer was not complete after {self._timeout_s:g} s")
            yield piece

    def close(self) -> None:
        self._stream.close()
