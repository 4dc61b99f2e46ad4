"""`ToolLists`: for each list of tools that a caller passes, an index that is built once."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolsearch.adapters.api import WireApi
from toolsearch.adapters.passed import passed_tool
from toolsearch.adapters.recall import digest, plain
from toolsearch.adapters.wire import WireForm, written_tools
from toolsearch.catalog import Catalog
from toolsearch.checks import shown
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery
from toolsearch.discovery.discoverer import Discoverer
from toolsearch.discovery.discovery import Discovery
from toolsearch.discovery.settings import DiscoverySettings
from toolsearch.discovery.view import CatalogView
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import DefinitionError, ReservedNameError
from toolsearch.naming import RESERVED_NAMES
from toolsearch.retrieval.base import Retriever, SearchRequest, SearchResult
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.tokens import definition_tokens
from toolsearch.tool_names import ToolNames
from toolsearch.tools import JsonObject, Tool

_log = logging.getLogger(__name__)


class LateSearcher:
    """A `Retriever` whose index is built by `prepare`, for lists that may never have to be searched."""

    def __init__(self, catalog: Catalog, embedder: Callable[[], Embedder]) -> None:
        self._catalog = catalog
        self._embedder = embedder
        self._searcher: ToolSearcher | None = None
        self._lock = threading.Lock()

    def prepare(self) -> ToolSearcher:
        """The searcher.

        Raises:
            EmbeddingError: the embedder failed, or cannot be had.
        """
        with self._lock:
            if self._searcher is None:
                embedder = self._embedder()
                self._searcher = ToolSearcher(build_index(self._catalog, embedder), embedder)
            return self._searcher

    def search(self, request: SearchRequest) -> SearchResult:
        return self.prepare().search(request)


@dataclass(frozen=True)
class ToolList:
    """The tools of a request.

    Attributes:
        key: Digest of the list.
        discoverer: Over those that may be searched for.
        records: Their definitions by name, as the caller gave them.
        fixed: Definitions that are sent in every round: what the provider runs, and what cannot be searched.
        fixed_names: The names among these.
        passed_names: The names of those that the caller gave, these excepted.
        cache_marks: What the caller says of the caching of tools.
        has_own_search: The caller has the provider search among them.
        prepare: Builds the index, if there is none yet.
        costs: Tokens by name, as far as they have been counted.
        written: The search tool in the provider's form, by its description.
        was_opened: Whether all is there that a request with these tools needs.
        was_whole: Whether it is sent as it is, for conversations without a session.
    """

    key: bytes
    discoverer: Discoverer
    records: dict[str, JsonObject]
    fixed: tuple[JsonObject, ...]
    fixed_names: frozenset[str]
    passed_names: frozenset[str]
    cache_marks: tuple[Any, ...]
    has_own_search: bool
    prepare: Callable[[], object]
    costs: dict[str, int] = field(default_factory=dict)
    written: dict[str, JsonObject] = field(default_factory=dict)
    was_opened: threading.Event = field(default_factory=threading.Event)
    was_whole: threading.Event = field(default_factory=threading.Event)

    def cost(self, tool: Tool) -> int:
        """Tokens of the definition of one of its tools, or of the search tool."""
        tokens = self.costs.get(tool.name)
        if tokens is None:
            tokens = self.costs[tool.name] = definition_tokens(tool.definition)
        return tokens

    def written_search(self, tool: Tool, form: WireForm) -> JsonObject:
        """The search tool as the provider takes it; written once, as it is the same in every request."""
        record = self.written.get(tool.description)
        if record is None:
            (record,) = written_tools([tool], form)
            self.written[tool.description] = record
        return record

    def log(self, discovery: Discovery | None = None) -> None:
        """Tells the log how much of the list a request shows the model; without `discovery`, all of it."""
        if not _log.isEnabledFor(logging.DEBUG):
            return
        view = self.discoverer.view()
        n_tools = len(self.fixed) + len(view.tools)
        n_hidden = 0 if discovery is None else len(discovery.hidden())
        shown = "sent whole" if discovery is None else f"{n_tools - n_hidden} shown, {n_hidden} hidden"
        _log.debug("%d tools, %d tokens: %s", n_tools, view.tokens, shown)


class ToolLists:
    """The latest lists by their content. Safe to use from several threads."""

    def __init__(
        self,
        settings: DiscoverySettings,
        *,
        embedder: Callable[[], Embedder],
        catalog: Catalog | None,
        searcher: Retriever | None,
        max_lists: int,
        delivery: Delivery = APPEND,
        filters: Sequence[ToolFilter] = (),
        pins_where_there: bool = False,
    ) -> None:
        """Nothing is built yet.

        Args:
            filters: What may be used of `catalog`.
            pins_where_there: Pin what a list has of the pinned tools, and miss none.
        """
        if max_lists < 1:
            raise ValueError(f"max_tool_lists is {max_lists}; it must be at least 1.")
        self._settings = settings
        self._embedder = embedder
        self._catalog = catalog
        self._searcher = searcher
        self._max = max_lists
        self.delivery = delivery
        self._filters = tuple(filters)
        self._pins_where_there = pins_where_there
        self._kept: OrderedDict[bytes, ToolList] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def whole_below_tokens(self) -> int:
        """A list that costs less is sent as it is."""
        return self._settings.whole_below_tokens

    @property
    def has_catalog(self) -> bool:
        """Whether there are tools beside those that requests bring."""
        return self._catalog is not None

    def has_opened(self, key: bytes) -> bool:
        """Whether a list is kept under `key`, and nothing of it has to be built any more."""
        with self._lock:
            known = self._kept.get(key)
            return known is not None and known.was_opened.is_set()

    def of(self, api: WireApi, tools: Sequence[Any], *, key: bytes | None = None) -> ToolList:
        """The list of a request; the same object for the same tools in the same order.

        `key` stands for exactly these tools in this form, where that is known without reading them.

        Raises:
            ReservedNameError: a tool has the name of a built-in one.
            UnknownToolError: a tool is to be pinned that is not there.
            ToolLimitError: the tools that are always sent leave no room for the search.
            TypeError: something in it is no definition; says where.
        """
        with self._lock:
            if key is not None and (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return known
        records = [_record(tool, f"tools[{number}]") for number, tool in enumerate(tools)]
        key = digest(api.form, records) if key is None else key
        with self._lock:
            known = self._kept.get(key)
            if known is None:
                known = self._kept[key] = self._made(key, api, records)
                if len(self._kept) > self._max:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return known

    def _made(self, key: bytes, api: WireApi, records: Sequence[JsonObject]) -> ToolList:
        usable = None if self._catalog is None else CatalogView.of(self._catalog, self._filters).tools
        passed: dict[str, JsonObject] = {}
        fixed: list[JsonObject] = []
        tools: list[Tool] = []
        for record in records:
            name = api.tool_name(record)
            if not isinstance(name, str):
                name = None  # the provider says what is wrong with it
            if name in RESERVED_NAMES:
                raise ReservedNameError(name)
            tool = None if name is None or usable is not None else _read(name, record, api)
            if name is not None and usable is not None and name in usable:
                passed[name] = record
            elif tool is not None and tool.name not in passed:
                passed[tool.name] = record
                tools.append(tool)
            else:
                fixed.append(record)
        catalog = Catalog(tools) if self._catalog is None else self._catalog
        searcher = self._searcher or LateSearcher(catalog, self._embedder)
        settings = self._settings
        if settings.max_tools is not None and fixed:
            settings = replace(settings, max_tools=max(settings.max_tools - len(fixed), 1))
        if self._pins_where_there and settings.pinned:
            pinned = ToolNames(settings.pinned).names_in(catalog if usable is None else usable)
            settings = replace(settings, pinned=pinned)
        discoverer = Discoverer(searcher, catalog, settings, self.delivery, self._filters)
        return ToolList(
            key=key,
            discoverer=discoverer,
            records=_Records(passed, catalog, api),
            fixed=tuple(fixed),
            fixed_names=frozenset(_names_in(fixed)),
            passed_names=frozenset(passed),
            cache_marks=tuple(record["cache_control"] for record in records if "cache_control" in record),
            has_own_search=any(str(record.get("type")).startswith("tool_search") for record in fixed),
            prepare=getattr(searcher, "prepare", lambda: None),
        )


class _Records(dict[str, JsonObject]):
    """Definitions as the caller gave them; of other tools of the catalog as we write them."""

    def __init__(self, passed: dict[str, JsonObject], catalog: Catalog, api: WireApi) -> None:
        super().__init__(passed)
        self._catalog = catalog
        self._form = api.form

    def __missing__(self, name: str) -> JsonObject:
        (record,) = written_tools([self._catalog[name]], self._form)
        self[name] = record
        return record


def _names_in(value: Any) -> Iterator[str]:
    """Every name under which a model may call one of these tools, those of a namespace included."""
    for record in value if isinstance(value, list) else ():
        if not isinstance(record, dict):
            continue
        for holder in (record, record.get("function"), record.get("custom")):
            if isinstance(holder, dict) and isinstance(holder.get("name"), str):
                yield holder["name"]
        yield from _names_in(record.get("tools"))


def _record(tool: Any, where: str) -> JsonObject:
    record = plain(tool)
    if not isinstance(record, dict):
        raise TypeError(f"{where} is {shown(tool)}. Give the definition of a tool, in the provider's form.")
    return record


def _read(name: str, record: JsonObject, api: WireApi) -> Tool | None:
    """The tool of a definition, or None for one that the search cannot use."""
    try:
        return passed_tool(name, api.as_function(record), api.form)
    except DefinitionError:
        return None
