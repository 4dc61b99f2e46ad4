"""`Discovery`: what one conversation may see, what it has found, and the search that finds more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from toolsearch.catalog import tool_digest
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery, Offer
from toolsearch.discovery.answer import GIVE_UP, Findings, answer
from toolsearch.discovery.history import PastSearch, fruitless, past_searches, replayed, shown_in
from toolsearch.discovery.preselection import Preselection
from toolsearch.discovery.search_tool import SearchArguments, read_search_arguments, search_tool
from toolsearch.discovery.settings import DiscoverySettings
from toolsearch.discovery.view import CatalogView
from toolsearch.exceptions import (
    ReservedNameError,
    SearchRequestError,
    TookTooLongError,
    ToolArgumentsError,
    ToolLimitError,
)
from toolsearch.exceptions.places import place_of
from toolsearch.messages import Message, ToolResult, UserMessage
from toolsearch.naming import RESERVED_NAMES
from toolsearch.retrieval.base import MAX_K, Retriever, SearchRequest, SearchResult
from toolsearch.session.base import Session
from toolsearch.tools import JsonObject, Tool, ToolContext

_SAME_SEARCH = 2
"""How often a search runs in a turn before its answer is only referred to."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Scope:
    """Where the tools of a conversation come from and how they reach its model; shared by many of them.

    Attributes:
        pinned: Public names of the tools that the settings pin, in their order.
    """

    searcher: Retriever
    view: CatalogView
    settings: DiscoverySettings
    delivery: Delivery
    preselection: Preselection | None = None
    pinned: tuple[str, ...] = ()


