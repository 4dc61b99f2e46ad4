"""Answers over HTTP, read within a time and up to a size."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing
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
    request = client.build_request("POST", url, json=body, timeout=timeout_s)
    # As it was given, which may be a `QuietURL`.
    request.url = url
    with closing(client.send(request, stream=True)) as response:
        # Wrapped below the decoder, which may swallow piece after piece and give nothing.
        stream = cast("httpx.SyncByteStream", response.stream)
        response.stream = _TimedStream(stream, deadline, timeout_s, monotonic)
        beginning = _Beginning(max_bytes)
        for piece in response.iter_bytes():
            if not beginning.takes(piece):
                break
        return beginning.of(response)


async def read(response: httpx.Response, *, max_bytes: int) -> Answer:
    """The answer of a response that is still to be read; of a longer one the first `max_bytes`.

    Raises:
        httpx.RequestError: it breaks off, or cannot be decoded.
    """
    beginning = _Beginning(max_bytes)
    async for piece in response.aiter_bytes():
        if not beginning.takes(piece):
            break
    return beginning.of(response)


@asynccontextmanager
async def within(timeout_s: float, problem: str) -> AsyncIterator[None]:
    """Ends what takes longer than `timeout_s`.

    Raises:
        httpx.ReadTimeout: it took longer; says `problem` and after how long.
    """
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError:
        raise httpx.ReadTimeout(_too_late(problem, timeout_s)) from None


class _Beginning:
    """The first `max_bytes` of an answer."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._content = bytearray()

    def takes(self, piece: bytes) -> bool:
        """Whether more may follow."""
        self._content += piece
        return len(self._content) <= self._max_bytes

    def of(self, response: httpx.Response) -> Answer:
        content = bytes(self._content[: self._max_bytes])
        is_whole = len(self._content) <= self._max_bytes
        return Answer(response.status_code, response.headers, content, is_whole)


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
                raise httpx.ReadTimeout(_too_late("the answer was not complete", self._timeout_s))
            yield piece

    def close(self) -> None:
        self._stream.close()


def _too_late(problem: str, timeout_s: float) -> str:
    return f"{problem} after {timeout_s:g} s"
