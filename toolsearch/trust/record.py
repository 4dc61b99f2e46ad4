"""`TrustRecord`: the definitions that are approved, and those that wait for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from toolsearch.lint.lookalikes import skeleton
from toolsearch.tools import JsonObject, Tool
from toolsearch.trust.definition import PinnedDefinition

FORMAT = "toolsearch-trust"
VERSION = 1


@dataclass(frozen=True)
class TrustEntry:
    """What is known of one tool of a source.

    Attributes:
        approved: The definition that may be used; None for a tool that was never approved.
        proposed: What the source lists instead; None where that is what is approved.
    """

    approved: PinnedDefinition | None = None
    proposed: PinnedDefinition | None = None


Entries = Mapping[str, TrustEntry]
"""By `tool_key`."""


def tool_key(tool: Tool) -> str:
    """What a tool is kept under within its source: its raw name, with its id where names are not enough."""
    return f"{tool.raw_name}#{tool.id}" if tool.id else tool.raw_name


@dataclass(frozen=True)
class TrustRecord:
    """Entries by source, then by tool. A source that was never seen has none. Immutable."""

    sources: Mapping[str, Entries] = field(default_factory=dict)

    def with_entries(self, source: str, entries: Entries) -> TrustRecord:
        """This record with other entries for one source; with none, the source is forgotten."""
        others = {name: kept for name, kept in self.sources.items() if name != source}
        return TrustRecord({**others, source: entries} if entries else others)

    def approved(self, source: str, tools: Iterable[str]) -> TrustRecord:
        """This record with what these tools of `source` propose approved.

        Raises:
            KeyError: there is no such source or tool.
        """
        entries = dict(self.sources[source])
        for key in tools:
            entry = entries[key]
            if entry.proposed is not None:
                entries[key] = TrustEntry(approved=entry.proposed)
        return self.with_entries(source, entries)

    def without(self, source: str, tools: Iterable[str] | None = None) -> TrustRecord:
        """This record without these tools of `source`, or without all of it.

        Raises:
            KeyError: there is no such source or tool.
        """
        entries = dict(self.sources[source])
        for key in list(entries) if tools is None else tools:
            del entries[key]
        return self.with_entries(source, entries)

    @cached_property
    def looks(self) -> Mapping[str, tuple[str, str]]:
        """(source, raw name) of an approved tool by the `skeleton` of its name: the first by the alphabet."""
        looks: dict[str, tuple[str, str]] = {}
        for source, name in self._approved_names:
            looks.setdefault(skeleton(name), (source, name))
        return looks

    @cached_property
    def qualified_looks(self) -> Mapping[str, tuple[str, str]]:
        """The same by the `skeleton` of its name with its source before it."""
        return {skeleton(source + name): (source, name) for source, name in self._approved_names if source}

    @cached_property
    def _approved_names(self) -> list[tuple[str, str]]:
        return [
            (source, str(entry.approved.content["name"]))
            for source, entries in sorted(self.sources.items())
            for _, entry in sorted(entries.items(), key=lambda item: item[0])
            if entry.approved is not None
        ]

    def to_json(self) -> JsonObject:
        """The record as it is written; see `from_json`."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "sources": {
                source: {key: _entry_json(entry) for key, entry in entries.items()}
                for source, entries in self.sources.items()
            },
        }

    @classmethod
    def from_json(cls, value: Any) -> TrustRecord:
        """The record that gave this JSON.

        Raises:
            ValueError: it is none, is of another version, or a digest is not that of its definition.
        """
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise ValueError("it is no trust file. Give another file, or remove it and approve again.")
        if value.get("version") != VERSION:
            raise ValueError(f"it is of version {value.get('version')!r}; this release reads {VERSION}.")
        return cls(
            {
                source: {key: _entry(f"{source}, {key}", said) for key, said in _object(tools).items()}
                for source, tools in _object(value.get("sources")).items()
            }
        )


def _entry_json(entry: TrustEntry) -> JsonObject:
    named = {"approved": entry.approved, "proposed": entry.proposed}
    return {
        state: {"digest": definition.digest, "definition": definition.to_json()}
        for state, definition in named.items()
        if definition is not None
    }


def _entry(where: str, said: Any) -> TrustEntry:
    entry = TrustEntry()
    for state in ("approved", "proposed"):
        if state in _object(said):
            kept = _object(said[state])
            definition = PinnedDefinition.from_json(_object(kept.get("definition")))
            if definition.digest != kept.get("digest") or "name" not in definition.content:
                raise ValueError(
                    f"{where}: the {state} definition is not what its digest says. "
                    "Restore the file, or forget the tool and approve it again."
                )
            entry = replace(entry, **{state: definition})
    return entry


def _object(value: Any) -> JsonObject:
    if not isinstance(value, dict):
        raise ValueError("it is damaged: there is no object where one belongs. Restore it.")  # noqa: TRY004
    return value
