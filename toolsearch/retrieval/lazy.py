"""`CatalogSearcher`: a searcher that indexes its catalog when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from toolsearch.api.usage import Outcome
from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.given import Tools
from toolsearch.retrieval.base import SearchRequest, SearchResult
from toolsearch.retrieval.building import build_index, update_index
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.retrieval.usage import LearnedUsage, UsageEvent


class CatalogSearcher:
    """Searches a catalog whose index is built once, when first needed. Safe to share between threads.

    Attributes:
        catalog: What it searches.
    """

    def __init__(
        self,
        catalog: Tools,
        embedder: Embedder | None = None,
        *,
        older: ToolSearcher | None = None,
        usage: LearnedUsage | None = None,
    ) -> None:
        """Builds nothing yet.

        Args:
            catalog: What to search, or tools and functions to make a catalog of.
            embedder: By default that of `older`, or else the bundled one.
            older: A searcher whose index already has some of the tools, and whose settings are kept.
            usage: Past requests that lift the tools that served them; by default those of `older`.
        """
        self.catalog = Catalog.of(catalog)
        self._embedder = embedder
        self._older = older
        self._usage = usage if usage is not None or older is None else older.usage
        self._building = threading.Lock()
        self._built: ToolSearcher | None = None

    @property
    def usage(self) -> LearnedUsage | None:
        """The past requests that count; None for none."""
        return self._usage

    @property
    def built(self) -> ToolSearcher | None:
        """The searcher over the index, once there is one."""
        return self._built

    def build(self) -> ToolSearcher:
        """The searcher over the index, which is built now if need be.

        Raises:
            EmbeddingError: it cannot be built.
        """
        if self._built is None:
            with self._building:
                if self._built is None:
                    self._built = self._build()
        return self._built

    def search(self, request: SearchRequest) -> SearchResult:
        return self.build().search(request)

    def learn(
        self,
        queries: str | Sequence[str],
        tool: str,
        outcome: Outcome = "succeeded",
        *,
        session_id: str = "",
        tenant: str = "",
    ) -> tuple[UsageEvent, ...]:
        """Learn what became of a tool for a request; see `toolsearch.retrieval.teaching.learn`."""
        return self.build().learn(queries, tool, outcome, session_id=session_id, tenant=tenant)

    def _build(self) -> ToolSearcher:
        older, embedder = self._older, self._embedder
        if older is None:
            embedder = embedder or _bundled()
            return ToolSearcher(build_index(self.catalog, embedder), embedder, usage=self._usage)
        embedder = embedder or older.embedder
        if embedder is None:
            raise ValueError(
                "The searcher has no embedder to index the newer catalog with. Give the router one."
            )
        return ToolSearcher(
            update_index(older.index, self.catalog, embedder),
            embedder,
            channels=older.channels,
            nothing_fits_below=older.nothing_fits_below,
            on_embedder_failure=older.on_embedder_failure,
            reranker=older.reranker,
            usage=self._usage,
        )


def _bundled() -> Embedder:
    from toolsearch.embedders.bundled import BundledEmbedder

    return BundledEmbedder()
