"""`wrap`: a client of OpenAI or Anthropic that searches tools inside its calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar, Unpack, cast

from toolsearch.adapters.recall import Recall
from toolsearch.adapters.searching import Searching
from toolsearch.adapters.tool_lists import ToolLists
from toolsearch.adapters.twin import is_twin, twin_of
from toolsearch.catalog import Catalog
from toolsearch.checks import check_choice
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery
from toolsearch.delivery.native import NATIVE
from toolsearch.discovery.discoverer import catalog_of
from toolsearch.discovery.settings import DiscoveryOptions, DiscoverySettings
from toolsearch.embedders.base import Embedder
from toolsearch.embedders.load import load_embedder
from toolsearch.given import Tools
from toolsearch.retrieval.base import Retriever
from toolsearch.session.base import SessionStore
from toolsearch.session.memory import MemorySessionStore

C = TypeVar("C")
WrapDelivery: TypeAlias = Literal["append", "native"]

WHOLE_BELOW_TOKENS = 4000
"""A list of tools that costs less is sent as it is."""

_MAX_TOOLS = 128
_DELIVERIES: dict[str, Delivery] = {"append": APPEND, "native": NATIVE}
_CLIENTS = {"openai": ("OpenAI", "AsyncOpenAI"), "anthropic": ("Anthropic", "AsyncAnthropic")}


def wrap(
    client: C,
    *,
    catalog: Tools | None = None,
    searcher: Retriever | None = None,
    embedder: Embedder | str = "default",
    session_store: SessionStore | None = None,
    max_rounds: int = 10,
    max_tool_lists: int = 16,
    max_exchanges: int = 10_000,
    delivery: WrapDelivery = "append",
    **settings: Unpack[DiscoveryOptions],
) -> C:
    """`client`, whose calls take all tools and send the model those that it finds.

    It is a client of the same class, over the same connections, and so are copies of it. Tool search is in
    every call of ``chat.completions``, ``responses`` and ``messages``: ``create``, ``parse`` and ``stream``,
    also under ``beta``, with raw responses, streamed or not, and in their async forms. They answer with the
    client's own types, and only with calls of your tools; usage is that of all rounds. Where tokens are
    counted, it is those of the next round. Calls without tools are as before.

    A call takes ``toolsearch_session`` and ``toolsearch_tenant``, or stands within `conversation`; without
    either, what was found is known again by the conversation itself. Safe to use as far as the client is.

    Args:
        client: Of the official packages, blocking or async.
        catalog: Tools to search beside those that a request passes, or functions to make tools of; those of a
            request are then always sent, unless the catalog has them. None is the searcher's, if any.
        searcher: Searches the catalog; None builds an index of it, or of the tools of each request.
        embedder: For these indexes: the embedder, or what `load_embedder` takes.
        session_store: Keeps what sessions have found; by default in memory, for the thousand latest.
        max_rounds: The most search rounds in one call.
        max_tool_lists: So many lists of tools are kept with their indexes, the latest used.
        max_exchanges: So many search exchanges are kept to be put back into conversations.
        delivery: ``append`` adds what is found to the tools, with any model. ``native`` leaves it to the
            provider's own tool search, so that prompts stay cached: Messages and Responses have one.
        settings: The attributes of `DiscoverySettings`; `whole_below_tokens` is 4000 and `max_tools` 128
            where they are not given.

    Raises:
        TypeError: `client` is none of these, or wrapped already.
        ValueError: a number out of its range, or a searcher that does not say which catalog it searches.

    A call raises beside the client's own errors:
        UnsearchedToolsError: it has tools for `whole_below_tokens` or more, and they cannot be searched
            there: assistants, batches, realtime and web sockets.
        LimitExceededError: the model went on searching for `max_rounds` rounds.
        ReservedNameError: a tool has the name of a built-in one.
        UnknownToolError: a tool is to be pinned that the request does not have.
        ToolLimitError: the tools that are always sent leave no room for the search.
        EmbeddingError: the tools could not be embedded.
        ValueError: the request cannot be answered with tool search, such as one with ``n=2``, or its model
            not natively.
        TypeError: one of its tools is no definition.
    """
    _check(client)
    if searcher is not None and catalog is None:
        catalog = catalog_of(searcher)
    check_choice("delivery", delivery, WrapDelivery)
    if max_rounds < 1:
        raise ValueError(f"max_rounds is {max_rounds}; it must be at least 1.")
    options: DiscoveryOptions = {
        "whole_below_tokens": WHOLE_BELOW_TOKENS,
        "max_tools": _MAX_TOOLS,
        **settings,
    }
    lists = ToolLists(
        DiscoverySettings.of(**options),
        embedder=_once(embedder),
        catalog=None if catalog is None else Catalog.of(catalog),
        searcher=searcher,
        max_lists=max_tool_lists,
        delivery=_DELIVERIES[delivery],
    )
    store = MemorySessionStore() if session_store is None else session_store
    searching = Searching(lists, store, Recall(max_exchanges), max_rounds, _DELIVERIES[delivery])
    return cast("C", twin_of(client, searching))


def _once(embedder: Embedder | str) -> Callable[[], Embedder]:
    return cache(lambda: load_embedder(embedder) if isinstance(embedder, str) else embedder)


def _check(client: Any) -> None:
    if not any(_is_of(client, module, name) for module, names in _CLIENTS.items() for name in names):
        kinds = " or ".join(f"{module}.{name}" for module, names in _CLIENTS.items() for name in names)
        raise TypeError(f"wrap takes a client of {kinds}, not {type(client).__name__}.")
    if is_twin(client):
        raise TypeError("The client is wrapped already. Wrap the one that it was made of.")


def _is_of(client: Any, module: str, name: str) -> bool:
    # A client of a package cannot be there unless the package is loaded.
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(client, kind)
