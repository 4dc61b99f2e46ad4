"""`Discoverer`: opens conversations over a searcher and the catalog that it searches."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from toolsearch.catalog import Catalog
from toolsearch.delivery.base import Delivery
from toolsearch.discovery.discovery import Discovery, Scope, pinned_tools, room_for_loaded
from toolsearch.discovery.preselection import Preselection
from toolsearch.discovery.settings import DiscoverySettings
from toolsearch.discovery.view import CatalogView
from toolsearch.exceptions import UnknownToolError
from toolsearch.messages import Message
from toolsearch.retrieval.base import Retriever
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.session.base import Session
from toolsearch.tools import Tool

_VIEWS_KEPT = 64


class Discoverer:
    """Shared by all conversations over a catalog. Safe to use from several threads."""

    def __init__(
        self,
        searcher: Retriever,
        catalog: Catalog | None,
        settings: DiscoverySettings,
        delivery: Delivery,
        filters: Iterable[ToolFilter] = (),
    ) -> None:
        """Opens nothing yet.

        Args:
            searcher: Searches the catalog.
            catalog: The tools as they are sent and run; None for those of the searcher's index, which follow
                when its index is replaced. A tool that is found and that is not here counts as gone.
            delivery: For the check of the limits; each conversation may have its own.
            filters: Apply to every conversation.

        Raises:
            UnknownToolError: a tool is to be pinned that the catalog does not have.
            ToolLimitError: the pinned tools leave no room for the search.
            ValueError: no catalog, and a searcher that is no `ToolSearcher`.
        """
        self._current: Callable[[], Catalog]
        if catalog is not None:
            self._current = lambda: catalog
        elif isinstance(searcher, ToolSearcher):
            self._current = lambda: searcher.index.catalog
        else:
            raise ValueError("Give the catalog that the searcher searches.")
        self._searcher = searcher
        self._settings = settings
        self._filters = tuple(filters)
        self._preselection = Preselection(searcher, settings.preselect) if settings.preselect else None
        self._viewed: Catalog | None = None
        self._views: OrderedDict[tuple[ToolFilter, ...], CatalogView] = OrderedDict()
        self._lock = threading.Lock()
        for name in settings.pinned:
            if name not in self.catalog:
                raise UnknownToolError(name)
        view = self.view()
        room_for_loaded(self._scope(view, delivery), len(pinned_tools(view, settings)))

    @property
    def catalog(self) -> Catalog:
        """The tools that the next conversation opens with; a newer catalog is assigned here."""
        return self._current()

    @catalog.setter
    def catalog(self, catalog: Catalog) -> None:
        self._current = lambda: catalog

    def view(self, filters: Sequence[ToolFilter] = ()) -> CatalogView:
        """What a caller under these filters may know of; one object as long as the catalog is the same."""
        catalog, key = self.catalog, tuple(filters)
        with self._lock:
            if self._viewed is not catalog:
                self._views.clear()
                self._viewed = catalog
            if key in self._views:
                self._views.move_to_end(key)
                return self._views[key]
        view = CatalogView.of(catalog, (*self._filters, *key))
        with self._lock:
            if self._viewed is catalog:
                self._views[key] = view
                if len(self._views) > _VIEWS_KEPT:
                    self._views.popitem(last=False)
        return view

    def open(
        self,
        session: Session,
        delivery: Delivery,
        *,
        filters: Sequence[ToolFilter] = (),
        messages: Sequence[Message] = (),
        own: Sequence[Tool] = (),
        wanted: str = "",
    ) -> Discovery:
        """Where a conversation stands; see `Discovery`."""
        scope = self._scope(self.view(filters), delivery)
        return Discovery(scope, session, messages=messages, own=own, wanted=wanted)

    def _scope(self, view: CatalogView, delivery: Delivery) -> Scope:
        return Scope(self._searcher, view, self._settings, delivery, self._preselection)
