"""`LiveCatalog`: the index that requests are answered from, loaded in the background and swapped as one."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from toolsearch.delivery.append import APPEND
from toolsearch.discovery.discoverer import Discoverer
from toolsearch.discovery.settings import DiscoverySettings
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import NotReadyError, ToolSearchError
from toolsearch.exceptions.places import place_of
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.calibration import calibrate
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.server.batching import BatchedEmbedder
from toolsearch.server.visible import Visible

Change: TypeAlias = Callable[[ToolIndex, Embedder], ToolIndex]
"""Makes an index of another; the same one for no change."""

_VIEWS_KEPT = 64
_PROBE = "find something"

_log = logging.getLogger("toolsearch.server")


class LiveCatalog:
    """One index, and who searches it. Readers take no lock; changes come one after another."""

    name = "default"

    def __init__(
        self, index: ToolIndex | Path, embedder: Embedder, settings: DiscoverySettings, *, save: bool
    ) -> None:
        """Loads nothing yet.

        Args:
            index: One in memory, which is never saved, or the folder of one.
            embedder: The one that the index was built with.
            save: Write changes into the folder.
        """
        self.embedder = BatchedEmbedder(embedder)
        self._given = index
        self._folder = index if save and isinstance(index, Path) else None
        self._settings = settings
        self._searcher: ToolSearcher | None = None
        self._discoverer: Discoverer | None = None
        self._writing = threading.Lock()
        self._views: OrderedDict[ToolFilter, Visible] = OrderedDict()
        self._probing: asyncio.Future[bool] | None = None
        self._viewing = threading.Lock()

    @property
    def is_loaded(self) -> bool:
        return self._searcher is not None

    @property
    def searcher(self) -> ToolSearcher:
        """Searches the index as it is now.

        Raises:
            NotReadyError: there is none yet, or none any more.
        """
        if self._searcher is None:
            raise NotReadyError("The index is not loaded. Try again in a moment.")
        return self._searcher

    @property
    def discoverer(self) -> Discoverer:
        """Opens conversations over the index as it is now; raises as `searcher`."""
        if self._discoverer is None:
            raise NotReadyError("The index is not loaded. Try again in a moment.")
        return self._discoverer

    def load(self) -> None:
        """Load the index, or load it again; it takes the place of the one before once it has answered.

        Raises:
            ToolIndexError, EmbeddingError: it cannot be used; what was there before stays.
        """
        with self._writing:
            given = self._given
            if isinstance(given, ToolIndex) and self._searcher is not None:
                return
            index = given if isinstance(given, ToolIndex) else ToolIndex.load(given, self.embedder)
            searcher = ToolSearcher(index, self.embedder)
            searcher.search(_PROBE)
            if self._searcher is None:
                self._discoverer = Discoverer(searcher, None, self._settings, APPEND)
                self._searcher = searcher
            else:
                self._searcher.index = index

    async def answers(self) -> bool:
        """Whether a search has an answer just now; who asks meanwhile gets the same answer."""
        if self._probing is None or self._probing.done():
            # Not among the work of requests: a busy service is ready all the same.
            self._probing = asyncio.ensure_future(asyncio.to_thread(self._is_answering))
        return await asyncio.shield(self._probing)

    def visible(self, rule: ToolFilter) -> Visible:
        """What of the index `rule` permits; one object as long as the index is the same."""
        index = self.searcher.index
        with self._viewing:
            view = self._views.get(rule)
            if view is None or view.index is not index:
                # Views of an index that was replaced would keep it in memory.
                for old in [known for known, other in self._views.items() if other.index is not index]:
                    del self._views[old]
                view = self._views[rule] = Visible(index, rule)
                if len(self._views) > _VIEWS_KEPT:
                    self._views.popitem(last=False)
            self._views.move_to_end(rule)
        return view

    def change(
        self, make: Change, *, on_save: Callable[[], None] | None = None
    ) -> tuple[ToolIndex, ToolIndex]:
        """The index before and after; what `make` gives is saved first, and then searched.

        `make` is given the index as it is when its turn has come.

        Raises:
            ToolSearchError, OSError: whatever keeps it from being made or saved; then nothing has changed.
        """
        with self._writing:
            searcher = self.searcher
            older = searcher.index
            newer = make(older, self.embedder)
            if newer is older:
                return older, older
            newer = newer.with_calibration(calibrate(newer, self.embedder).to_json())
            if self._folder is not None:
                if on_save is not None:
                    on_save()
                newer.save(self._folder)
                newer = ToolIndex.load(self._folder, self.embedder, verify="size")
            searcher.index = newer
            return older, newer

    def _is_answering(self) -> bool:
        if self._searcher is None:
            return False
        try:
            self._searcher.search(_PROBE)
        except (ToolSearchError, OSError, RuntimeError, ValueError) as exc:
            # FAISS reports what it cannot use as RuntimeError. The answer to the probe is the report.
            _log.error("The index does not answer: %s", place_of(exc))
            return False
        return True
