"""`LiveSearch`: a search over tools that change, whose index is kept on disk."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import IndexNotFoundError, ToolIndexError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import SearchRequest, SearchResult
from toolsearch.retrieval.building import build_index, update_index
from toolsearch.retrieval.searcher import ToolSearcher

_log = logging.getLogger(__name__)


class LiveSearch:
    """Searches the catalog that it was last given. Safe to share between threads.

    Only what changed is embedded, also since the process before.
    """

    def __init__(self, embedder: Callable[[], Embedder], folder: Path | None = None) -> None:
        """Loads nothing yet.

        Args:
            embedder: Makes the embedder, when it is first needed.
            folder: Where the index is kept; None for nowhere.
        """
        self._make = embedder
        self._folder = folder
        self._embedder: Embedder | None = None
        self._searcher: ToolSearcher | None = None
        self._building = threading.Lock()

    @property
    def catalog(self) -> Catalog:
        """What is searched now; empty before there is an index."""
        searcher = self._searcher
        return Catalog() if searcher is None else searcher.index.catalog

    def follow(self, current: Callable[[], Catalog]) -> None:
        """Returns once the catalog that `current` gives is searched; searches go on meanwhile.

        An index that cannot be kept on disk is logged, and searched all the same.

        Raises:
            EmbeddingError: the tools cannot be embedded; the older catalog stays.
        """
        with self._building:
            catalog = current()
            embedder = self._embedder = self._embedder or self._make()
            known = self._searcher.index if self._searcher is not None else self._kept(embedder)
            if known is None:
                index = build_index(catalog, embedder)
            elif known.columns.fingerprint == catalog.fingerprint:
                index = known
            else:
                index = update_index(known, catalog, embedder)
            self._searcher = ToolSearcher(index, embedder)
            if index is not known:
                self._keep(index)

    def search(self, request: SearchRequest) -> SearchResult | None:
        """What is found; None where nothing is indexed yet, or there is no tool."""
        searcher = self._searcher
        return None if searcher is None or not len(searcher.index) else searcher.search(request)

    def _kept(self, embedder: Embedder) -> ToolIndex | None:
        if self._folder is None:
            return None
        try:
            return ToolIndex.load(self._folder, embedder)
        except IndexNotFoundError:
            return None
        except ToolIndexError as exc:
            _log.warning("the index is built anew: %s", exc)
            return None

    def _keep(self, index: ToolIndex) -> None:
        if self._folder is None:
            return
        try:
            index.save(self._folder)
        except (OSError, ToolIndexError) as exc:
            _log.warning("the index cannot be kept on disk: %s", exc)
