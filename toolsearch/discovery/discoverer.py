"""`Discoverer`: opens conversations over a searcher and the catalog that it searches."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from toolsearch.catalog import Catalog
from toolsearch.checks import check_has
from toolsearch.delivery.base import Delivery
from toolsearch.discovery.discovery import Discovery, Scope, pinned_tools, room_for_loaded
from toolsearch.discovery.preselection import Preselection
from toolsearch.discovery.settings import DiscoverySettings
from toolsearch.discovery.view import CatalogView
from toolsearch.given import Tools
from toolsearch.messages import Message
from toolsearch.retrieval.base import Retriever
from toolsearch.retrieval.lazy import CatalogSearcher
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.session.base import Session
from toolsearch.tool_names import ToolNames
from toolsearch.tools import Tool

_VIEWS_KEPT = 64


class Discoverer:
    """Shared by all conversations over a catalog. Safe to use from several threads."""

    def __init__(
        self,
        searcher: Retriever,
        catalog: Tools | None,
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
            TypeError: the searcher is none, or something in the catalog no tool.
            ValueError: no catalog, and a searcher that does not say which it searches.
        """
        self._current: Callable[[], Catalog]
        check_has("searcher", searcher, ("search",), "one, such as CatalogSearcher(tools)")
        if catalog is not None:
            self.catalog = Catalog.of(catalog)
        else:
            catalog_of(searcher)
            self._current = lambda: catalog_of(searcher)
        self._searcher = searcher
        self._settings = settings
        self._pinned = ToolNames(settings.pinned, "pinned")
        self._pinned_in: tuple[Catalog, tuple[str, ...]] = Catalog(), ()
        self._filters = tuple(filters)
        self._preselection = Preselection(searcher, settings.preselect) if settings.preselect else None
        self._viewed: Catalog | None = None
        self._views: OrderedDict[tuple[ToolFilter, ...], CatalogView] = OrderedDict()
        self._lock = threading.Lock()
        self._pinned.check_in(self.catalog)
        scope = self._scope(self.view(), delivery)
        room_for_loaded(scope, len(pinned_tools(scope)))

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
        wanted: Sequence[str] = (),
    ) -> Discovery:
        """Where a conversation stands; see `Discovery`."""
        scope = self._scope(self.view(filters), delivery)
        return Discovery(scope, session, messages=messages, own=own, wanted=wanted)

    def _scope(self, view: CatalogView, delivery: Delivery) -> Scope:
        catalog = self.catalog
        known, pinned = self._pinned_in
        if known is not catalog:
            pinned = self._pinned.names_in(catalog)
            self._pinned_in = catalog, pinned
        return Scope(self._searcher, view, self._settings, delivery, self._preselection, pinned)


def catalog_of(searcher: Retriever) -> Catalog:
    """The catalog that `searcher` searches now.

    Raises:
        ValueError: it does not say.
    """
    if isinstance(searcher, ToolSearcher):
        return searcher.index.catalog
    if isinstance(searcher, CatalogSearcher):
        return searcher.catalog
    raise ValueError("Give the catalog that the searcher searches.")
