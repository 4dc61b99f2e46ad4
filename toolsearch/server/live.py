"""`LiveCatalog`: the index that requests are answered from, loaded in the background and swapped as one."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

from toolsearch.delivery.append import APPEND
from toolsearch.discovery.discoverer import Discoverer
from toolsearch.discovery.settings import DiscoverySettings
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import CatalogChangedError, NotReadyError, ToolSearchError
from toolsearch.exceptions.places import place_of
from toolsearch.index.tool_index import ToolIndex
from toolsearch.rerankers.base import Reranker
from toolsearch.retrieval.calibration import calibrate
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.retrieval.usage import LearnedUsage
from toolsearch.server.catalog_store import PROBE, CatalogStore, StoredIndex
from toolsearch.server.embedded_once import EmbedderOnce
from toolsearch.server.visible import Visible

Change: TypeAlias = Callable[[ToolIndex, Embedder], ToolIndex]
"""Makes an index of another; the same one for no change."""

_TRIES = 3
"""After it a change that others were faster than each time keeps them waiting."""

_VIEWS_KEPT = 64
_NOT_LOADED = "The index is not loaded. Try again in a moment."

_log = logging.getLogger("toolsearch.server")


class LiveCatalog:
    """One index, and who searches it. Readers take no lock; changes come one after another.

    What is kept may also be changed by others, in other processes: `refresh` then takes that over.
    """

    name = "default"

    def __init__(
        self,
        store: CatalogStore,
        embedder: Embedder,
        settings: DiscoverySettings,
        *,
        reranker: Reranker | None = None,
        usage: LearnedUsage | None = None,
    ) -> None:
        """Loads nothing yet; `embedder` is the one that the index in `store` was built with."""
        self.embedder = embedder
        self._store = store
        self._reranker = reranker
        self._settings = settings
        self._usage = usage
        self._stored: StoredIndex | None = None
        self._searcher: ToolSearcher | None = None
        self._discoverer: Discoverer | None = None
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self._swapping = threading.Lock()
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
            raise NotReadyError(_NOT_LOADED)
        return self._searcher

    @property
    def discoverer(self) -> Discoverer:
        """Opens conversations over the index as it is now; raises as `searcher`."""
        if self._discoverer is None:
            raise NotReadyError(_NOT_LOADED)
        return self._discoverer

    def load(self) -> None:
        """Load the index, or load it again; it takes the place of the one before once it has answered.

        Raises:
            ToolSearchError, OSError: it cannot be used; what was there before stays.
        """
        with self._reading:
            known = self._stored
            self._put(self._store.load(self.embedder), over=known)

    def refresh(self) -> None:
        """Have the index be the one that is kept; others may have changed it.

        Raises:
            ToolSearchError, OSError: it cannot be used; what was there before stays.
        """
        self._refreshed()

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
        """The index before and after; what `make` gives is kept first, and then searched.

        `make` is given the index that is kept when its turn has come, and again where somebody else has
        changed that before it is done; no text is embedded twice for that.

        Raises:
            ToolSearchError, OSError: whatever keeps it from being made or kept; then nothing has changed.
        """
        with self._writing:
            embedder = EmbedderOnce(self.embedder)
            for _ in range(_TRIES):
                try:
                    return self._changed(make, embedder, on_save)
                except CatalogChangedError:
                    continue
            with self._store.alone():
                return self._changed(make, embedder, on_save)

    def _changed(
        self, make: Change, embedder: Embedder, on_save: Callable[[], None] | None
    ) -> tuple[ToolIndex, ToolIndex]:
        known = self._refreshed()
        newer = make(known.index, embedder)
        if newer is known.index:
            return newer, newer
        newer = newer.with_calibration(calibrate(newer, self.embedder).to_json())
        if on_save is not None and self._store.is_durable:
            on_save()
        stored = self._store.replace(known, newer, self.embedder)
        self._put(stored, over=known)
        return known.index, stored.index

    def _refreshed(self) -> StoredIndex:
        """The index as it is kept now, which is what is searched from now on."""
        if self._stored is None:
            # At once, rather than when the load that may be running has ended.
            raise NotReadyError(_NOT_LOADED)
        with self._reading:
            known = self._stored
            newest = self._store.newest(known, self.embedder)
            return newest if newest is known else self._put(newest, over=known)

    def _put(self, stored: StoredIndex, *, over: StoredIndex | None) -> StoredIndex:
        """What is searched from now on: `stored`, made of `over`, unless there is something newer by now."""
        with self._swapping:
            now = self._stored
            if now is not None and now is not over and now.version >= stored.version:
                return now
            if self._searcher is None:
                searcher = ToolSearcher(
                    stored.index, self.embedder, reranker=self._reranker, usage=self._usage
                )
                self._discoverer = Discoverer(searcher, None, self._settings, APPEND)
                self._searcher = searcher
            else:
                self._searcher.index = stored.index
            self._stored = stored
            return stored

    def _is_answering(self) -> bool:
        if self._searcher is None:
            return False
        try:
            self._searcher.search(PROBE)
        except (ToolSearchError, OSError, RuntimeError, ValueError) as exc:
            # FAISS reports what it cannot use as RuntimeError. The answer to the probe is the report.
            _log.error("The index does not answer: %s", place_of(exc))
            return False
        return True
