"""Putting together what a stream delivers in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from toolsearch.chat.arguments import is_complete
from toolsearch.embedders.text import without_surrogates
from toolsearch.tools import JsonObject


def joined(pieces: Iterable[str]) -> str:
    """The pieces as one text; a character that was cut into two surrogates is whole again."""
    return without_surrogates("".join(pieces))


class TextPieces:
    """Hands text on piece by piece, each of which can be shown: no character is cut in two."""

    def __init__(self) -> None:
        self._held = ""

    def add(self, piece: str) -> str:
        """What can be shown now; half a character at the end waits for the next piece."""
        text = self._held + piece
        self._held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return without_surrogates(text.removesuffix(self._held))

    def rest(self) -> str:
        """What is still held back, once the stream has ended."""
        held, self._held = self._held, ""
        return without_surrogates(held)


@dataclass
class _Call:
    index: int
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    is_custom: bool = False


def _written(call: _Call) -> JsonObject:
    if call.is_custom:
        custom = {"name": call.name, "input": joined(call.arguments)}
        return {"id": call.id, "type": "custom", "custom": custom}
    return {"id": call.id, "function": {"name": call.name, "arguments": joined(call.arguments)}}


class CallPieces:
    """Tool calls out of the deltas of a Chat Completions stream, whatever way a server cuts them.

    Known ways: several entries for one index in a delta; alternating indexes without ids; the id or the
    name repeated with each piece, or null; parallel calls that all have index 0, or none, and differ in
    their ids, or come whole one after the other; parallel calls that share an id and differ in index.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def add(self, delta: JsonObject) -> None:
        """Take one entry of a delta's ``tool_calls``."""
        custom = delta.get("custom")
        function = custom or delta.get("function") or {}
        name, arguments = function.get("name") or "", function.get("input" if custom else "arguments")
        call = self._call_of(delta.get("index"), str(delta.get("id") or ""), name)
        call.name = call.name or name
        call.is_custom = call.is_custom or bool(custom)
        if arguments:
            call.arguments.append(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def calls(self) -> list[JsonObject]:
        """The calls as a whole answer has them, by index, then in the order in which they began."""
        return [_written(call) for call in sorted(self._calls, key=lambda call: call.index)]

    def _call_of(self, index: Any, call_id: str, name: str) -> _Call:
        same_id = [call for call in self._calls if call_id and call.id == call_id]
        if same_id:
            found = next((call for call in same_id if call.index == index), same_id[-1])
            elsewhere = isinstance(index, int) and index != found.index
            if not (elsewhere and name and found.name and is_complete("".join(found.arguments))):
                return found
        same_index = [call for call in self._calls if index is None or call.index == index]
        if same_index:
            last = same_index[-1]
            other_id = bool(call_id and last.id)
            whole = bool(name and last.name) and is_complete("".join(last.arguments))
            if not (name and other_id) and not whole:
                last.id = last.id or call_id
                return last
        place = index if isinstance(index, int) else len(self._calls)
        self._calls.append(_Call(place, id=call_id))
        return self._calls[-1]
