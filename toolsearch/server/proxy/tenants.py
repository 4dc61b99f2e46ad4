"""`Tenants`: what is kept between the requests of each tenant, and for no other."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from toolsearch.adapters.recall import Recall
from toolsearch.adapters.searching import Searching
from toolsearch.adapters.tool_lists import ToolLists
from toolsearch.discovery.settings import DiscoverySettings
from toolsearch.embedders.base import Embedder
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.server.keys import Caller
from toolsearch.server.live import LiveCatalog
from toolsearch.server.proxy.body import KnownTools
from toolsearch.server.proxy.settings import ProxySettings
from toolsearch.server.proxy.vectors import RecentVectors
from toolsearch.session.base import SessionStore

Pins: TypeAlias = tuple[str, ...]

_TENANTS_KEPT = 64

_WAYS_KEPT = 4
"""Ways to search that one tenant has at once: by what is pinned, and over which tools."""


class Tenant:
    """Lists of tools with their indexes, and search exchanges; the latest of each."""

    def __init__(
        self, settings: ProxySettings, limit: int, embedder: Embedder, sessions: SessionStore
    ) -> None:
        self.bodies = KnownTools(settings.proxy_tool_lists)
        self._settings = settings
        self._limit = limit
        self._vectors = RecentVectors(embedder)
        self._sessions = sessions
        self._recall = Recall(settings.proxy_exchanges)
        self._kept: OrderedDict[object, tuple[ToolIndex | None, Searching]] = OrderedDict()
        self._lock = threading.Lock()

    def own(self, pins: Pins) -> Searching:
        """Searches the tools that a request brings."""
        return self._way(pins, None, partial(self._lists, pins))

    def catalog(self, live: LiveCatalog, rule: ToolFilter, pins: Pins) -> Searching:
        """Searches what `rule` permits of the catalog as it is now.

        Raises:
            NotReadyError: it is not loaded.
        """
        searcher = live.searcher
        return self._way((pins, rule), searcher.index, partial(self._lists, pins, searcher, rule))

    def _way(self, key: object, index: ToolIndex | None, make: Callable[[], ToolLists]) -> Searching:
        with self._lock:
            known = self._kept.get(key)
            if known is None or known[0] is not index:
                searching = Searching(make(), self._sessions, self._recall, self._settings.proxy_max_rounds)
                known = self._kept[key] = index, searching
                if len(self._kept) > _WAYS_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return known[1]

    def _lists(
        self, pins: Pins, searcher: ToolSearcher | None = None, rule: ToolFilter | None = None
    ) -> ToolLists:
        """Over what `rule` permits of the catalog of `searcher`, or over the tools of requests alone."""
        settings = self._settings
        return ToolLists(
            DiscoverySettings(
                pinned=pins,
                limit=self._limit,
                max_tools=settings.proxy_max_tools,
                whole_below_tokens=settings.proxy_whole_below_tokens if searcher is None else 0,
            ),
            embedder=lambda: self._vectors,
            catalog=None if searcher is None else searcher.index.catalog,
            searcher=searcher,
            max_lists=settings.proxy_tool_lists,
            filters=() if rule is None or rule == ToolFilter() else (rule,),
            pins_where_there=True,
        )


class Tenants:
    """The tenants that asked last. Safe to use from several threads."""

    def __init__(
        self, settings: ProxySettings, limit: int, embedder: Embedder, sessions: SessionStore
    ) -> None:
        """`limit` is how many tools a query loads; the embedder is that of the catalog."""
        self._make = partial(Tenant, settings, limit, embedder, sessions)
        self._kept: OrderedDict[str, Tenant] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, caller: Caller) -> Tenant:
        with self._lock:
            tenant = self._kept.get(caller.tenant)
            if tenant is None:
                tenant = self._kept[caller.tenant] = self._make()
                if len(self._kept) > _TENANTS_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(caller.tenant)
            return tenant
