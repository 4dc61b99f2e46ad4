"""`Said`: JSON of a provider that reads as the objects of its client do, so that one code serves both."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

from toolsearch.tools import JsonObject

# Fields that a provider may leave out, and that are then None in the objects of its client.
_OPTIONAL = frozenset(
    {
        *("type", "id", "created", "index", "usage", "choices", "delta", "finish_reason", "output"),
        *("content", "role", "refusal", "tool_calls", "function_call"),
    }
)


class Said:
    """An object of JSON whose members are attributes.

    Attributes:
        raw: The bytes that it was read from, as long as it is as it came; else empty.
        event: The name of the event whose data it is, if that has one.
    """

    __slots__ = ("_json", "event", "raw")

    def __init__(self, record: JsonObject, *, raw: bytes = b"", event: str = "") -> None:
        self._set(record, raw, event)

    def _set(self, record: JsonObject, raw: bytes, event: str) -> None:
        object.__setattr__(self, "_json", record)
        object.__setattr__(self, "raw", raw)
        object.__setattr__(self, "event", event)

    def __getattr__(self, name: str) -> Any:
        try:
            return _shown(self._json[name])
        except KeyError:
            if name in _OPTIONAL:
                return None
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._json[name] = _plain(value)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((name, _shown(value)) for name, value in self._json.items())

    def __deepcopy__(self, memo: dict[int, Any]) -> Said:
        return Said(copy.deepcopy(self._json, memo), event=self.event)

    @property
    def model_fields_set(self) -> set[str]:
        """The names of its members."""
        return set(self._json)

    @property
    def model_extra(self) -> JsonObject:
        """Its members that the client's object has no field for, in the piece of an answer."""
        return {name: value for name, value in self._json.items() if name not in _OPTIONAL}

    def to_dict(self, **_: Any) -> JsonObject:
        """Its members; what they hold is shared."""
        return dict(self._json)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Said:
        """The same with other members; written anew."""
        record = copy.deepcopy(self._json) if deep else dict(self._json)
        record.update({name: _plain(value) for name, value in (update or {}).items()})
        return Said(record, event=self.event)

    def written(self) -> bytes:
        """As JSON, or as the bytes that it came in."""
        raw: bytes = self.raw
        return raw or json_text(self._json)


def json_text(value: Any) -> bytes:
    """`value` as JSON in ASCII, so that even half a surrogate pair goes back as it came."""
    return json.dumps(value, separators=(",", ":")).encode()


def json_object(raw: bytes) -> JsonObject | None:
    """The object that `raw` is in JSON; None for anything else."""
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return Said(value)
    if isinstance(value, list):
        return [_shown(item) for item in value]
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Said):
        return value._json
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
