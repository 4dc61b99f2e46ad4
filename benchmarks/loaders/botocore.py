"""The operations of AWS as a catalog of over 15,000 real tools, from the package ``botocore``.

    python -m benchmarks.loaders.botocore OUT

A tool is an operation of the latest API version of a service: `server` is the service, the description is
the first paragraphs of the documentation without markup, the input schema has the documentation of every
parameter. Structures are written out two levels deep; below, and where one holds itself, they are objects
without stated properties. There are no queries: the catalog is for measuring time and memory.

The models are Apache-2.0.
"""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.loaders.records import as_dataset, write_folder
from toolsearch.catalog import Catalog
from toolsearch.tools import JsonObject

MAX_DESCRIPTION = 1000
MAX_PARAMETER_DESCRIPTION = 200
MAX_DEPTH = 2

_TYPES = {
    "string": "string",
    "character": "string",
    "blob": "string",
    "timestamp": "string",
    "integer": "integer",
    "long": "integer",
    "bigInteger": "integer",
    "float": "number",
    "double": "number",
    "bigDecimal": "number",
    "boolean": "boolean",
}
_TAG = re.compile(r"<[^>]*>")


def load_botocore() -> Catalog:
    """The catalog of all operations; reading it takes some seconds.

    Raises:
        ImportError: ``botocore`` is not installed; it is in the extra ``bench``.
    """
    return as_dataset("aws", read_botocore()).catalog


def read_botocore() -> Iterator[JsonObject]:
    """The record of every operation, by service and then by name."""
    import botocore.loaders

    loader = botocore.loaders.Loader()
    for service in sorted(loader.list_available_services("service-2")):
        model = loader.load_service_model(service, "service-2")
        for name, operation in sorted(model["operations"].items()):
            yield {
                "name": name,
                "description": _plain(operation.get("documentation", ""), MAX_DESCRIPTION),
                "input_schema": _input_schema(model["shapes"], operation),
                "server": service,
            }


def _input_schema(shapes: dict[str, Any], operation: JsonObject) -> JsonObject:
    if "input" not in operation:
        return {"type": "object", "properties": {}}
    return _structure(shapes, shapes[operation["input"]["shape"]], (operation["input"]["shape"],))


def _structure(shapes: dict[str, Any], shape: JsonObject, path: tuple[str, ...]) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": {}}
    for name, member in shape.get("members", {}).items():
        schema["properties"][name] = _schema(shapes, member, path)
    if shape.get("required"):
        schema["required"] = list(dict.fromkeys(shape["required"]))
    return schema


def _schema(shapes: dict[str, Any], member: JsonObject, path: tuple[str, ...]) -> JsonObject:
    """The schema of a member; `path` names the structures that it lies in."""
    name = member["shape"]
    shape = shapes[name]
    kind = shape["type"]
    if kind == "list":
        schema: JsonObject = {"type": "array", "items": _schema(shapes, shape["member"], path)}
    elif kind == "map":
        schema = {"type": "object", "additionalProperties": _schema(shapes, shape["value"], path)}
    elif kind == "structure":
        deep = name in path or len(path) > MAX_DEPTH
        schema = {"type": "object"} if deep else _structure(shapes, shape, (*path, name))
    else:
        schema = {"type": _TYPES[kind]}
        if shape.get("enum"):
            schema["enum"] = list(dict.fromkeys(shape["enum"]))
    description = _plain(member.get("documentation", ""), MAX_PARAMETER_DESCRIPTION)
    return {**schema, "description": description} if description else schema


def _plain(documentation: str, limit: int) -> str:
    """Documentation without markup, in one line, cut after the last word that fits."""
    text = " ".join(html.unescape(_TAG.sub(" ", documentation)).split())
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the operations of AWS as a catalog folder.")
    parser.add_argument("out", type=Path)
    write_folder(parser.parse_args().out, read_botocore())
