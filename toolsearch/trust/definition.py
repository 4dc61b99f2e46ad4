"""`PinnedDefinition`: what of a tool is approved, in a form that compares and reads well."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from toolsearch.formats.hints import annotations_for
from toolsearch.tools import JsonObject, Tool


@dataclass(frozen=True)
class PinnedDefinition:
    """All that a tool says of itself to a model, a search or whoever decides about its calls.

    Name, title, description, schemas, annotations, tags, search hint, and whether it asks to be always sent.
    Two are equal whose `digest` is: the order of keys and of ``required`` does not count, nor does 1 for 1.0.
    """

    content: JsonObject = field(hash=False)

    @classmethod
    def of(cls, tool: Tool) -> PinnedDefinition:
        """The definition of `tool`; what is empty is left out."""
        listed = tool.meta.get("mcp")
        annotations = listed.get("annotations") if isinstance(listed, dict) else None
        said: JsonObject = {
            "name": tool.raw_name,
            "id": tool.id,
            "title": tool.title,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "output_schema": tool.output_schema,
            "annotations": annotations_for(tool, annotations),
            "tags": list(tool.tags),
            "search_hint": tool.search_hint,
            "pinned": tool.pinned,
            "return_direct": tool.return_direct,
        }
        return cls({key: _canonical(value) for key, value in said.items() if value or key == "input_schema"})

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON, as 64 hex digits."""
        written = json.dumps(self.content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(written.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PinnedDefinition) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @classmethod
    def from_json(cls, content: JsonObject) -> PinnedDefinition:
        """The definition of which `to_json` gave this."""
        description = content.get("description")
        if isinstance(description, list):
            return cls({**content, "description": "\n".join(map(str, description))})
        return cls(content)

    def to_json(self) -> JsonObject:
        """The content, its description as a list of lines where it has several."""
        description = self.content.get("description", "")
        lines = {"description": description.split("\n")} if "\n" in description else {}
        return {**self.content, **lines}

    def changed_parts(self, newer: PinnedDefinition) -> tuple[str, ...]:
        """The keys under which `newer` says something else, in the order of the alphabet."""
        keys = sorted(self.content.keys() | newer.content.keys())
        return tuple(key for key in keys if self.content.get(key) != newer.content.get(key))

    def lines(self) -> list[str]:
        """The definition as lines of JSON for people: a text of several lines is a list of them, and what
        would not show is written as its escape."""
        return readable_json(in_lines(self.content)).splitlines()


def readable_json(value: Any) -> str:
    """Sorted and indented JSON in which every character shows: what does not print is escaped."""
    written = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    return _UNSEEN.sub(_escaped, written)


def in_lines(value: Any) -> Any:
    """`value` with each ``description`` of several lines as the list of these, so that a change shows."""
    if isinstance(value, dict):
        return {
            key: part.split("\n")
            if key == "description" and isinstance(part, str) and "\n" in part
            else in_lines(part)
            for key, part in value.items()
        }
    return [in_lines(part) for part in value] if isinstance(value, list) else value


# Every character but those that print and the line breaks between the lines of the JSON.
_UNSEEN = re.compile(r"[^\x20-\x7e\n]")


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def _canonical(value: Any) -> Any:
    """`value` with whole numbers as integers and ``required`` sorted."""
    if isinstance(value, dict):
        return {
            key: sorted(part) if key == "required" and _is_names(part) else _canonical(part)
            for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [_canonical(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)
