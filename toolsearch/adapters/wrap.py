"""`wrap`: a client of OpenAI or Anthropic that searches tools inside its calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar, Unpack, cast

from toolsearch.adapters.anthropic import Anthropic
from toolsearch.adapters.api import WireApi
from toolsearch.adapters.helper_streams import searching_async_helper, searching_helper
from toolsearch.adapters.openai_chat import OpenAIChat
from toolsearch.adapters.openai_responses import OpenAIResponses
from toolsearch.adapters.overlay import Overlay
from toolsearch.adapters.recall import Recall
from toolsearch.adapters.rounds import searching_async_method, searching_method
from toolsearch.adapters.tool_lists import ToolLists
from toolsearch.adapters.turn import Searching
from toolsearch.catalog import Catalog
from toolsearch.discovery.settings import DiscoveryOptions, DiscoverySettings
from toolsearch.embedders.base import Embedder
from toolsearch.embedders.load import load_embedder
from toolsearch.retrieval.base import Retriever
from toolsearch.session.base import SessionStore
from toolsearch.session.memory import MemorySessionStore

C = TypeVar("C")

WHOLE_BELOW_TOKENS = 4000
"""A list of tools that costs less is sent as it is."""

_MAX_TOOLS = 128
_CLIENTS = "openai.OpenAI, openai.AsyncOpenAI, anthropic.Anthropic or anthropic.AsyncAnthropic"


def wrap(
    client: C,
    *,
    catalog: Catalog | None = None,
    searcher: Retriever | None = None,
    embedder: Embedder | str = "default",
    session_store: SessionStore | None = None,
    max_rounds: int = 10,
    max_tool_lists: int = 16,
    max_exchanges: int = 10_000,
    **settings: Unpack[DiscoveryOptions],
) -> C:
    """`client`, whose calls take all tools and send the model those that it finds.

    Covered are ``chat.completions.create`` and ``responses.create`` of OpenAI, ``messages.create`` and
    ``messages.stream`` of Anthropic, streamed or not, and their async forms. They answer with the client's
    own types, and only with calls of your tools; usage is that of all rounds. Everything else of the client
    is as before.

    A call takes ``toolsearch_session`` and ``toolsearch_tenant``, or stands within `conversation`; without
    either, what was found is known again by the conversation itself. Safe to use as far as the client is.

    Args:
        client: Of the official packages, blocking or async.
        catalog: Tools to search beside those that a request passes; those of a request are then always sent,
            unless the catalog has them.
        searcher: Searches the catalog; None builds an index of it, or of the tools of each request.
        embedder: For these indexes: the embedder, or what `load_embedder` takes.
        session_store: Keeps what sessions have found; by default in memory, for the thousand latest.
        max_rounds: The most search rounds in one call.
        max_tool_lists: So many lists of tools are kept with their indexes, the latest used.
        max_exchanges: So many search exchanges are kept to be put back into conversations.
        settings: The attributes of `DiscoverySettings`; `whole_below_tokens` is 4000 and `max_tools` 128
            where they are not given.

    Raises:
        TypeError: `client` is none of these.
        ValueError: a number out of its range, or a searcher without its catalog.

    A covered call raises beside the client's own errors:
        LimitExceededError: the model went on searching for `max_rounds` rounds.
        ReservedNameError: a tool has the name of a built-in one.
        UnknownToolError: a tool is to be pinned that the request does not have.
        ToolLimitError: the tools that are always sent leave no room for the search.
        EmbeddingError: the tools could not be embedded.
        ValueError: the request cannot be answered with tool search, such as one with ``n=2``.
    """
    if searcher is not None and catalog is None:
        raise ValueError("Give the catalog that the searcher searches.")
    if max_rounds < 1:
        raise ValueError(f"max_rounds is {max_rounds}; it must be at least 1.")
    options: DiscoveryOptions = {
        "whole_below_tokens": WHOLE_BELOW_TOKENS,
        "max_tools": _MAX_TOOLS,
        **settings,
    }
    lists = ToolLists(
        DiscoverySettings(**options),
        embedder=_once(embedder),
        catalog=catalog,
        searcher=searcher,
        max_lists=max_tool_lists,
    )
    store = MemorySessionStore() if session_store is None else session_store
    return cast("C", _over(client, Searching(lists, store, Recall(max_exchanges), max_rounds)))


def _once(embedder: Embedder | str) -> Callable[[], Embedder]:
    return cache(lambda: load_embedder(embedder) if isinstance(embedder, str) else embedder)


def _over(client: Any, searching: Searching) -> Overlay:
    """The client with its covered methods replaced, and copies of it likewise."""
    copies = {
        name: partial(_copied, getattr(client, name), searching)
        for name in ("copy", "with_options")
        if hasattr(client, name)
    }
    if _is_of(client, "openai", "OpenAI"):
        method = partial(searching_method, searching)
    elif _is_of(client, "openai", "AsyncOpenAI"):
        method = partial(searching_async_method, searching)
    elif _is_of(client, "anthropic", "Anthropic"):
        return Overlay(
            client, messages=_messages(client, searching, searching_method, searching_helper), **copies
        )
    elif _is_of(client, "anthropic", "AsyncAnthropic"):
        return Overlay(
            client,
            messages=_messages(client, searching, searching_async_method, searching_async_helper),
            **copies,
        )
    else:
        raise TypeError(f"wrap takes a client of {_CLIENTS}, not {type(client).__name__}.")
    completions = client.chat.completions
    return Overlay(
        client,
        chat=Overlay(
            client.chat, completions=Overlay(completions, create=method(OpenAIChat(), completions.create))
        ),
        responses=Overlay(client.responses, create=method(OpenAIResponses(), client.responses.create)),
        **copies,
    )


def _messages(
    client: Any, searching: Searching, method: Callable[..., Any], helper: Callable[..., Any]
) -> Overlay:
    api: WireApi = Anthropic()
    messages = client.messages
    return Overlay(
        messages,
        create=method(searching, api, messages.create),
        stream=helper(searching, api, messages.stream),
    )


def _copied(copy: Callable[..., Any], searching: Searching, **options: Any) -> Overlay:
    return _over(copy(**options), searching)


def _is_of(client: Any, module: str, name: str) -> bool:
    # A client of a package cannot be there unless the package is loaded.
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(client, kind)
