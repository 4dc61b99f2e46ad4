"""The parameters of a tool as a flat list, for the text that is searched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from toolsearch.schema.refs import target_of
from toolsearch.tools import JsonObject

MAX_FIELDS = 512
_MAX_OPEN_REFS = 32
_MAX_VISITS = 20_000

_COMBINING = frozenset({"$ref", "allOf", "anyOf", "oneOf"})

Refs: TypeAlias = tuple[str, ...]


class ParameterField(NamedTuple):
    """A parameter: its name, dotted where nested, what it is for, and the values that it may take."""

    name: str
    description: str = ""
    enum: tuple[str, ...] = ()


def parameter_fields(schema: JsonObject, *, max_depth: int = 4) -> list[ParameterField]:
    """Every parameter and nested parameter down to `max_depth` levels, parents first, in the schema's order.

    Items of a list carry the name of the list (``orders.id``). What a ``$ref`` or an ``anyOf``, ``oneOf``
    or ``allOf`` says counts as said in its place, a description beside a ``$ref`` before that of its
    target; the first description of a name counts, and its values add up. A recursive definition is
    followed once. Values are strings, numbers and booleans of ``enum`` and ``const``, as JSON writes
    them. At most 512 fields.
    """
    walk = _Walk(schema, max_depth)
    walk.properties(schema, "", 1, ())
    return [
        ParameterField(name, description, tuple(values)) for name, (description, values) in walk.found.items()
    ]


class _Walk:
    def __init__(self, root: JsonObject, max_depth: int) -> None:
        self.root = root
        self.max_depth = max_depth
        self.found: dict[str, tuple[str, dict[str, None]]] = {}
        self.n_left = _MAX_VISITS

    def properties(self, schema: Any, prefix: str, depth: int, open_refs: Refs) -> None:
        """Record the properties that `schema` and all that applies to the same value declare."""
        for part, refs in self._alternatives(schema, open_refs):
            for name, child in part.get("properties", {}).items():
                self._record(f"{prefix}{name}", child, depth, refs)

    def _record(self, name: str, schema: Any, depth: int, open_refs: Refs) -> None:
        if name not in self.found and len(self.found) >= MAX_FIELDS:
            return
        description, values = self.found.get(name, ("", {}))
        self.found[name] = (description, values)
        parts = self._alternatives(schema, open_refs)
        for part, refs in parts:
            description = description or part.get("description", "").strip()
            values.update(dict.fromkeys(_values(part)))
            for items, _ in self._alternatives(part.get("items"), refs):
                values.update(dict.fromkeys(_values(items)))
        self.found[name] = (description, values)
        if depth >= self.max_depth:
            return
        for part, refs in parts:
            for child_name, child in part.get("properties", {}).items():
                self._record(f"{name}.{child_name}", child, depth + 1, refs)
            for inner in (part.get("items"), part.get("additionalProperties"), *part.get("prefixItems", ())):
                self.properties(inner, f"{name}.", depth + 1, refs)

    def _alternatives(self, schema: Any, open_refs: Refs) -> list[tuple[JsonObject, Refs]]:
        """The schema and all that applies to the same value, itself first, none twice."""
        if isinstance(schema, dict) and _COMBINING.isdisjoint(schema):
            return [(schema, open_refs)]
        found: dict[int, tuple[JsonObject, Refs]] = {}

        def add(part: Any, refs: Refs) -> None:
            if not isinstance(part, dict) or id(part) in found or self.n_left == 0:
                return
            self.n_left -= 1
            found[id(part)] = (part, refs)
            ref = part.get("$ref")
            if isinstance(ref, str) and ref not in refs and len(refs) < _MAX_OPEN_REFS:
                add(target_of(self.root, ref), (*refs, ref))
            for keyword in ("allOf", "anyOf", "oneOf"):
                for inner in part.get(keyword, ()):
                    add(inner, refs)

        add(schema, open_refs)
        return list(found.values())


def _values(schema: JsonObject) -> Iterator[str]:
    values = schema.get("enum", [])
    if "const" in schema:
        values = [*values, schema["const"]]
    for value in values:
        if isinstance(value, bool):
            yield str(value).lower()
        elif isinstance(value, str | int | float):
            yield str(value)
