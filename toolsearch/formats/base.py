"""`Format`: one wire form of a tool definition, and the steps that reading any form has in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from toolsearch.exceptions import DefinitionError, SchemaError
from toolsearch.naming import variant_of
from toolsearch.schema import check_schema
from toolsearch.schema.keywords import is_json, is_text
from toolsearch.tools import JsonObject, Tool, empty_schema

JsonValue: TypeAlias = Any
"""None, a boolean, number, string, list or string-keyed dict of these."""


WrittenKeys: TypeAlias = Mapping[tuple[str, ...], JsonValue]
"""Keys, each from the top of a record, that are written from the tool's own fields. None where what the
source said beyond them may never stand there, else the one value that may."""


SCHEMA_KEYS = frozenset(
    {
        "args_schema",
        "input_schema",
        "inputSchema",
        "parameters",
        "parametersJsonSchema",
        "parameters_json_schema",
    }
)
"""Where the forms keep the input schema; a record with one of these is a definition."""


ORIGIN_KEYS = ("server", "id", "variant")
"""Our own keys of where a tool comes from, read beside a definition in any form."""


def written_keys(*own: str) -> WrittenKeys:
    """No such key at the top of a record, nor one by which another form is known or a source is named."""
    return {(key,): None for key in ("name", "description", "function", *ORIGIN_KEYS, *SCHEMA_KEYS, *own)}


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
        written: What `write` takes from the tool alone, whatever `Tool.meta` says.
    """

    name: str
    matches: Callable[[JsonObject], bool]
    read: Callable[[JsonObject, str], ToolReading]
    write: Callable[[Sequence[Tool]], JsonValue]
    written: WrittenKeys


@dataclass(frozen=True)
class Origin:
    """Where a tool comes from: its source, what `Tool.id` keeps of its id, and the id as it was stated."""

    source: str
    variant: str
    stated_id: str | int | None = None

    def meta(self, form: str, kept: JsonObject) -> JsonObject:
        """`Tool.meta` of a tool that was read in `form`; see `form_meta`."""
        meta: JsonObject = {form: kept} if kept else {}
        return meta if self.stated_id is None else {**meta, "id": self.stated_id}


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
                found = readable_text(key, value, self.mended)
            else:
                self.leave_out(key, value, "no text")
        return found

    def flag(self, key: str) -> bool | None:
        """True or false as the record says it; None where it does not."""
        value = self._rest.pop(key, None)
        if value is not None and not isinstance(value, bool):
            self.leave_out(key, value, "neither true nor false")
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
            self.leave_out(key, value, "no list of strings")
            return ()
        return tuple(dict.fromkeys(value))

    def origin(self, default_source: str) -> Origin:
        """Where the tool comes from: our own keys ``server``, ``id`` and ``variant``, in any form."""
        source = self._rest.pop("server", None)
        if source is not None and not is_text(source):
            shown = f"{source!r:.60}".encode("utf-8", "replace").decode()
            raise DefinitionError(self.tool_name, f"its server must be a string, not {shown}.")
        source = source or default_source
        stated_id = self._rest.pop("id", None)
        if stated_id is not None and not (is_text(stated_id) or type(stated_id) is int):
            raise DefinitionError(
                self.tool_name, f"its id must be a string or a whole number, not {stated_id!r:.60}."
            )
        if "variant" in self._rest:
            variant = self.text("variant")
        else:
            variant = "" if stated_id is None else variant_of(str(stated_id), source, self.tool_name)
        return Origin(source, variant, stated_id)

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

    def replaced(self, key: str, value: Any) -> RecordReader:
        """This reader with another value under `key`."""
        self._rest[key] = value
        return self

    def rest(self) -> JsonObject:
        """What has not been taken, without nulls."""
        return self.json_only(self._rest)

    def json_only(self, values: JsonObject) -> JsonObject:
        """`values` without nulls and without what JSON cannot carry."""
        kept = {}
        for key, value in values.items():
            if value is None:
                continue
            if is_text(key) and is_json(value):
                kept[key] = value
            else:
                self.leave_out(key, value, "not JSON over UTF-8")
        return kept

    def done(self, tool: Tool) -> ToolReading:
        return ToolReading(tool, tuple(self.mended))

    def _name(self) -> str:
        name = self._rest.pop("name", None)
        if not isinstance(name, str) or not name.strip():
            stated_id = self.record.get("id")
            shown = str(stated_id) if is_text(stated_id) or type(stated_id) is int else ""
            raise DefinitionError(shown, f"a tool needs a name, not {name!r:.60}.")
        if not is_text(name):
            raise DefinitionError(name.encode("utf-8", "replace").decode(), "its name holds lone surrogates.")
        return name

    def leave_out(self, key: str, value: Any, why: str) -> None:
        """Report that the value under `key` is not used, because it is `why`."""
        self.mended.append(f"{key}: {value!r:.60} is {why}, left out".encode("utf-8", "replace").decode())


def readable_text(what: str, text: str, mended: list[str]) -> str:
    """`text` as UTF-8 can carry it; adds a message to `mended` where that takes a change."""
    if is_text(text):
        return text
    mended.append(f"{what}: lone surrogates are replaced by U+FFFD")
    return _SURROGATE.sub("\ufffd", text)


_SURROGATE = re.compile("[\ud800-\udfff]")


def form_meta(tool: Tool, form: str, written: WrittenKeys) -> JsonObject:
    """A copy of what a tool that was read in `form` said beyond the definition, to be written back in it."""
    kept = tool.meta.get(form)
    return without_written(kept, written)[0] if isinstance(kept, dict) else {}


def without_written(kept: JsonObject, written: WrittenKeys) -> tuple[JsonObject, list[str]]:
    """A copy without the keys that the form writes itself, and those keys, dotted where nested."""
    result = dict(kept)
    dropped = []
    for (first, *below), allowed in written.items():
        if first not in result:
            continue
        if not below:
            if allowed is None or result[first] != allowed:
                del result[first]
                dropped.append(first)
        elif not isinstance(result[first], dict):
            del result[first]
            dropped.append(first)
        else:
            inner, names = without_written(result[first], {tuple(below): allowed})
            result[first] = inner
            dropped += [f"{first}.{name}" for name in names]
    return result, dropped


def with_kept(record: JsonObject, kept: JsonObject) -> JsonObject:
    """`record`, followed by what else the source said; `record` wins."""
    return {**record, **kept, **record}


def export_schema(tool: Tool) -> JsonObject:
    """The input schema as any provider takes it, also of a tool that was made without `check_schema`."""
    return check_schema(tool.name, tool.input_schema).schema
