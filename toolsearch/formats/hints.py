"""Hints that MCP servers give about a tool, in the places where MCP and its adapters keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.schema.keywords import is_text
from toolsearch.tools import JsonObject, Tool

ALWAYS_LOAD = "anthropic/alwaysLoad"
SEARCH_HINT = "anthropic/searchHint"


@dataclass(frozen=True)
class Hints:
    """What a tool's annotations and ``_meta`` say; None and empty where they say nothing."""

    read_only: bool | None = None
    destructive: bool | None = None
    pinned: bool = False
    search_hint: str = ""
    title: str = ""

    @classmethod
    def read(cls, annotations: Any, meta: Any) -> Hints:
        """The hints of MCP ``annotations`` and ``_meta``; anything but an object says nothing.

        ``_meta`` keys are read under any prefix: ``searchHint`` and ``anthropic/searchHint`` alike.
        """
        noted = annotations if isinstance(annotations, dict) else {}
        return cls(
            read_only=_flag(noted.get("readOnlyHint")),
            destructive=_flag(noted.get("destructiveHint")),
            pinned=_unprefixed(meta).get("alwaysLoad") is True,
            search_hint=_text(_unprefixed(meta).get("searchHint")),
            title=_text(noted.get("title")),
        )


def annotations_for(tool: Tool, original: Any) -> JsonObject:
    """`original` annotations with what has changed in the tool since they were read."""
    noted = dict(original) if isinstance(original, dict) else {}
    hints = Hints.read(noted, None)
    for key, now, before in (
        ("readOnlyHint", tool.read_only, hints.read_only),
        ("destructiveHint", tool.destructive, hints.destructive),
    ):
        if now != before:
            noted.pop(key, None)
            if now is not None:
                noted[key] = now
    return noted


def meta_for(tool: Tool, original: Any) -> JsonObject:
    """`original` ``_meta`` with what has changed in the tool since it was read."""
    meta = dict(original) if isinstance(original, dict) else {}
    hints = Hints.read(None, meta)
    if tool.pinned != hints.pinned:
        _forget(meta, "alwaysLoad")
        if tool.pinned:
            meta[ALWAYS_LOAD] = True
    if tool.search_hint != hints.search_hint:
        _forget(meta, "searchHint")
        if tool.search_hint:
            meta[SEARCH_HINT] = tool.search_hint
    return meta


def _unprefixed(meta: Any) -> Mapping[str, Any]:
    return {key.rpartition("/")[2]: value for key, value in meta.items()} if isinstance(meta, dict) else {}


def _forget(meta: JsonObject, name: str) -> None:
    for key in [key for key in meta if key.rpartition("/")[2] == name]:
        del meta[key]


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str:
    return " ".join(value.split()) if is_text(value) else ""
