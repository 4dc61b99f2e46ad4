"""Parameters and body of an operation as one input schema, and what of a request each argument is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolsearch.schema.keywords import subschemas
from toolsearch.schema.refs import ref_steps
from toolsearch.sources.openapi.model import Body, Parameter
from toolsearch.sources.openapi.schemas import SchemaReader
from toolsearch.tools import JsonObject

BODY = "body"

# What every provider takes as the name of a property.
_UNSAFE = re.compile(r"[^a-zA-Z0-9_.-]+")
_MAX_NAME = 64

# An object by these alone can share its members with the parameters.
_SPREAD = frozenset(
    {"$schema", "additionalProperties", "description", "examples", "properties", "required", "title", "type"}
)


@dataclass(frozen=True)
class Inputs:
    """The input schema of an operation, and where its arguments go.

    Attributes:
        schema: An object of all arguments.
        parameters: By argument.
        members: Members of the body, by argument, where they stand beside the parameters.
        body: The argument that is the body as a whole; empty for none.
    """

    schema: JsonObject
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    members: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


def merge_inputs(parameters: Iterable[Parameter], body: Body | None, schemas: SchemaReader) -> Inputs:
    """One schema for parameters, whose schemas have been read by `schemas`, and body.

    A name that stands in several places is prefixed with each place (``path_id``, ``query_id``). The members
    of a body that is a plain object are arguments themselves, unless one has the name of a parameter or the
    body may be left away although it has members that may not; then it is one argument, ``body``.
    """
    parameters = tuple(parameters)
    names = _argument_names(parameters)
    properties: JsonObject = {name: each.schema for name, each in names.items()}
    required = [name for name, each in names.items() if each.required]
    members: dict[str, str] = {}
    whole_body = ""
    spread = None if body is None else _spread(body, schemas, taken=properties.keys())
    if spread is not None:
        members = spread.names
        properties |= spread.properties
        required += spread.required
    elif body is not None:
        whole_body = _free(BODY, properties.keys())
        properties[whole_body] = body.schema
        if body.required:
            required.append(whole_body)
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    definitions = _reachable(schema, schemas.definitions())
    if definitions:
        schema["$defs"] = definitions
    return Inputs(schema, names, members, whole_body)


@dataclass(frozen=True)
class _Spread:
    names: dict[str, str]
    properties: JsonObject
    required: list[str]


def _spread(body: Body, schemas: SchemaReader, *, taken: Iterable[str]) -> _Spread | None:
    """The members of a body as arguments; None where it has to be one argument."""
    schema = schemas.resolved(body.schema)
    properties = schema.get("properties")
    if not schema.keys() <= _SPREAD or schema.get("type", "object") != "object" or not properties:
        return None
    if not isinstance(properties, dict) or schema.get("additionalProperties", False) is not False:
        return None
    required = schema.get("required", [])
    if not isinstance(required, list) or (required and not body.required):
        return None
    names = {_clean(name): name for name in properties}
    if (
        len(names) < len(properties)
        or not names.keys().isdisjoint(taken)
        or not set(required) <= properties.keys()
    ):
        return None
    return _Spread(
        names,
        {name: properties[member] for name, member in names.items()},
        [name for name, member in names.items() if member in required],
    )


def _argument_names(parameters: tuple[Parameter, ...]) -> dict[str, Parameter]:
    """A name for each parameter that depends only on the set of them."""
    cleaned = Counter(_clean(each.name) for each in parameters)
    names: dict[str, Parameter] = {}
    for each in parameters:
        name = _clean(each.name)
        if cleaned[name] > 1:
            name = _free(_clean(f"{each.location}_{each.name}"), cleaned.keys() | names.keys())
        names[name] = each
    return names


def _clean(name: str) -> str:
    cleaned = _UNSAFE.sub("_", name).strip("_") if _UNSAFE.search(name) else name
    return cleaned[:_MAX_NAME] or "value"


def _free(wanted: str, taken: Iterable[str]) -> str:
    taken = set(taken)
    name = wanted
    n = 2
    while name in taken:
        name, n = f"{wanted[: _MAX_NAME - 4]}_{n}", n + 1
    return name


def _reachable(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    """Those of the definitions that the schema refers to, by however many steps, in their order."""
    found: set[str] = set()
    todo: list[Any] = [schema]
    while todo:
        part = todo.pop()
        if not isinstance(part, dict):
            continue
        if "$ref" in part:
            name = ref_steps(part["$ref"])[-1]
            if name not in found:
                found.add(name)
                todo.append(definitions[name])
        todo.extend(below for _, below in subschemas(part))
    return {name: definition for name, definition in definitions.items() if name in found}
