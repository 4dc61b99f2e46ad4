"""Small catalogs and searchers for the tests of retrieval."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.retrieval.base import SearchRequest, SearchResult
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

OFFICE = (
    Tool(raw_name="send_email", source="mail", description="Send an email message.", tags=("mail",)),
    Tool(raw_name="search_mail", source="mail", description="Find emails by text.", read_only=True),
    Tool(
        raw_name="create_event", source="calendar", description="Add an event to a calendar.", tags=("time",)
    ),
    Tool(raw_name="list_events", source="calendar", description="List calendar events.", read_only=True),
    Tool(raw_name="get_weather", source="geo", description="Current weather of a city.", read_only=True),
    Tool(raw_name="search", source="web", description="Search the web.", read_only=True),
    Tool(raw_name="search", source="files", description="Search files by name.", read_only=True),
)


def searcher(
    tools: Iterable[Tool] = OFFICE, *, embedder: Embedder | None = None, **options: Any
) -> ToolSearcher:
    """A searcher over `tools`, by default with the hashing embedder."""
    embedder = embedder or HashingEmbedder()
    return ToolSearcher(build_index(Catalog(tools), embedder), embedder, **options)


def search(over: ToolSearcher, *queries: str, **request: Any) -> SearchResult:
    return over.search(SearchRequest(queries=queries, **request))
