"""Tool search in ``client.messages.stream``: the client's helper, over the chunks of all rounds.

A helper reads its chunks from the stream that it has opened, so this stream is what is exchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from toolsearch.adapters.api import Arguments, WireApi
from toolsearch.adapters.rounds import opened, searched
from toolsearch.adapters.turn import Searching


def searching_helper(searching: Searching, api: WireApi, stream: Callable[..., Any]) -> Callable[..., Any]:
    """`stream` of a client that blocks, with the search rounds inside."""

    def searched_stream(**request: Any) -> HelperManager:
        return HelperManager(searching, api, stream, request)

    return searched_stream


def searching_async_helper(
    searching: Searching, api: WireApi, stream: Callable[..., Any]
) -> Callable[..., Any]:
    """`stream` of a client that is awaited, with the search rounds inside."""

    def searched_stream(**request: Any) -> AsyncHelperManager:
        return AsyncHelperManager(searching, api, stream, request)

    return searched_stream


class HelperManager:
    """The context manager of a stream helper; nothing is sent before it is entered."""

    def __init__(
        self, searching: Searching, api: WireApi, stream: Callable[..., Any], request: Arguments
    ) -> None:
        self._searching = searching
        self._api = api
        self._stream = stream
        self._request = request

    def __enter__(self) -> Any:
        turn, request = opened(self._searching, self._api, self._request)
        self._manager = self._stream(**(request if turn is None else turn.request()))
        helper = self._manager.__enter__()
        if turn is not None:
            helper._raw_stream = searched(helper._raw_stream, turn, self._open)
        return helper

    def __exit__(self, *error: Any) -> Any:
        return self._manager.__exit__(*error)

    def _open(self, **request: Any) -> Any:
        return self._stream(**request).__enter__()._raw_stream


class AsyncHelperManager:
    """`HelperManager` of a client that is awaited."""

    def __init__(
        self, searching: Searching, api: WireApi, stream: Callable[..., Any], request: Arguments
    ) -> None:
        self._searching = searching
        self._api = api
        self._stream = stream
        self._request = request

    async def __aenter__(self) -> Any:
        turn, request = await asyncio.to_thread(opened, self._searching, self._api, self._request)
        self._manager = self._stream(**(request if turn is None else turn.request()))
        helper = await self._manager.__aenter__()
        if turn is not None:
            helper._raw_stream = searched(helper._raw_stream, turn, self._open)
        return helper

    async def __aexit__(self, *error: Any) -> Any:
        return await self._manager.__aexit__(*error)

    async def _open(self, **request: Any) -> Any:
        return (await self._stream(**request).__aenter__())._raw_stream
