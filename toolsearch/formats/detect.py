"""Finding the tools in a JSON value: which parts are definitions, in which form, from which source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from toolsearch.formats.base import SCHEMA_KEYS
from toolsearch.tools import JsonObject

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class Found:
    """A value that stands where a tool definition should.

    Attributes:
        path: Keys and positions from the top of the JSON value.
        record: The value; a dict, unless the data is wrong.
        source: The tool source that the surroundings name, as they do; empty where they do not.
        form: The form that the surroundings settle, None where the record itself decides.
        about: What the surroundings say of the source.
    """

    path: Path
    record: Any
    source: Any = ""
    form: str | None = None
    about: str = ""


def find_definitions(data: Any) -> Iterator[Found]:
    """Every definition in `data`, in its order.

    Goes through lists, ``{"tools": [...]}`` as requests and MCP results have it, the JSON-RPC envelope
    ``{"result": ...}``, OpenAI namespaces, Gemini ``functionDeclarations`` and the older ``functions``.
    What stands more than `MAX_STEPS` keys and positions deep comes as it is.
    """
    yield from _within(Found((), data))


MAX_STEPS = 32
"""Keys and positions around a definition; real wrappers take up to six."""

_DECLARATIONS = ("functionDeclarations", "function_declarations")


def _within(place: Found) -> Iterator[Found]:
    value = place.record
    if len(place.path) > MAX_STEPS:
        yield place
        return
    if isinstance(value, list):
        for i, part in enumerate(value):
            below = replace(place, path=(*place.path, i), record=part)
            if isinstance(part, list):
                yield below
            else:
                yield from _within(below)
        return
    if not isinstance(value, dict):
        yield place
        return
    if not SCHEMA_KEYS.isdisjoint(value):
        yield place
        return
    for key in _DECLARATIONS:
        if isinstance(value.get(key), list):
            yield from _below(place, key, form="gemini")
            return
    if isinstance(value.get("result"), dict) and "tools" in value["result"]:
        yield from _below(place, "result")
    elif isinstance(value.get("tools"), list):
        if value.get("type") == "namespace":
            about = value.get("description")
            yield from _below(
                place,
                "tools",
                source=value.get("name") or "",
                about=about if isinstance(about, str) else "",
            )
        else:
            yield from _below(place, "tools", source=_server_name(value) or place.source)
    elif isinstance(value.get("functions"), list) and "name" not in value:
        yield from _below(place, "functions")
    else:
        yield place


def _below(place: Found, key: str, **changes: Any) -> Iterator[Found]:
    yield from _within(replace(place, path=(*place.path, key), record=place.record[key], **changes))


def _server_name(value: JsonObject) -> Any:
    """The server that a saved ``tools/list`` result was taken from, where it says so."""
    for key in ("server", "serverInfo"):
        named = value.get(key)
        if isinstance(named, dict):
            named = named.get("name")
        if named is not None:
            return named
    return ""
