"""`Format`: one wire form of a tool definition, and the steps that reading any form has in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from toolsearch.exceptions import DefinitionError, SchemaError
from toolsearch.schema import check_schema
from toolsearch.schema.keywords import is_json, is_text
from toolsearch.tool import JsonObject, Tool, empty_schema

JsonValue: TypeAlias = Any
"""None, a boolean, number, string, list or string-keyed dict of these."""


@dataclass(frozen=True)
class ToolReading:
    """A tool as it was read, and one message for each change that reading it took."""

    tool: Tool
    mended: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """A wire form.

    Attributes:
        name: As in ``read_tools(..., form=name)``.
        matches: Whether a record is one tool in this form.
        read: The tool of a record; the second argument is the source where the record names none.
            Raises `DefinitionError`.
        write: The JSON value that a request, a result or a file holds for these tools.
    """

    name: str
    matches: Callable[[JsonObject], bool]
    read: Callable[[JsonObject, str], ToolReading]
    write: Callable[[Sequence[Tool]], JsonValue]


@dataclass
class RecordReader:
    """Takes a record apart key by key; what is left in the end is kept as the form's own.

    A value that cannot be meant is left out with a message, except for the name and the input schema,
    without which there is no tool.
    """

    record: JsonObject
    mended: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rest = dict(self.record)
        self.tool_name = self._name()

    def text(self, *keys: str) -> str:
        """The first of `keys` with text, else the empty string; null is no text."""
        found = ""
        for key in keys:
            value = self._rest.pop(key, None)
            if value is None or found:
                continue
            if isinstance(value, str):
                found = self._encodable(key, value)
            else:
                self._leave_out(key, value, "no text")
        return found

    def flag(self, key: str) -> bool | None:
        """True or false as the record says it; None where it does not."""
        value = self._rest.pop(key, None)
        if value is not None and not isinstance(value, bool):
            self._leave_out(key, value, "neither true nor false")
            return None
        return value

    def labels(self, key: str) -> tuple[str, ...]:
        """Distinct strings in the record's order; one string is a list of one."""
        value = self._rest.pop(key, None)
        if value is None:
            return ()
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not all(is_text(label) for label in value):
            self._leave_out(key, value, "no list of strings")
            return ()
        return tuple(dict.fromkeys(value))

    def source(self, default: str, *keys: str) -> str:
        """The tool source that the first of `keys` names, else `default`."""
        found = ""
        for key in keys:
            value = self._rest.pop(key, None)
            if value is not None and not is_text(value):
                raise DefinitionError(self.tool_name, f"its {key} must be a string, not {value!r:.60}.")
            found = found or value or ""
        return found or default

    def take(self, key: str) -> Any:
        """Whatever stands under `key`, None where nothing does."""
        return self._rest.pop(key, None)

    def input_schema(self, *keys: str) -> JsonObject:
        """The checked schema under the first of `keys` with a value; of no arguments if there is none."""
        present = [key for key in keys if key in self._rest]
        if not present:
            return empty_schema()
        values = [self._rest.pop(key) for key in present]
        stated = [(key, value) for key, value in zip(present, values, strict=True) if value is not None]
        key, value = stated[0] if stated else (present[0], None)
        checked = check_schema(self.tool_name, value)
        self.mended.extend(f"{key}: {message}" for message in checked.mended)
        return checked.schema

    def output_schema(self, *keys: str) -> JsonObject | None:
        """The checked schema of results; one that cannot be used is left out with a message."""
        found = None
        for key in keys:
            value = self._rest.pop(key, None)
            if value is None or found is not None:
                continue
            try:
                checked = check_schema(self.tool_name, value)
            except SchemaError as exc:
                self.mended.append(f"{key}: left out, {exc.reason}")
                continue
            self.mended.extend(f"{key}: {message}" for message in checked.mended)
            found = checked.schema
        return found

    def rest(self, *, without: Collection[str] = ()) -> JsonObject:
        """What has not been taken, nulls and `without` left out."""
        kept = {}
        for key, value in self._rest.items():
            if value is None or key in without:
                continue
            if is_text(key) and is_json(value):
                kept[key] = value
            else:
                self._leave_out(key, value, "not JSON over UTF-8")
        return kept

    def done(self, tool: Tool) -> ToolReading:
        return ToolReading(tool, tuple(self.mended))

    def _name(self) -> str:
        name = self._rest.pop("name", None)
        if not isinstance(name, str) or not name.strip():
            shown = str(self.record.get("id") or self.record.get("type") or "")
            raise DefinitionError(shown, f"a tool needs a name, not {name!r:.60}.")
        if not is_text(name):
            raise DefinitionError(name.encode("utf-8", "replace").decode(), "its name holds lone surrogates.")
        return name

    def _encodable(self, key: str, text: str) -> str:
        if is_text(text):
            return text
        self.mended.append(f"{key}: lone surrogates are replaced by U+FFFD")
        return _SURROGATE.sub("\ufffd", text)

    def _leave_out(self, key: str, value: Any, why: str) -> None:
        self.mended.append(f"{key}: {value!r:.60} is {why}, left out".encode("utf-8", "replace").decode())


_SURROGATE = re.compile("[\ud800-\udfff]")


def without_empty(record: JsonObject) -> JsonObject:
    """The record without keys whose value is None, an empty string or an empty list or dict."""
    return {key: value for key, value in record.items() if value is False or value or value == 0}