class Discovery:
    """The tools of one conversation. Searches change it; they must come one after another."""

    def __init__(
        self,
        scope: Scope,
        session: Session,
        *,
        messages: Sequence[Message] = (),
        own: Sequence[Tool] = (),
        wanted: Sequence[str] = (),
    ) -> None:
        """Where the conversation stands, by its session and its messages. What only these tell is recorded.

        Args:
            messages: The conversation so far.
            own: Tools of the caller, always visible. One with the name of a catalog tool takes its place.
            wanted: Public names of tools to load in any case, such as a forced choice; others are ignored.

        Raises:
            ReservedNameError: a tool of the caller has the name of a built-in one.
            ToolLimitError: more tools must be visible than `max_tools` allows.
        """
        self._scope = scope
        self._session = session
        self._searches = past_searches(messages)
        for tool in own:
            if tool.name in RESERVED_NAMES:
                raise ReservedNameError(tool.name)
        view = scope.view
        own_names = {tool.name for tool in own}
        self._visible = (*pinned_tools(scope, without=own_names), *own)
        self._visible_names = {tool.name for tool in self._visible}
        self._tools = view.tools
        replay, self._preselected = self._replayed(messages)
        known = session.discovered()
        names = [name for name in dict.fromkeys((*known, *replay, *wanted)) if self._can_load(name)]
        self.whole = self._is_sent_whole()
        if self.whole:
            names = list(dict.fromkeys((*names, *filter(self._can_load, view.tools))))
        self.delivery: Delivery = APPEND if self.whole else scope.delivery
        self._room = room_for_loaded(scope, len(self._visible), searchable=self._searchable)
        session.discover([name for name in names if name not in known])
        self._loaded = names if self._room is None else names[len(names) - min(self._room, len(names)) :]
        self._shown = shown_in(messages)
        self._lock = asyncio.Lock()

    @property
    def instructions(self) -> str:
        """What the system message is to say; empty where nothing is hidden."""
        return self._scope.settings.instructions if self._searchable else ""

    def offer(self) -> Offer:
        """The tools as they are now."""
        loaded = set(self._loaded)
        search = None
        if self._searchable:
            search = search_tool(
                self._scope.view, limit=self._scope.settings.limit, call=self._search_in_turn
            )
        return Offer(
            search_tool=search,
            visible=self._visible,
            loaded=tuple(self._tools[name] for name in self._loaded),
            hidden=self.hidden() if self.delivery.declares_hidden else (),
            preselected={
                position: tuple(self._tools[name] for name in names if name in loaded)
                for position, names in self._preselected.items()
            },
            changed=frozenset(name for name in self._loaded if self._has_changed(name)),
        )

    def hidden(self) -> tuple[Tool, ...]:
        """What only a search can make visible, in name order."""
        known = {*self._loaded, *self._visible_names}
        return tuple(tool for tool in self._scope.view.everything if tool.name not in known)

    def search(self, arguments: JsonObject) -> ToolResult:
        """The result of a call of `tool_search`; what it finds is loaded and recorded.

        Whatever goes wrong with the search is an error result; only the session store may raise, and
        `TookTooLongError` where nobody waits for the result any more.
        """
        settings = self._scope.settings
        try:
            asked = read_search_arguments(arguments, self._scope.view, limit=settings.limit)
        except ToolArgumentsError as exc:
            return self._failure(str(exc))
        if fruitless(self._searches) >= settings.max_fruitless:
            return self._failure("Not searched, as too many searches in a row have found nothing new.")
        same = [search for search in self._searches if search.key == asked.key]
        if len(same) >= _SAME_SEARCH and all(map(self._is_usable, same[-1].found)):
            return self._repeated(same[-1])
        try:
            result = self._scope.searcher.search(self._request(asked))
        except SearchRequestError as exc:
            return self._failure(str(exc))
        except TookTooLongError:
            raise
        except Exception as exc:  # noqa: BLE001 - a searcher may fail in any way, and the conversation goes on
            _log.warning("tool_search failed: %s", place_of(exc))
            return self._failure(
                "The search is out of order just now. Try it once more, or go on without it.", cause=exc
            )
        return self._found(asked, result)

    async def _search_in_turn(self, arguments: JsonObject, context: ToolContext) -> ToolResult:
        del context
        # Calls of one answer start in their order, and the lock is fair: so tools are discovered in it, too.
        async with self._lock:
            return await asyncio.to_thread(self.search, arguments)

    @property
    def _searchable(self) -> bool:
        # Not whether anything is hidden just now: the search must not vanish with the last discovery.
        return self._n_loadable > 0 and not self.whole

    @property
    def _n_loadable(self) -> int:
        return len(self._tools) - sum(name in self._tools for name in self._visible_names)

    def _can_load(self, name: str) -> bool:
        return name in self._tools and name not in self._visible_names

    def _is_sent_whole(self) -> bool:
        settings = self._scope.settings
        if not settings.whole_below_tokens:
            return False
        small = self._scope.view.tokens < settings.whole_below_tokens
        settled = self._session.settle("whole" if small else "search")
        fits = settings.max_tools is None or len(self._visible) + self._n_loadable <= settings.max_tools
        return settled == "whole" and fits

    def _replayed(self, messages: Sequence[Message]) -> tuple[tuple[str, ...], dict[int, tuple[str, ...]]]:
        """What the messages tell was discovered, and what of it was found for which user message."""
        names: dict[str, None] = {}
        preselected: dict[int, tuple[str, ...]] = {}
        preselection = self._scope.preselection
        for position, message in enumerate(messages):
            if preselection is not None and isinstance(message, UserMessage):
                found = preselection.names(message.text, self._scope.view, self._session.tenant)
                new = tuple(name for name in found if self._can_load(name) and name not in names)
                preselected[position] = new
                names.update(dict.fromkeys(new))
            replayed(message, names)
        return tuple(names), preselected

    def _request(self, asked: SearchArguments) -> SearchRequest:
        return SearchRequest(
            queries=asked.queries,
            # Tools that are known take no place from those that are not.
            max_k=min(asked.most + len(self._loaded) + len(self._visible), MAX_K),
            within=self._scope.view.within,
            sources=None if asked.server is None else frozenset({asked.server}),
            tenant=self._session.tenant,
        )

    def _found(self, asked: SearchArguments, result: SearchResult) -> ToolResult:
        known = {*self._visible_names, *filter(self._is_known, self._loaded)}
        hits = [name for name in result.names if name in self._scope.view.tools]
        new = [name for name in hits if name not in known][: asked.most]
        room = len(new) if self._room is None else self._room
        loaded, left_out = new[:room], new[room:]
        evicted = self._load(loaded)
        findings = Findings(
            loaded=tuple(self._tools[name] for name in loaded),
            already_loaded=tuple(name for name in hits if name in known),
            left_out=tuple(left_out),
            evicted=tuple(evicted),
            near=tuple(n for n in result.near if self._can_load(n) and n not in known),
            nothing_fits=result.nothing_fits,
            notices=result.notices,
            facts={
                "key": list(asked.key),
                "queries": list(asked.queries),
                "server": asked.server,
                "scores": {hit.name: round(hit.score, 4) for hit in result.hits},
                "found_by": {hit.name: hit.query for hit in result.hits},
                "confidence": result.confidence,
                "degraded": result.degraded,
            },
        )
        self._searches.append(PastSearch(asked.key, (*loaded, *findings.already_loaded), loaded=bool(loaded)))
        return answer(findings, self.delivery, max_tools=self._scope.settings.max_tools, nudge=self._nudge())

    def _load(self, names: Sequence[str]) -> list[str]:
        """Loads `names`, and gives back the names that made room for them."""
        added = [name for name in names if name not in self._loaded]
        overflow = 0 if self._room is None else max(len(self._loaded) + len(added) - self._room, 0)
        evicted = [name for name in self._loaded if name not in names][:overflow]
        self._loaded = [name for name in self._loaded if name not in evicted] + added
        for tool in (self._tools[name] for name in names):
            self._shown[tool.name] = tool_digest(tool)[:16]
        self._session.forget(evicted)
        self._session.discover(added)
        return evicted

    def _repeated(self, past: PastSearch) -> ToolResult:
        self._searches.append(replace(past, loaded=False))
        found = ", ".join(past.found)
        outcome = f"It found {found}, which you can use." if found else "It found nothing."
        text = f"You have made this very search before. {outcome} Do not repeat it."
        return ToolResult.text(
            "\n".join(filter(None, (text, self._nudge()))),
            structured={"key": list(past.key), "already_loaded": list(past.found), "repeated": True},
        )

    def _failure(self, text: str, *, cause: Exception | None = None) -> ToolResult:
        self._searches.append(PastSearch((), (), loaded=False))
        told = ToolResult.error("\n".join(filter(None, (text, self._nudge()))))
        if cause is None:
            return told
        return replace(told, structured={"error": f"{type(cause).__name__}: {cause}"})

    def _nudge(self) -> str:
        # The same words each time, so that a loop sees that results repeat themselves.
        if fruitless(self._searches) < self._scope.settings.nudge_after:
            return ""
        return f"The last searches found nothing new. Stop searching: {GIVE_UP}"

    def _is_usable(self, name: str) -> bool:
        return name in self._visible_names or name in self._loaded

    def _is_known(self, name: str) -> bool:
        """Whether the model knows of a loaded tool, in the form that it has now."""
        if not self.delivery.lives_in_messages:
            return True
        if any(name in names for names in self._preselected.values()):
            return True
        return name in self._shown and not self._has_changed(name)

    def _has_changed(self, name: str) -> bool:
        digest = self._shown.get(name)
        return bool(digest) and digest != tool_digest(self._tools[name])[:16]


def pinned_tools(scope: Scope, *, without: Collection[str] = ()) -> tuple[Tool, ...]:
    """The tools that are always visible: those of the settings in their order, then those of the catalog."""
    tools = scope.view.tools
    names = dict.fromkeys((*scope.pinned, *scope.view.pinned))
    return tuple(tools[name] for name in names if name in tools and name not in without)


def room_for_loaded(scope: Scope, n_visible: int, *, searchable: bool = True) -> int | None:
    """How many discovered tools fit beside the visible ones; None for any number.

    Raises:
        ToolLimitError: not even the visible and the built-in ones fit.
    """
    max_tools = scope.settings.max_tools
    if max_tools is None:
        return None
    fixed = scope.delivery.fixed_tools if searchable else 0
    if fixed + n_visible > max_tools:
        raise ToolLimitError(max_tools, fixed + n_visible)
    return max_tools - fixed - n_visible
