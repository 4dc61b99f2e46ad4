"""`restored`: a caller's conversation with the searches that it has not been shown, where they happened."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolsearch.adapters.api import Arguments, WireApi
from toolsearch.adapters.recall import Hidden, Recall, prefix_keys
from toolsearch.adapters.wire import calls_in, is_of_model, read_conversation
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.discovery.history import discovered_in
from toolsearch.messages import Message, ToolMessage


@dataclass(frozen=True)
class Restored:
    """The conversation as the model knows it.

    Attributes:
        request: The caller's, which goes on where the provider's own conversation does.
        messages: In the provider's form.
        neutral: What of it discovery must know.
        key: Of what happens after the last message.
        at_end: What is known to have happened there.
        at_provider: The tools that a conversation that the provider keeps has found.
    """

    request: Arguments
    messages: list[Any]
    neutral: Sequence[Message]
    key: bytes
    at_end: Hidden
    at_provider: set[str]


def restored(
    recall: Recall, api: WireApi, request: Arguments, seed: bytes, at_provider: Hidden | None
) -> Restored:
    """The conversation of `request`; `seed` is what else led to it.

    Args:
        at_provider: What is known of a conversation that the provider keeps, and that this one continues.
    """
    messages = api.messages(request)
    wanted = api.wanted(request)
    taken = {call.id for message in messages for call in calls_in(message)}
    told: list[Any] = []
    neutral: list[Message] = []
    rejoin: list[tuple[int, Hidden]] = []
    at_end, found = Hidden(), set[str]()
    if at_provider is not None:
        told += at_provider.results
        neutral += at_provider.searches
        found = set(discovered_in(at_provider.searches))
        request = api.with_state(request, at_provider.state)
    key = seed
    exchange: Sequence[Any] = ()
    for message, key in zip(messages, prefix_keys(seed, messages), strict=True):
        if not is_of_model(message):
            exchange = ()
        rest = api.beyond(message, exchange) if exchange else message
        told += [] if rest is None and message is not None else [rest]
        neutral += read_conversation([message], {})
        hidden = recall.find(key)
        at_end = hidden or Hidden()
        if hidden is not None:
            hidden = hidden.apart_from(taken)
            told += hidden.exchange
            exchange = hidden.exchange
            neutral += hidden.searches
            if hidden.calls:
                rejoin.append((len(told), hidden))
    for position, hidden in reversed(rejoin):
        if position < len(told):
            api.rejoined(told, position, hidden)
    known = _known_otherwise(messages, wanted, discovered_in(neutral))
    return Restored(request, told, [*known, *neutral], key, at_end, found)


def _known_otherwise(
    messages: Sequence[Any], wanted: Sequence[str], discovered: Collection[str]
) -> Iterator[Message]:
    """Tools that the conversation has called, or that the caller's choice names, as if discovered."""
    called = (call.name for message in messages for call in calls_in(message))
    names = dict.fromkeys((*called, *wanted))
    known = tuple(name for name in names if name not in discovered)
    if known:
        yield ToolMessage(call_id="", name=SEARCH_TOOL, discovered=known)
