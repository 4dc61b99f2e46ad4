"""Schemas of a document as JSON Schema that stands by itself, for what a request sends or an answer holds."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from toolsearch.exceptions import DefinitionError
from toolsearch.schema.keywords import MAX_DEPTH, subschemas
from toolsearch.schema.refs import as_ref, put, ref_steps
from toolsearch.sources.openapi.composition import is_mergeable, merged
from toolsearch.sources.openapi.document import OpenApiDocument
from toolsearch.tools import JsonObject

MAX_DEFINITIONS_CHARACTERS = 60_000
"""Of the definitions that a schema refers to, as JSON; real ones beyond it go on for megabytes."""

MAX_MERGED_PARTS = 5_000
"""Values in the schema that an ``allOf`` becomes; one of more is left as it stands, with its references."""

MAX_INLINED = 20_000
"""Schemas that are read for the ``allOf`` of one operation, however often a document names them."""

LEFT_OUT = "Its members are left out here for their size."
_GROWS = "an allOf that grows beyond measure is left as it stands"

# What says nothing about values, or only to generators of code.
_DROPPED = frozenset({"discriminator", "example", "externalDocs", "xml"})
_ANNOTATIONS = frozenset({"default", "deprecated", "description", "nullable", "title", "writeOnly"})


class SchemaReader:
    """Reads the schemas of one request or answer; what they refer to is collected in `definitions`.

    References are followed and kept as references to ``$defs``, so that a schema may contain itself.
    ``allOf`` of plain objects becomes one object. Members that only answers have (``readOnly``), or of an
    answer those that only requests have (``writeOnly``), are left out.
    """

    def __init__(self, document: OpenApiDocument, tool: str, *, is_answer: bool = False) -> None:
        self._document = document
        self._tool = tool
        self._not_here = "writeOnly" if is_answer else "readOnly"
        self._names: dict[str, str] = {}
        self._waiting: deque[str] = deque()
        self._definitions: dict[str, JsonObject] = {}
        self._characters = 0
        self._n_inlined = 0
        self._whole: dict[str, Any] = {}
        self._met: set[str] = set()
        self.mended: list[str] = []

    def read(self, schema: Any) -> JsonObject:
        """The schema; anything that is allowed by `true` is an empty one.

        Raises:
            DefinitionError: no schema, a reference that cannot be followed, or nesting without end.
        """
        read = self._read(schema, ())
        return {"not": {}} if read is False else {} if read is True else read

    def definitions(self) -> JsonObject:
        """Everything that the schemas read so far refer to, by name."""
        while self._waiting:
            ref = self._waiting.popleft()
            target = self._document.target(self._tool, ref)
            is_full = self._characters > MAX_DEFINITIONS_CHARACTERS
            read = self._stub(target) if is_full else self._read(target, (ref,))
            self._definitions[self._names[ref]] = read
            self._characters += len(json.dumps(read, default=str))
        return self._definitions

    def resolved(self, schema: JsonObject) -> JsonObject:
        """A schema that was read here, or what it refers to, with what stands beside the reference."""
        seen: set[str] = set()
        while "$ref" in schema and schema["$ref"] not in seen:
            seen.add(schema["$ref"])
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**self.definitions()[ref_steps(schema["$ref"])[-1]], **beside}
        return schema

    def _read(self, schema: Any, open_refs: tuple[str, ...], depth: int = 0) -> Any:
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise DefinitionError(self._tool, f"a schema must be an object, not {schema!r:.60}.")
        if depth > MAX_DEPTH:
            raise DefinitionError(self._tool, f"a schema is nested deeper than {MAX_DEPTH} levels.")
        self._n_inlined += len(open_refs) > 1
        if "$ref" in schema:
            return self._reference(schema, open_refs, depth)
        kept = {k: v for k, v in schema.items() if k not in _DROPPED and not k.startswith("x-")}
        if "example" in schema and "examples" not in schema:
            kept["examples"] = [schema["example"]]
        if isinstance(kept.get("properties"), dict):
            kept = self._without_the_other_way(kept)
        result = dict(kept)
        for steps, part in subschemas(kept):
            put(result, kept, steps, self._read(part, open_refs, depth + 1))
        if isinstance(result.get("allOf"), list):
            result = self._composed(result, open_refs, depth)
        is_nullable = schema.get("nullable") is True or schema.get("x-nullable") is True
        result.pop("nullable", None)
        return _with_null(result) if is_nullable else result

    def _reference(self, schema: JsonObject, open_refs: tuple[str, ...], depth: int) -> Any:
        ref = schema["$ref"]
        target = self._document.target(self._tool, ref)
        beside = {k: v for k, v in schema.items() if k != "$ref"}
        if not self._document.has_json_schema:
            # Before 3.1 only annotations can have been meant there.
            beside = {k: v for k, v in beside.items() if k in _ANNOTATIONS}
        if isinstance(target, bool):
            return self._read(beside, open_refs, depth + 1) if target else False
        is_nullable = beside.pop("nullable", False) is True
        around = self._read(beside, open_refs, depth + 1) if beside else {}
        if ref not in self._names:
            self._names[ref] = self._free_name(ref)
            self._waiting.append(ref)
        link = {"$ref": as_ref(("$defs", self._names[ref]))}
        if is_nullable:
            return {"anyOf": [link, {"type": "null"}], **around}
        return {**link, **around}

    def _stub(self, target: JsonObject) -> JsonObject:
        self._note("definitions beyond a size that models can read are left out of its input schema")
        kind = {"type": target["type"]} if "type" in target else {}
        return {**kind, "description": LEFT_OUT}

    def _note(self, message: str) -> None:
        if message not in self.mended:
            self.mended.append(message)

    def _free_name(self, ref: str) -> str:
        steps = ref_steps(ref)
        wanted = "".join(c if c.isalnum() or c in "_-." else "_" for c in steps[-1]) if steps else "Document"
        name, n = wanted, 2
        while name in self._names.values():
            name, n = f"{wanted}_{n}", n + 1
        return name

    def _without_the_other_way(self, schema: JsonObject) -> JsonObject:
        properties = {
            name: part for name, part in schema["properties"].items() if not self._is_left_out(part)
        }
        if len(properties) == len(schema["properties"]):
            return schema
        result = {**schema, "properties": properties}
        if isinstance(schema.get("required"), list):
            gone = schema["properties"].keys() - properties.keys()
            result["required"] = [name for name in schema["required"] if name not in gone]
        return result

    def _is_left_out(self, schema: Any) -> bool:
        seen: set[Any] = set()
        while isinstance(schema, dict):
            if schema.get(self._not_here) is True:
                return True
            ref = schema.get("$ref")
            if not isinstance(ref, str) or ref in seen:
                return False
            seen.add(ref)
            schema = self._document.target(self._tool, ref)
        return False

    def _composed(self, schema: JsonObject, open_refs: tuple[str, ...], depth: int) -> JsonObject:
        """The schema with its ``allOf`` made part of it, where that says the same."""
        around = {key: value for key, value in schema.items() if key != "allOf"}
        if len(schema["allOf"]) == 1 and around.keys() <= _ANNOTATIONS | {"examples"}:
            only = schema["allOf"][0]
            return {**only, **around} if isinstance(only, dict) else schema
        parts = [around] if around.keys() - _ANNOTATIONS - {"examples"} else []
        for part in schema["allOf"]:
            inlined = self._inlined(part, open_refs, depth)
            if inlined is None or not is_mergeable(inlined):
                return schema
            parts.append(inlined)
        whole = merged(parts) if all(map(is_mergeable, parts)) else None
        if whole is not None and _is_larger(whole, MAX_MERGED_PARTS):
            self._note(_GROWS)
            return schema
        return schema if whole is None else {**whole, **around, **_structure(whole)}

    def _inlined(self, part: Any, open_refs: tuple[str, ...], depth: int) -> JsonObject | None:
        """A member of ``allOf`` without reference; None where it contains itself."""
        if not isinstance(part, dict):
            return None
        if "$ref" not in part:
            return part
        name = ref_steps(part["$ref"])[-1]
        ref = next(ref for ref, known in self._names.items() if known == name)
        if ref in open_refs:
            self._met.add(ref)
            return None
        if ref in self._whole:
            read = self._whole[ref]
        elif self._n_inlined > MAX_INLINED:
            self._note(_GROWS)
            return None
        else:
            met_before, self._met = self._met, set()
            read = self._read(self._document.target(self._tool, ref), (*open_refs, ref), depth + 1)
            self._met.discard(ref)
            if not self._met:
                # It is the same wherever it stands.
                self._whole[ref] = read
            self._met |= met_before
        return {**read, **{k: v for k, v in part.items() if k != "$ref"}} if isinstance(read, dict) else None


def _is_larger(value: Any, most: int) -> bool:
    """Whether there are more than so many values in this one, each as often as it stands there."""
    waiting, n = [value], 0
    while waiting:
        part = waiting.pop()
        n += 1
        if n > most:
            return True
        waiting.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
    return False


def _structure(schema: JsonObject) -> JsonObject:
    return {key: schema[key] for key in ("type", "properties", "required") if key in schema}


def _with_null(schema: JsonObject) -> JsonObject:
    """The schema with null among its values."""
    kind = schema.get("type")
    result = dict(schema)
    if isinstance(kind, str) and kind != "null":
        result["type"] = [kind, "null"]
    elif isinstance(kind, list) and "null" not in kind:
        result["type"] = [*kind, "null"]
    if isinstance(result.get("enum"), list) and None not in result["enum"]:
        result["enum"] = [*result["enum"], None]
    if kind is None:
        for keyword in ("anyOf", "oneOf"):
            if isinstance(result.get(keyword), list):
                result[keyword] = [*result[keyword], {"type": "null"}]
                break
        else:
            if "$ref" in result or "allOf" in result:
                inner = {k: result.pop(k) for k in ("$ref", "allOf") if k in result}
                result["anyOf"] = [inner, {"type": "null"}]
    return result
