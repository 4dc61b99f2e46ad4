"""The rounds of a request and their streams, of a client that blocks and of one that is awaited."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from typing import Any

from toolsearch.adapters.asked import Asked, is_raw, opened, raw_stream
from toolsearch.adapters.overlay import Overlay
from toolsearch.adapters.searching import Searching
from toolsearch.adapters.turn import Turn


def answered(searching: Searching, asked: Asked) -> Any:
    """What a client that blocks answers to a request, with the search rounds inside."""
    turn, asked = opened(searching, asked)
    if turn is None:
        return asked.as_it_is()
    if asked.route is not None and asked.route.counts:
        return asked.with_body(turn.request()).as_it_is()
    response = asked.round(turn)
    if asked.stream:
        if not is_raw(response):
            return _searched(response, turn, lambda: asked.round(turn))
        stream = _searched(response.parse(), turn, lambda: asked.round(turn).parse())
        return raw_stream(response, stream, lambda: stream)
    while True:
        read = response.parse() if is_raw(response) else response
        if (answer := turn.finished(read)) is not None:
            return asked.given_back(response, read, answer)
        response = asked.round(turn)


async def answered_async(searching: Searching, asked: Asked) -> Any:
    """What a client that is awaited answers to a request, with the search rounds inside."""
    turn, asked = await asyncio.to_thread(opened, searching, asked)
    if turn is None:
        return await asked.as_it_is()
    if asked.route is not None and asked.route.counts:
        return await asked.with_body(turn.request()).as_it_is()
    response = await asked.round(turn)

    async def next_round() -> Any:
        following = await asked.round(turn)
        return await _parsed(following) if is_raw(following) else following

    if asked.stream:
        if not is_raw(response):
            return _searched(response, turn, next_round)
        stream = _searched(await _parsed(response), turn, next_round)
        awaited = inspect.iscoroutinefunction(response.parse)
        return raw_stream(response, stream, (lambda: _soon(stream)) if awaited else lambda: stream)
    while True:
        read = await _parsed(response) if is_raw(response) else response
        if (answer := await asyncio.to_thread(turn.finished, read)) is not None:
            return asked.given_back(response, read, answer)
        response = await asked.round(turn)


async def _parsed(response: Any) -> Any:
    # Only some raw responses of awaited clients are awaited themselves.
    parsed = response.parse()
    return await parsed if inspect.isawaitable(parsed) else parsed


async def _soon(value: Any) -> Any:
    return value


def _searched(first: Any, turn: Turn, following: Callable[[], Any]) -> Any:
    """A stream like `first`, which is that of the first round, over all rounds."""
    kind: Any = type(first)
    return _stream_class(kind)(first, turn, following)


@cache
def _stream_class(base: Any) -> Any:
    rounds = _AsyncRounds if hasattr(base, "__aiter__") else _Rounds
    return type(f"Searched{base.__name__}", (rounds, base), {})


class _Rounds:
    """A stream of the client's own type whose chunks come from one round after the other."""

    def __init__(self, first: Any, turn: Turn, following: Callable[[], Any]) -> None:
        self._round = first
        self._is_closed = False
        self._chunks = self._shown(turn, following)

    @property
    def response(self) -> Any:
        """Of the round that is being read; to close it is to close the stream."""
        return Overlay(self._round.response, close=self.close)

    def __iter__(self) -> Iterator[Any]:
        yield from self._chunks

    def __next__(self) -> Any:
        return next(self._chunks)

    def close(self) -> None:
        self._is_closed = True
        self._round.close()

    def _shown(self, turn: Turn, following: Callable[[], Any]) -> Iterator[Any]:
        chunks = turn.chunks()
        while True:
            for chunk in self._round:
                yield from chunks.show(chunk)
            if self._is_closed:
                return  # what there is of the answer may look like a whole one
            if turn.take(chunks.answer()):
                yield from chunks.last()
                return
            chunks.start()
            self._round = following()


class _AsyncRounds:
    """`_Rounds` of a client that is awaited."""

    def __init__(self, first: Any, turn: Turn, following: Callable[[], Any]) -> None:
        self._round = first
        self._is_closed = False
        self._chunks = self._shown(turn, following)

    @property
    def response(self) -> Any:
        """Of the round that is being read; to close it is to close the stream."""
        return Overlay(self._round.response, aclose=self.close)

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for chunk in self._chunks:
            yield chunk

    async def __anext__(self) -> Any:
        return await anext(self._chunks)

    async def close(self) -> None:
        self._is_closed = True
        await self._round.close()

    async def aclose(self) -> None:
        await self.close()

    async def _shown(self, turn: Turn, following: Callable[[], Any]) -> AsyncIterator[Any]:
        chunks = turn.chunks()
        while True:
            async for chunk in self._round:
                for shown in chunks.show(chunk):
                    yield shown
            if self._is_closed:
                return  # as above
            if await asyncio.to_thread(turn.take, chunks.answer()):
                for shown in chunks.last():
                    yield shown
                return
            chunks.start()
            self._round = await following()
