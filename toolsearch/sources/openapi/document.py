"""`OpenApiDocument`: an OpenAPI or Swagger document, and what its references lead to."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from toolsearch.exceptions import CatalogFileError, DefinitionError
from toolsearch.schema.refs import target_of
from toolsearch.tools import JsonObject

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?(?:-\S+)?")
_PARTS = frozenset({"components", "definitions", "info", "paths", "webhooks"})


def is_openapi(value: Any) -> bool:
    """Whether `value` is an OpenAPI or Swagger document, of any version."""
    if not isinstance(value, dict) or _PARTS.isdisjoint(value):
        return False
    return _VERSION.fullmatch(_stated_version(value)) is not None


@dataclass(frozen=True)
class OpenApiDocument:
    """A document that can be read.

    Attributes:
        value: The whole document, with keys that are all text: ``200`` of a dict of Python is ``"200"``.
        is_swagger: Version 2.0, in which parameters, bodies and servers are written in another way.
        has_json_schema: Version 3.1 or later: schemas are JSON Schema, and siblings of a ``$ref`` count.
    """

    value: JsonObject
    is_swagger: bool
    has_json_schema: bool

    @classmethod
    def of(cls, value: JsonObject, path: str) -> OpenApiDocument:
        """The document that `value`, read from `path`, is.

        Raises:
            CatalogFileError: a version that is not read here, or no object of paths.
        """
        version = _stated_version(value)
        found = _VERSION.fullmatch(version)
        major, minor = (int(found[1]), int(found[2])) if found else (0, 0)
        is_swagger = "swagger" in value and (major, minor) == (2, 0)
        if not is_swagger and major != 3:
            raise CatalogFileError(
                path, f"version {version!r} of OpenAPI is not read. Give a document of 2.0, 3.0 or 3.1"
            )
        if not isinstance(value.get("paths", {}), dict):
            raise CatalogFileError(path, "its 'paths' are no object")
        return cls(_text_keyed(value), is_swagger, has_json_schema=not is_swagger and minor >= 1)

    @property
    def title(self) -> str:
        """What the document calls its service; empty where it does not."""
        info = self.value.get("info")
        title = info.get("title") if isinstance(info, dict) else None
        return title.strip() if isinstance(title, str) else ""

    def resolved(self, tool: str, node: Any, what: str) -> JsonObject:
        """The object that `node` is or refers to; `tool` and `what` name them in errors.

        Raises:
            DefinitionError: no object, or a reference that leads nowhere, outside, or back to itself.
        """
        seen: set[str] = set()
        while isinstance(node, dict) and "$ref" in node:
            ref = node["$ref"]
            if ref in seen:
                raise DefinitionError(tool, f"{what}: the reference {ref!r} leads back to itself.")
            seen.add(ref)
            node = self.target(tool, ref)
        if not isinstance(node, dict):
            raise DefinitionError(tool, f"{what} must be an object, not {node!r:.60}.")
        return node

    def target(self, tool: str, ref: Any) -> Any:
        """What `ref` leads to within the document.

        Raises:
            DefinitionError: nothing, or something outside, which is never fetched.
        """
        if not isinstance(ref, str):
            raise DefinitionError(tool, f"a reference must be a string, not {ref!r:.60}.")
        if not ref.startswith("#"):
            raise DefinitionError(
                tool, f"{ref!r:.200} is outside of this document, and only what it holds is read. Bundle it."
            )
        target = target_of(self.value, ref)
        if target is None:
            raise DefinitionError(tool, f"the reference {ref!r:.200} leads nowhere.")
        return target


def _text_keyed(value: JsonObject) -> JsonObject:
    """The value with the keys that JSON would write; itself where all are texts."""
    parts = _parts(value)
    if all(isinstance(key, str) for part in parts if isinstance(part, dict) for key in part):
        return value
    made: dict[int, Any] = {id(part): {} if isinstance(part, dict) else [] for part in parts}
    for part in parts:
        mine = made[id(part)]
        for key, stated in part.items() if isinstance(part, dict) else enumerate(part):
            below = made.get(id(stated), stated)
            if isinstance(mine, list):
                mine.append(below)
            elif isinstance(key, str):
                mine[key] = below
            else:
                mine.setdefault(_key_text(key), below)
    kept: JsonObject = made[id(value)]
    return kept


def _parts(value: JsonObject) -> list[Any]:
    """The value and all objects and lists in it, each once."""
    found: dict[int, Any] = {id(value): value}
    waiting: list[Any] = [value]
    while waiting:
        part = waiting.pop()
        for below in part.values() if isinstance(part, dict) else part:
            if isinstance(below, dict | list) and id(below) not in found:
                found[id(below)] = below
                waiting.append(below)
    return list(found.values())


def _key_text(key: Any) -> str:
    return json.dumps(key) if key is None or isinstance(key, bool | int | float) else str(key)


def _stated_version(value: JsonObject) -> str:
    # Without quotes, YAML reads 2.0 and 3.1 as numbers.
    return str(value.get("openapi", value.get("swagger", "")))
