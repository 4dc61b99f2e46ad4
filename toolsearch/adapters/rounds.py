"""The rounds of a call, with a client that blocks and with one that is awaited; and the streams of both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from functools import cache
from typing import Any

from toolsearch.adapters.api import Arguments, WireApi
from toolsearch.adapters.turn import Searching, Turn, caller_of

Send = Callable[..., Any]
"""Sends a request: a method of a client, or the opening of its stream."""


def searching_method(searching: Searching, api: WireApi, send: Send) -> Callable[..., Any]:
    """`send` of a client that blocks, with the search rounds inside."""

    def create(**request: Any) -> Any:
        turn, request = opened(searching, api, request)
        if turn is None:
            return send(**request)
        if request.get("stream") is True:
            return searched(send(**turn.request()), turn, send)
        while (response := turn.finished(send(**turn.request()))) is None:
            pass
        return response

    return create


def searching_async_method(searching: Searching, api: WireApi, send: Send) -> Callable[..., Awaitable[Any]]:
    """`send` of a client that is awaited, with the search rounds inside."""

    async def create(**request: Any) -> Any:
        turn, request = await asyncio.to_thread(opened, searching, api, request)
        if turn is None:
            return await send(**request)
        if request.get("stream") is True:
            return searched(await send(**turn.request()), turn, send)
        while (response := await asyncio.to_thread(turn.finished, await send(**turn.request()))) is None:
            pass
        return response

    return create


def searched(first: Any, turn: Turn, send: Send) -> Any:
    """A stream like `first`, which is that of the first round, over all rounds."""
    kind: Any = type(first)
    return _stream_class(kind)(first, turn, send)


def opened(searching: Searching, api: WireApi, request: Arguments) -> tuple[Turn | None, Arguments]:
    """The turn of a request, or None and the request as it goes out. It may have to build an index."""
    request = dict(request)
    caller = caller_of(request)
    tools = request.get("tools")
    # A client's own sign for "not given" is no list.
    listed = list(tools) if isinstance(tools, Iterable) else []
    turn = searching.open(api, {**request, "tools": listed}, caller)
    return turn, {**request, "tools": listed} if listed else request


@cache
def _stream_class(base: Any) -> Any:
    rounds = _AsyncRounds if hasattr(base, "__aiter__") else _Rounds
    return type(f"Searched{base.__name__}", (rounds, base), {})


class _Rounds:
    """A stream of the client's own type whose chunks come from one round after the other."""

    def __init__(self, first: Any, turn: Turn, send: Send) -> None:
        self._round = first
        self._chunks = self._shown(turn, send)

    @property
    def response(self) -> Any:
        """Of the round that is being read."""
        return self._round.response

    def __iter__(self) -> Iterator[Any]:
        yield from self._chunks

    def __next__(self) -> Any:
        return next(self._chunks)

    def close(self) -> None:
        self._round.close()

    def _shown(self, turn: Turn, send: Send) -> Iterator[Any]:
        chunks = turn.chunks()
        while True:
            for chunk in self._round:
                yield from chunks.show(chunk)
            if turn.take(chunks.answer()):
                yield from chunks.last()
                return
            chunks.start()
            self._round = send(**turn.request())


class _AsyncRounds:
    """`_Rounds` of a client that is awaited."""

    def __init__(self, first: Any, turn: Turn, send: Send) -> None:
        self._round = first
        self._chunks = self._shown(turn, send)

    @property
    def response(self) -> Any:
        """Of the round that is being read."""
        return self._round.response

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for chunk in self._chunks:
            yield chunk

    async def __anext__(self) -> Any:
        return await anext(self._chunks)

    async def close(self) -> None:
        await self._round.close()

    async def aclose(self) -> None:
        await self._round.close()

    async def _shown(self, turn: Turn, send: Send) -> AsyncIterator[Any]:
        chunks = turn.chunks()
        while True:
            async for chunk in self._round:
                for shown in chunks.show(chunk):
                    yield shown
            if await asyncio.to_thread(turn.take, chunks.answer()):
                for shown in chunks.last():
                    yield shown
                return
            chunks.start()
            self._round = await send(**turn.request())
