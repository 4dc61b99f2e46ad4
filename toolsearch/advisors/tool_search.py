"""`ToolSearchAdvisor`: the model first sees `tool_search`, and in each round what it has found by then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias, Unpack

from toolsearch.advisors.base import TOOL_SEARCH
from toolsearch.advisors.chain import AdvisorChain, closing
from toolsearch.advisors.paused import OFFERED
from toolsearch.catalog import Catalog
from toolsearch.chat.base import ChatEvent, ChatRequest, RoundFinished, RunFinished
from toolsearch.checks import check_choice
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery
from toolsearch.delivery.bridge import BRIDGE
from toolsearch.delivery.native import NATIVE
from toolsearch.discovery.discoverer import Discoverer
from toolsearch.discovery.discovery import Discovery
from toolsearch.discovery.settings import DiscoveryOptions, DiscoverySettings
from toolsearch.discovery.view import CatalogView
from toolsearch.given import Tools
from toolsearch.messages import Message, SystemMessage
from toolsearch.retrieval.base import Retriever
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.session.base import Session, SessionStore
from toolsearch.session.memory import MemorySessionStore

FILTER_KEY = "tool_filter"
"""Key of `ChatRequest.context` whose `ToolFilter` applies to that request."""

AnyDelivery: TypeAlias = Literal["append", "bridge", "native", "auto"]

_CHOICES = frozenset({"auto", "none", "required"})
_DELIVERIES: Mapping[str, Delivery] = {"append": APPEND, "bridge": BRIDGE, "native": NATIVE}


class ToolSearchAdvisor:
    """Offers in each round `tool_search`, what is always visible, and what the conversation has discovered.

    It stands inside the tool-calling loop, which runs the searches like any call. The caller's tools of the
    request are always visible. What is discovered is kept by ``session_id`` and ``tenant`` of the request's
    context; without a session id the messages alone tell. A `ToolFilter` in the context under
    ``tool_filter`` applies beside that of the advisor: what either forbids is not found, not loaded, not run
    and not named. Safe to share between sessions.
    """

    def __init__(
        self,
        searcher: Retriever,
        catalog: Tools | None = None,
        *,
        delivery: AnyDelivery = "auto",
        store: SessionStore | None = None,
        filter: ToolFilter | None = None,  # noqa: A002
        name: str = "tool_search",
        order: int = TOOL_SEARCH,
        **settings: Unpack[DiscoveryOptions],
    ) -> None:
        """Over the tools of `catalog`, or those of the searcher's index.

        Args:
            searcher: Finds the tools; its work is done in a thread.
            catalog: The tools with what runs them. An index that was loaded from disk has none.
            delivery: How discovered tools reach the model; ``auto`` is ``native`` where the model has it and
                ``append`` elsewhere.
            store: Where discoveries are kept; by default in memory, for the thousand latest sessions.
            filter: The tools that any session may use.
            settings: The attributes of `DiscoverySettings`.

        Raises:
            UnknownToolError: a tool is to be pinned that the catalog does not have.
            ToolLimitError: the pinned tools leave no room for the search.
            TypeError: an unknown setting, or something that is no searcher or no tool.
            ValueError: a setting out of its range, or no catalog for a searcher that does not say which it
                searches.
        """
        check_choice("delivery", delivery, AnyDelivery)
        self.name = name
        self.order = order
        self._delivery = _DELIVERIES.get(delivery)
        self._store: SessionStore = MemorySessionStore() if store is None else store
        self._discoverer = Discoverer(
            searcher,
            catalog,
            DiscoverySettings.of(**settings),
            self._delivery or APPEND,
            () if filter is None else (filter,),
        )

    @property
    def catalog(self) -> Catalog:
        """The tools of the rounds to come. Assigned, a newer one takes its place, also in open sessions."""
        return self._discoverer.catalog

    @catalog.setter
    def catalog(self, catalog: Catalog) -> None:
        self._discoverer.catalog = catalog

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        """The rest of the chain with the tools of this round.

        Raises:
            ReservedNameError: a tool of the request has the name of a built-in one.
            ToolLimitError: the tools of the request leave no room for the search.
        """
        discovery = await asyncio.to_thread(self._open, request, chain.model.native_search)
        offer, delivery = discovery.offer(), discovery.delivery
        sent = delivery.request(request, offer)
        sent = replace(sent, messages=with_instructions(sent.messages, discovery.instructions))
        async with closing(chain.next(sent)) as events:
            async for event in events:
                if isinstance(event, RoundFinished | RunFinished):
                    yield replace(event, response=delivery.response(event.response, offer))
                else:
                    yield event

    def view(self, request: ChatRequest) -> CatalogView:
        """The tools of the catalog that a run with this request may use."""
        return self._discoverer.view(_filters(request))

    def _open(self, request: ChatRequest, has_native: bool) -> Discovery:
        context = request.context
        return self._discoverer.open(
            Session(self._store, context.get("session_id", ""), context.get("tenant", "")),
            self._delivery or (NATIVE if has_native else APPEND),
            filters=_filters(request),
            messages=request.messages,
            own=request.tools,
            wanted=(*context.get(OFFERED, ()), *({request.tool_choice} - _CHOICES)),
        )


def _filters(request: ChatRequest) -> tuple[ToolFilter, ...]:
    rule = request.context.get(FILTER_KEY)
    return () if rule is None else (rule,)


def with_instructions(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """`messages` with `text` at the end of the first system message, or in one of its own."""
    if not text:
        return messages
    first = messages[0] if messages else None
    if isinstance(first, SystemMessage):
        return (SystemMessage(text=f"{first.text}\n\n{text}"), *messages[1:])
    return (SystemMessage(text=text), *messages)
