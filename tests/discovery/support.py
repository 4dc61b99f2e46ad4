"""Conversations over the small office catalog."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from tests.retrieval.support import OFFICE, searcher
from toolsearch.catalog import Catalog
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery
from toolsearch.discovery.discoverer import Discoverer
from toolsearch.discovery.discovery import Discovery
from toolsearch.discovery.settings import DiscoveryOptions, DiscoverySettings
from toolsearch.embedders.base import Embedder
from toolsearch.messages import Message, ToolMessage, ToolResult
from toolsearch.retrieval.base import Retriever, SearchRequest, SearchResult
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.session.base import Session, SessionStore
from toolsearch.session.memory import MemorySessionStore
from toolsearch.tools import JsonObject, Tool, ToolContext


def opened(
    tools: Iterable[Tool] = OFFICE,
    *,
    delivery: Delivery = APPEND,
    store: SessionStore | None = None,
    session: str = "s",
    messages: Sequence[Message] = (),
    own: Sequence[Tool] = (),
    filters: Sequence[ToolFilter] = (),
    embedder: Embedder | None = None,
    catalog: Catalog | None = None,
    over: Retriever | None = None,
    **settings: Unpack[DiscoveryOptions],
) -> Discovery:
    """A conversation; with a `store`, one that it may already know."""
    retriever = over or searcher(tools, embedder=embedder)
    discoverer = Discoverer(retriever, catalog, DiscoverySettings(**settings), delivery)
    return discoverer.open(
        Session(store or MemorySessionStore(), session, "t"),
        delivery,
        messages=messages,
        own=own,
        filters=filters,
    )


class BrokenOnce:
    """A searcher over the office catalog whose first search fails."""

    def __init__(self, error: Exception) -> None:
        self._errors = [error]
        self._searcher = searcher()

    def search(self, request: SearchRequest) -> SearchResult:
        if self._errors:
            raise self._errors.pop()
        return self._searcher.search(request)


def select(discovery: Discovery, *names: str, **more: Any) -> ToolResult:
    """The result of loading tools by name."""
    return discovery.search({"queries": [f"select:{','.join(names)}"], **more})


def as_message(result: ToolResult, call_id: str = "c", name: str = "tool_search") -> ToolMessage:
    return ToolMessage(
        call_id=call_id,
        name=name,
        content=result.content,
        is_error=result.is_error,
        discovered=result.discovered,
        structured=result.structured,
    )


def text(result: ToolResult) -> str:
    return as_message(result).text


def loaded(discovery: Discovery) -> list[str]:
    return [tool.name for tool in discovery.offer().loaded]


def run(tool: Tool | None, arguments: JsonObject) -> ToolResult:
    """What a built-in tool answers."""

    async def called() -> ToolResult:
        assert tool is not None
        assert tool.call is not None
        result = await tool.call(arguments, ToolContext())
        assert isinstance(result, ToolResult)
        return result

    return asyncio.run(called())
