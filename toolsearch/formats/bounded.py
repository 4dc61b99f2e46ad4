"""Tools cut to what a model can be sent: one hostile definition of megabytes would end any conversation.

Most definitions stay the very objects that they are. A cut one is still a JSON Schema, keeps its required
arguments, at least by name, and says where something is missing. Only what models are sent is cut: a call is
checked, and a catalog kept, by the whole.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from toolsearch.tools import JsonObject, Tool

MAX_DESCRIPTION = 4_000
MAX_SCHEMA = 60_000
"""Characters of a schema as JSON; those of real servers are far below."""

CUT = "…"
LEFT_OUT = "Its schema is left out here for its size."

_AROUND = MAX_SCHEMA // 8
_MARKER_ROOM = 200
_DEFINITIONS = ("$defs", "definitions")
_REFERENCE = re.compile(r'"\$(?:ref|dynamicRef|recursiveRef)": "(.*?)"')
_KNOWN_REFERENCE = re.compile(r"#/(?:\$defs|definitions)/")


def bounded(tool: Tool) -> Tool:
    """`tool` as models are sent it; itself unless it is too large. The name and how to call it stay."""
    changes = {
        "description": cut_description(tool.description),
        "input_schema": bounded_schema(tool.input_schema),
        "output_schema": None if tool.output_schema is None else bounded_schema(tool.output_schema),
    }
    if all(value is getattr(tool, key) for key, value in changes.items()):
        return tool
    made = copy.copy(tool)
    vars(made).update(changes)
    vars(made).pop("definition", None)
    return made


def cut_description(text: str) -> str:
    """`text`, or so much of it as a model is sent and `CUT`."""
    return text if len(text) <= MAX_DESCRIPTION + len(CUT) else f"{text[:MAX_DESCRIPTION]}{CUT}"


def bounded_schema(schema: JsonObject) -> JsonObject:
    """`schema`, or one of at most `MAX_SCHEMA` characters that says how many properties it has lost."""
    if len(_json(schema)) <= MAX_SCHEMA:
        return schema
    properties: JsonObject = schema.get("properties") or {}
    around = _around(schema)
    definitions = _definitions(schema)
    room = MAX_SCHEMA - len(_json({**around, **definitions})) - _MARKER_ROOM
    required = [name for name in schema.get("required") or () if name in properties]
    kept = _kept(properties, dict.fromkeys(required), room, has_definitions=bool(definitions))
    n_lost = len(properties) - len(kept)
    result: JsonObject = {**around, "properties": {name: kept[name] for name in properties if name in kept}}
    if required:
        result["required"] = [name for name in required if name in kept]
        if len(result["required"]) < len(required):
            # A call has to have arguments that are not shown.
            result.pop("additionalProperties", None)
    if n_lost:
        marker = f"{n_lost:,} of {len(properties):,} properties are left out here for their size."
        result["description"] = f"{around.get('description', '')} {marker}".strip()
    return {**result, **definitions}


def _kept(
    properties: JsonObject, required: dict[str, None], room: int, *, has_definitions: bool
) -> JsonObject:
    """The properties that there is room for, whole or by name; those that are required come first."""
    kept: JsonObject = {}
    stubs = {name: _stub(properties[name]) for name in required}
    owed = sum(_cost(name, stub) for name, stub in stubs.items())
    for name in dict.fromkeys([*required, *properties]):
        part = properties[name]
        if name in required:
            owed -= _cost(name, stubs[name])
        if _stands(part, has_definitions=has_definitions) and _cost(name, part) <= room - owed:
            kept[name] = part
        elif _cost(name, stub := _stub(part)) <= (room if name in required else room - owed):
            kept[name] = stub
        else:
            continue
        room -= _cost(name, kept[name]) + (_cost(name, "") if name in required else 0)
    return kept


def _around(schema: JsonObject) -> JsonObject:
    """What stands beside the properties and is small; a long description is cut."""
    kept: JsonObject = {}
    room = _AROUND
    for key, value in schema.items():
        if key in {"properties", "required", *_DEFINITIONS}:
            continue
        part = cut_description(value) if key == "description" and isinstance(value, str) else value
        if _cost(key, part) <= room and _stands(part, has_definitions=False):
            kept[key] = part
            room -= _cost(key, part)
    return kept


def _definitions(schema: JsonObject) -> JsonObject:
    """What the schema refers to; empty where that is too large, and whatever refers to it has to go."""
    found = {key: schema[key] for key in _DEFINITIONS if key in schema}
    return found if len(_json(found)) <= MAX_SCHEMA // 2 and _stands(found, has_definitions=True) else {}


def _stands(part: Any, *, has_definitions: bool) -> bool:
    """Whether everything that a part refers to is among definitions that are there."""
    references = _REFERENCE.findall(_json(part))
    return not references or (has_definitions and all(map(_KNOWN_REFERENCE.match, references)))


def _stub(part: Any) -> JsonObject:
    kind = part.get("type") if isinstance(part, dict) else None
    return {**({"type": kind} if isinstance(kind, str) else {}), "description": LEFT_OUT}


def _cost(name: str, part: Any) -> int:
    return len(_json({name: part}))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
