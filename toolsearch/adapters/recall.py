"""`Recall`: what happened between two messages of a caller, which the caller's history does not tell.

The key of an exchange is a digest of everything that led to it: the conversation up to there, message by
message, the tools that were passed, and on whose behalf. So it is found again by the conversation alone, and
only by one that could have led to it: whoever lacks a word of it finds nothing.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from toolsearch.messages import Message
from toolsearch.tools import JsonObject

_IDS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id"})
_ARGUMENTS = "input"


@dataclass(frozen=True)
class Hidden:
    """Search rounds that were kept from the caller, in the provider's form.

    Attributes:
        exchange: Whole rounds, before the answer that the caller got.
        calls, results: Of searches in the very answer that the caller got without them.
        searches: The results of all of them, neutral between providers.
        state: The provider's own key of the conversation, where the caller knows another.
    """

    exchange: tuple[JsonObject, ...] = ()
    calls: tuple[JsonObject, ...] = ()
    results: tuple[JsonObject, ...] = ()
    searches: tuple[Message, ...] = ()
    state: str = ""

    def apart_from(self, taken: Collection[str]) -> Hidden:
        """The same with another id, always the same one, for a call whose id is among `taken`.

        A small server may give a call that the caller sees the id of a search that it does not.
        """
        return Hidden(
            tuple(_renamed(self.exchange, taken)),
            tuple(_renamed(self.calls, taken)),
            tuple(_renamed(self.results, taken)),
            self.searches,
        )


class Recall:
    """Exchanges by key, the least recently used ones forgotten. Safe to use from several threads."""

    def __init__(self, max_exchanges: int) -> None:
        if max_exchanges < 1:
            raise ValueError(f"max_exchanges is {max_exchanges}; it must be at least 1.")
        self._max = max_exchanges
        self._kept: OrderedDict[bytes, Hidden] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: bytes) -> Hidden | None:
        with self._lock:
            hidden = self._kept.get(key)
            if hidden is not None:
                self._kept.move_to_end(key)
            return hidden

    def keep(self, key: bytes, hidden: Hidden) -> None:
        with self._lock:
            self._kept[key] = hidden
            self._kept.move_to_end(key)
            if len(self._kept) > self._max:
                self._kept.popitem(last=False)


def digest(*values: Any) -> bytes:
    """SHA-256 over values that JSON can hold, or that a provider's client made of it."""
    whole = hashlib.sha256()
    for value in values:
        whole.update(_canonical(value))
    return whole.digest()


def prefix_keys(seed: bytes, messages: Iterable[Any]) -> Iterator[bytes]:
    """For each message a digest of the conversation up to and with it.

    A message is the same as a dict and as an object of a client, with and without fields that are null.
    """
    whole = hashlib.sha256(seed)
    for message in messages:
        whole.update(_canonical(message))
        yield whole.copy().digest()


def plain(value: Any) -> Any:
    """`value` as JSON has it, without fields that are null."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return plain(dump(mode="json", warnings=False))
    return value


def _renamed(value: Any, taken: Collection[str]) -> Any:
    """`value` with other ids for `taken` in the places that providers have for ids of calls."""
    if isinstance(value, list | tuple):
        return [_renamed(inner, taken) for inner in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, inner in value.items():
        if key in _IDS and isinstance(inner, str):
            out[key] = _other_id(inner) if inner in taken else inner
        else:
            out[key] = inner if key == _ARGUMENTS else _renamed(inner, taken)
    return out


def _other_id(call_id: str) -> str:
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:24]}"


def _canonical(value: Any) -> bytes:
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), default=repr)
    # The length keeps ["ab", "c"] and ["a", "bc"] apart.
    return f"{len(text)}:{text}".encode("utf-8", "surrogatepass")
