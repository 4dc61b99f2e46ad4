"""`Tenants`: what is kept between the requests of each tenant, and for no other."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from toolsearch.adapters.api import WireApi
from toolsearch.adapters.native import has_search
from toolsearch.adapters.recall import Recall
from toolsearch.adapters.searching import Searching
from toolsearch.adapters.tool_lists import ToolLists
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery
from toolsearch.delivery.native import NATIVE
from toolsearch.discovery.settings import DiscoverySettings
from toolsearch.embedders.base import Embedder
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.server.keys import Caller
from toolsearch.server.live import LiveCatalog
from toolsearch.server.proxy.body import KnownTools
from toolsearch.server.proxy.vectors import RecentVectors
from toolsearch.server.settings import ServerSettings
from toolsearch.session.base import SessionStore
from toolsearch.tools import JsonObject

Pins: TypeAlias = tuple[str, ...]

_TENANTS_KEPT = 64

_WAYS_KEPT = 4
"""Ways to search that one tenant has at once: by what is pinned, and over which tools."""


class Tenant:
    """Lists of tools with their indexes, and search exchanges; the latest of each."""

    def __init__(self, settings: ServerSettings, embedder: Embedder, sessions: SessionStore) -> None:
        """`settings` say how much is kept."""
        self.bodies = KnownTools(settings.proxy_tool_lists)
        self._vectors = RecentVectors(embedder)
        self._sessions = sessions
        self._recall = Recall(settings.proxy_exchanges)
        self._kept: OrderedDict[object, tuple[ToolIndex | None, Searching]] = OrderedDict()
        self._lock = threading.Lock()

    def own(self, pins: Pins, settings: ServerSettings, delivery: Delivery) -> Searching:
        """Searches the tools that a request brings."""
        make = partial(self._lists, settings, delivery, pins)
        return self._way((pins, delivery.name, _limits(settings)), None, settings, make)

    def catalog(
        self, live: LiveCatalog, rule: ToolFilter, pins: Pins, settings: ServerSettings, delivery: Delivery
    ) -> Searching:
        """Searches what `rule` permits of the catalog as it is now.

        Raises:
            NotReadyError: it is not loaded.
        """
        searcher = live.searcher
        make = partial(self._lists, settings, delivery, pins, searcher, rule)
        key = (pins, delivery.name, rule, _limits(settings))
        return self._way(key, searcher.index, settings, make)

    def _way(
        self, key: object, index: ToolIndex | None, settings: ServerSettings, make: Callable[[], ToolLists]
    ) -> Searching:
        with self._lock:
            known = self._kept.get(key)
            if known is None or known[0] is not index:
                lists = make()
                rounds = settings.proxy_max_rounds
                searching = Searching(lists, self._sessions, self._recall, rounds, lists.delivery)
                known = self._kept[key] = index, searching
                if len(self._kept) > _WAYS_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return known[1]

    def _lists(
        self,
        settings: ServerSettings,
        delivery: Delivery,
        pins: Pins,
        searcher: ToolSearcher | None = None,
        rule: ToolFilter | None = None,
    ) -> ToolLists:
        """Over what `rule` permits of the catalog of `searcher`, or over the tools of requests alone."""
        return ToolLists(
            DiscoverySettings(
                pinned=pins,
                limit=settings.tool_limit,
                max_tools=settings.proxy_max_tools,
                whole_below_tokens=settings.proxy_whole_below_tokens if searcher is None else 0,
            ),
            embedder=lambda: self._vectors,
            catalog=None if searcher is None else searcher.index.catalog,
            searcher=searcher,
            max_lists=settings.proxy_tool_lists,
            delivery=delivery,
            filters=() if rule is None or rule == ToolFilter() else (rule,),
            pins_where_there=True,
        )


class Tenants:
    """The tenants that asked last. Safe to use from several threads."""

    def __init__(self, settings: ServerSettings, embedder: Embedder, sessions: SessionStore) -> None:
        """The embedder is that of the catalog."""
        self._make = partial(Tenant, settings, embedder, sessions)
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


def delivery_of(api: WireApi, request: JsonObject, settings: ServerSettings) -> Delivery:
    """How what is found reaches the model of a request."""
    is_native = settings.proxy_delivery == "native" and has_search(api.form, request.get("model"))
    return NATIVE if is_native else APPEND


def _limits(settings: ServerSettings) -> tuple[int, ...]:
    """Of the settings that may change, those that a way to search is made of."""
    return settings.proxy_max_tools, settings.proxy_whole_below_tokens, settings.proxy_max_rounds
