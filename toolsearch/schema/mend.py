"""Mending: what tools in the wild write for JSON Schema, turned into what they meant, and reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolsearch.exceptions import SchemaError
from toolsearch.schema.definitions import gather_definitions
from toolsearch.schema.keywords import (
    MAX_DEPTH,
    SCHEMA_KEYWORDS,
    SCHEMA_LIST_KEYWORDS,
    SCHEMA_MAP_KEYWORDS,
    VALUE_RULES,
    is_json,
    is_number,
    is_regex,
)
from toolsearch.schema.mend_types import read_type
from toolsearch.schema.refs import json_path, target_of, unending_ref, unusable
from toolsearch.tools import JsonObject

# Without these a schema says something else; any other value that cannot be meant is dropped.
_STRUCTURE = frozenset({"const", "default", "enum", "required", "type"})
_NUMBERS = frozenset(
    {
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
    }
)


def mend(tool_name: str, root: JsonObject, notes: list[str]) -> JsonObject:
    """`root` as a usable object schema; adds a message to `notes` for each change.

    Expects JSON values in the keywords of draft 2020-12 with all references local.

    Raises:
        SchemaError: what cannot be mended.
    """
    mender = _Mender(tool_name, notes)
    result = mender.as_object(mender.schema(root, "$", 0))
    gather_definitions(tool_name, result, lambda schema, path: mender.schema(schema, path, 1))
    loop = unending_ref(result)
    if loop is not None:
        raise unusable(tool_name, "$", f"the reference {loop!r} leads back to itself")
    return result


_OVERRIDING = frozenset({"$defs", "default", "definitions", "description", "title"})


class _Mender:
    """Walks a schema top-down; each method gives the mended value, or `_DROPPED` to leave its keyword out."""

    def __init__(self, tool_name: str, notes: list[str]) -> None:
        self.tool_name = tool_name
        self.notes = notes

    def schema(self, schema: JsonObject, path: str, depth: int, *, in_properties: bool = False) -> JsonObject:
        if depth > MAX_DEPTH:
            raise self._unusable(path, f"it is nested deeper than {MAX_DEPTH} levels")
        result: JsonObject = {}
        for keyword, value in schema.items():
            where = json_path(path, keyword)
            if keyword in SCHEMA_MAP_KEYWORDS:
                mended = self._map(keyword, value, where, depth)
            elif keyword in SCHEMA_LIST_KEYWORDS:
                mended = self._list(value, where, depth)
            elif keyword in SCHEMA_KEYWORDS:
                mended = self._single(value, where, depth)
            elif keyword in VALUE_RULES:
                mended = self._value(keyword, value, where)
            elif is_json(value, depth):
                mended = value
            else:
                raise self._unusable(where, f"it is nested deeper than {MAX_DEPTH} levels")
            if mended is not _DROPPED:
                result[keyword] = mended
        if result.get("required") is True and not in_properties:
            del result["required"]
            self._drop(json_path(path, "required"), True)
        self._lift_required(result, path)
        return self._with_null(result, path)

    def as_object(self, root: JsonObject) -> JsonObject:
        """The root as an object schema with its own properties, not only those of what it refers to."""
        seen: set[str] = set()
        while "$ref" in root:
            ref = root["$ref"]
            target = target_of(root, ref)
            if ref in seen or ref == "#":
                raise self._unusable("$.$ref", f"{ref!r} leads back to itself")
            if not isinstance(target, dict):
                raise self._unusable("$.$ref", f"{ref!r} leads nowhere")
            seen.add(ref)
            # What stands outside of subschemas has not been mended yet; the rest needs nothing more.
            target = self.schema(target, "$", 0)
            own = {keyword: value for keyword, value in root.items() if keyword != "$ref"}
            clashing = [k for k in own if k in target and k not in _OVERRIDING and own[k] != target[k]]
            if clashing:
                raise self._unusable("$.$ref", f"{ref!r} and what stands beside it both say {clashing}")
            root = {**target, **own}
            self.notes.append(f"$.$ref: what {ref!r} refers to is read in its place")
        kind = root.get("type", "object")
        if kind != "object" and not (isinstance(kind, list) and "object" in kind):
            raise self._unusable("$.type", f"arguments are an object, not {kind!r}")
        if root.get("type") != "object":
            said = f"{kind!r} is" if "type" in root else "no type is"
            self.notes.append(f"$.type: {said} read as 'object'")
        rest = {k: v for k, v in root.items() if k not in {"type", "properties"}}
        return {"type": "object", "properties": root.get("properties", {}), **rest}

    def _map(self, keyword: str, value: Any, path: str, depth: int) -> Any:
        if value is None or value == []:
            return self._drop(path, value)
        if not isinstance(value, dict):
            raise self._unusable(path, f"must be an object of schemas, not {_kind(value)}")
        result = {}
        for name, part in value.items():
            where = json_path(path, name)
            if keyword == "patternProperties" and not is_regex(name):
                self.notes.append(f"{where}: no regular expression that can be checked here, left out")
                continue
            mended = self._single(part, where, depth, in_properties=keyword == "properties")
            result[name] = True if mended is _DROPPED else mended
        return result

    def _list(self, value: Any, path: str, depth: int) -> Any:
        if value is None or value == []:
            return self._drop(path, value)
        if not isinstance(value, list):
            raise self._unusable(path, f"must be a list of schemas, not {_kind(value)}")
        parts = [self._single(part, json_path(path, i), depth) for i, part in enumerate(value)]
        return [True if part is _DROPPED else part for part in parts]

    def _single(self, value: Any, path: str, depth: int, *, in_properties: bool = False) -> Any:
        if isinstance(value, dict):
            return self.schema(value, path, depth + 1, in_properties=in_properties)
        if isinstance(value, bool):
            return value
        if value is None or value == []:
            return self._drop(path, value)
        if isinstance(value, str):
            if value.lower() in {"true", "false"}:
                self.notes.append(f"{path}: {value!r} is read as {value.lower()}")
                return value.lower() == "true"
            meaning = read_type(value)
            if meaning.known:
                self.notes.append(f"{path}: {value!r} is read as a type")
                return {"type": meaning.type} if meaning.type is not None else {}
        raise self._unusable(path, f"must be a schema, not {_kind(value)}")

    def _value(self, keyword: str, value: Any, path: str) -> Any:
        if VALUE_RULES[keyword](value):
            return value
        if keyword == "type":
            return self._type(value, path)
        if keyword == "required" and value is True:
            return value
        if value is None or (keyword == "required" and value in (False, {})):
            return self._drop(path, value)
        mended = _REPAIRS.get(keyword, _number if keyword in _NUMBERS else _beyond_repair)(value)
        if mended is not _DROPPED and VALUE_RULES[keyword](mended):
            self.notes.append(f"{path}: {_brief(value)} is read as {_brief(mended)}")
            return mended
        if keyword in _STRUCTURE:
            raise self._unusable(path, f"{_brief(value)} cannot be meant here")
        return self._drop(path, value)

    def _type(self, value: Any, path: str) -> Any:
        meaning = read_type(value)
        if not meaning.known:
            raise self._unusable(path, f"unknown type {_brief(value)}")
        if meaning.type is None:
            self.notes.append(f"{path}: {_brief(value)} is read as any type")
            return _DROPPED
        self.notes.append(f"{path}: {_brief(value)} is read as {meaning.type!r}")
        return meaning.type

    def _lift_required(self, schema: JsonObject, path: str) -> None:
        """Draft 3 says `required` as a boolean in the property; today the object lists the names."""
        properties = schema.get("properties", {})
        lifted = [
            name
            for name, part in properties.items()
            if isinstance(part, dict) and part.get("required") is True
        ]
        for name in lifted:
            del properties[name]["required"]
            self.notes.append(f"{json_path(path, 'properties', name)}.required: moved to {path}.required")
        if lifted:
            listed = schema.get("required")
            if not isinstance(listed, list):
                listed = []
            schema["required"] = listed + [name for name in lifted if name not in listed]

    def _with_null(self, schema: JsonObject, path: str) -> JsonObject:
        """OpenAPI 3.0 says `nullable`; JSON Schema counts null among the types."""
        if not isinstance(schema.get("nullable"), bool):
            return schema
        nullable = schema.pop("nullable")
        self._note(path, "nullable", f"{str(nullable).lower()} is read as a type")
        if not nullable:
            return schema
        kind = schema.get("type")
        if isinstance(kind, str) and kind != "null":
            schema["type"] = [kind, "null"]
        elif isinstance(kind, list) and "null" not in kind:
            schema["type"] = [*kind, "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
        if "$ref" in schema:
            schema = {"anyOf": [{"$ref": schema.pop("$ref")}, {"type": "null"}], **schema}
        elif kind is None and isinstance(schema.get("anyOf"), list):
            schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
        return schema

    def _unusable(self, path: str, reason: str) -> SchemaError:
        return unusable(self.tool_name, path, reason)

    def _drop(self, path: str, value: Any) -> Any:
        self.notes.append(f"{path}: {_brief(value)} is left out")
        return _DROPPED

    def _note(self, path: str, keyword: str, text: str) -> None:
        self.notes.append(f"{json_path(path, keyword)}: {text}")


_DROPPED: Any = object()


def _number(value: Any) -> Any:
    """The number that a string spells, as ProtoJSON writes 64-bit integers."""
    if not isinstance(value, str):
        return _DROPPED
    for read in (int, float):
        try:
            number = read(value)
        except ValueError:
            continue
        return number if is_number(number) else _DROPPED
    return _DROPPED


def _boolean(value: Any) -> Any:
    return {"true": True, "false": False}.get(value.lower(), _DROPPED) if isinstance(value, str) else _DROPPED


def _required(value: Any) -> Any:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return list(dict.fromkeys(value))
    return _DROPPED


def _beyond_repair(value: Any) -> Any:
    return _DROPPED


def _examples(value: Any) -> Any:
    return [value]


_REPAIRS: dict[str, Callable[[Any], Any]] = {
    "deprecated": _boolean,
    "examples": _examples,
    "readOnly": _boolean,
    "required": _required,
    "uniqueItems": _boolean,
    "writeOnly": _boolean,
}


def _brief(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _kind(value: Any) -> str:
    return {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list"}.get(
        type(value), _brief(value)
    )
