"""`restored`: a caller's conversation with the searches that it has not been shown, where they happened."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from toolsearch.adapters.answered import history_key
from toolsearch.adapters.api import Arguments, WireApi
from toolsearch.adapters.recall import Hidden, Recall, digest, prefix_keys
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
        key: Of what led to the answer to come.
        at_provider: The tools that a conversation that the provider keeps has found.
    """

    request: Arguments
    messages: list[Any]
    neutral: Sequence[Message]
    key: bytes
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
    found = set[str]()
    if at_provider is not None:
        told += at_provider.results
        neutral += at_provider.searches
        found = set(discovered_in(at_provider.searches))
        request = api.with_state(request, at_provider.state)
    key = seed
    exchange: Sequence[Any] = ()
    for place, (message, key) in enumerate(zip(messages, prefix_keys(seed, messages), strict=True)):
        if not is_of_model(message):
            exchange = ()
        rest = api.beyond(message, exchange) if exchange else message
        told += [] if rest is None and message is not None else [rest]
        neutral += read_conversation([message], {})
        hidden = _before_answer(recall, key, messages, place + 1)
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
    return Restored(request, told, [*known, *neutral], key, found)


def exchange_key(led_to: bytes, answer: bytes) -> bytes:
    """Key of what happened between what led to an answer and the answer, by the digests of both."""
    return digest("exchange", led_to.hex(), answer.hex())


def _before_answer(recall: Recall, led_to: bytes, messages: Sequence[Any], place: int) -> Hidden | None:
    """What happened before the answer at `place`, if there is one and it is the one that was given."""
    if is_of_model(messages[place - 1]):
        return None  # the answer has begun before
    answer = list(takewhile(is_of_model, messages[place:]))
    return recall.find(exchange_key(led_to, history_key(answer))) if answer else None


def _known_otherwise(
    messages: Sequence[Any], wanted: Sequence[str], discovered: Collection[str]
) -> Iterator[Message]:
    """Tools that the conversation has called, or that the caller's choice names, as if discovered."""
    called = (call.name for message in messages for call in calls_in(message))
    names = dict.fromkeys((*called, *wanted))
    known = tuple(name for name in names if name not in discovered)
    if known:
        yield ToolMessage(call_id="", name=SEARCH_TOOL, discovered=known)
