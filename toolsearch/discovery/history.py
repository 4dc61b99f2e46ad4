"""What a conversation tells of its discoveries: everything that need not be kept beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolsearch.delivery.base import CALL_TOOL, SEARCH_TOOL
from toolsearch.messages import Message, ToolMessage, UserMessage


@dataclass(frozen=True)
class PastSearch:
    """A search of this turn.

    Attributes:
        key: The same for the same question.
        found: Public names of what it loaded and of what was loaded before.
        loaded: Whether it loaded anything.
    """

    key: tuple[object, ...]
    found: tuple[str, ...]
    loaded: bool


def past_searches(messages: Sequence[Message]) -> list[PastSearch]:
    """The searches since the last user message, in order."""
    searches: list[PastSearch] = []
    for message in messages:
        if isinstance(message, UserMessage):
            searches.clear()
        elif isinstance(message, ToolMessage) and message.name == SEARCH_TOOL:
            record = _record(message)
            found = (*message.discovered, *_texts(record.get("already_loaded")))
            key = record.get("key")
            asked = tuple(key) if isinstance(key, list | tuple) else ()
            searches.append(PastSearch(asked, found, loaded=bool(message.discovered)))
    return searches


def fruitless(searches: Sequence[PastSearch]) -> int:
    """How many of the last searches in a row loaded nothing."""
    return next((i for i, search in enumerate(reversed(searches)) if search.loaded), len(searches))


def replayed(message: Message, names: dict[str, None]) -> None:
    """Bring `names`, the discovered ones in first-seen order, to what they are after `message`."""
    if not isinstance(message, ToolMessage) or message.name != SEARCH_TOOL:
        return
    for name in _texts(_record(message).get("evicted")):
        names.pop(name, None)
    names.update((name, None) for name in message.discovered if name not in names)


def discovered_in(messages: Iterable[Message]) -> tuple[str, ...]:
    """The names that the search results of a conversation made known and did not take back, in order."""
    names: dict[str, None] = {}
    for message in messages:
        replayed(message, names)
    return tuple(names)


def shown_in(messages: Iterable[Message]) -> dict[str, str]:
    """The tools whose discovery the conversation still shows: digest of the form that it shows, by name."""
    digests: dict[str, str] = {}
    for message in _answers(messages):
        found = _record(message).get("shown")
        digests.update((name, "") for name in message.discovered)
        if isinstance(found, Mapping):
            digests.update((str(name), str(digest)) for name, digest in found.items())
    return digests


def _answers(messages: Iterable[Message]) -> Iterator[ToolMessage]:
    for message in messages:
        if isinstance(message, ToolMessage) and message.name in {SEARCH_TOOL, CALL_TOOL}:
            yield message


def _record(message: ToolMessage) -> Mapping[str, Any]:
    return message.structured if isinstance(message.structured, Mapping) else {}


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()
