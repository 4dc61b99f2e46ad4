"""A catalog: every tool that a process can call, unique by public name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, overload

from toolsearch.exceptions import DuplicateToolError, ReservedNameError, UnknownToolError
from toolsearch.given import Tools, as_tools
from toolsearch.naming import RESERVED_NAMES, near_names, variant_of
from toolsearch.tools import JsonObject, Tool

T = TypeVar("T")


class Catalog(Mapping[str, Tool]):
    """Tools by public name, sorted by name. Immutable: a change makes a new catalog."""

    def __init__(self, tools: Tools = (), *, replace: bool = False) -> None:
        """Collect `tools`; with `replace` a later tool takes the place of an earlier namesake.

        Raises:
            TypeError, DefinitionError: something that is no tool, and no function to make one of.
            DuplicateToolError: two tools share a public name and `replace` is false; lists all of them.
            ReservedNameError: a local tool has the name of a built-in one.
        """
        by_name: dict[str, Tool] = {}
        duplicates: dict[str, None] = {}
        for tool in as_tools(tools):
            if tool.name in RESERVED_NAMES:
                raise ReservedNameError(tool.name)
            if tool.name in by_name and not replace:
                duplicates[tool.name] = None
            by_name[tool.name] = tool
        if duplicates:
            raise DuplicateToolError(tuple(duplicates))
        self._tools: Mapping[str, Tool] = dict(sorted(by_name.items()))

    @classmethod
    def of(cls, tools: Tools) -> Catalog:
        """A catalog of `tools`; one that is a catalog already stays as it is.

        Raises:
            TypeError, DefinitionError: as the class.
        """
        return tools if isinstance(tools, Catalog) else cls(tools)

    @classmethod
    def over(cls, tools: Mapping[str, Tool], *, fingerprint: str, sources: tuple[str, ...]) -> Catalog:
        """A catalog over a mapping that is checked and in name order, such as one that reads from disk.

        Nothing is copied; `fingerprint` and `sources` must be those of the tools.
        """
        catalog = cls()
        catalog._tools = tools
        # Computing these would read every tool.
        vars(catalog).update(fingerprint=fingerprint, sources=sources)
        return catalog

    def __getitem__(self, name: str) -> Tool:
        try:
            return self._tools[name]
        except KeyError:
            raise UnknownToolError(name, near_names(name, self._tools)) from None

    @overload
    def get(self, key: str, /) -> Tool | None: ...

    @overload
    def get(self, key: str, /, default: T) -> Tool | T: ...

    def get(self, key: str, /, default: Any = None) -> Any:
        """The tool of that name, or `default`."""
        # As inherited it would look for near names first.
        return self._tools.get(key, default)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"Catalog({len(self)} tools from {len(self.sources)} sources)"

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The tool sources, sorted; the empty string stands for local tools."""
        return tuple(sorted({tool.source for tool in self.values()}))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over all that is stored of every tool, in name order, as 64 hex digits."""
        whole = hashlib.sha256()
        for tool in self.values():
            whole.update(tool_digest(tool).encode())
        return whole.hexdigest()

    def with_tools(self, *tools: Tool | Callable[..., Any], replace: bool = False) -> Catalog:
        """This catalog and `tools`, or tools made of functions; a namesake is an error unless `replace`."""
        return Catalog((*self.values(), *tools), replace=replace)

    def without(self, *names: str) -> Catalog:
        """This catalog less the tools of these names.

        Raises:
            UnknownToolError: for the first name that it does not have.
        """
        for name in names:
            self[name]
        return Catalog(tool for name, tool in self.items() if name not in names)

    def diff(self, newer: Catalog) -> CatalogDiff:
        """What changed from this catalog to `newer`, each part sorted by name."""
        return CatalogDiff(
            added=tuple(name for name in newer if name not in self),
            removed=tuple(name for name in self if name not in newer),
            changed=tuple(
                name for name in newer if name in self and tool_digest(newer[name]) != tool_digest(self[name])
            ),
        )


@dataclass(frozen=True)
class CatalogDiff:
    """Public names that one catalog has over another, or has in another form."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def tool_record(tool: Tool) -> JsonObject:
    """The tool as a JSON object in our own form, defaults left out; `formats` reads it back.

    ``id`` is the id that the source stated, from ``meta["id"]``; ``variant`` is `Tool.id`, written where it
    does not follow from that.
    """
    record: JsonObject = {"name": tool.raw_name}
    if tool.source:
        record["server"] = tool.source
    stated_id = tool.meta.get("id")
    if stated_id is not None:
        record["id"] = stated_id
    if tool.id != ("" if stated_id is None else variant_of(str(stated_id), tool.source, tool.raw_name)):
        record["variant"] = tool.id
    if tool.prefix is not None:
        record["prefix"] = tool.prefix
    record["description"] = tool.description
    record["input_schema"] = tool.input_schema
    if tool.output_schema is not None:
        record["output_schema"] = tool.output_schema
    for key in ("title", "search_hint"):
        if getattr(tool, key):
            record[key] = getattr(tool, key)
    if tool.tags:
        record["tags"] = list(tool.tags)
    for key in ("pinned", "return_direct"):
        if getattr(tool, key):
            record[key] = True
    for key in ("read_only", "destructive"):
        if getattr(tool, key) is not None:
            record[key] = getattr(tool, key)
    meta = {key: value for key, value in tool.meta.items() if key != "id"}
    if meta:
        record["meta"] = meta
    return record


def tool_from_record(record: JsonObject) -> Tool:
    """The tool of which `tool_record` gave this record. Nothing is checked or mended: `formats` does that."""
    raw_name, source = record["name"], record.get("server", "")
    meta = dict(record.get("meta", {}))
    variant = ""
    if "id" in record:
        meta["id"] = record["id"]
        variant = variant_of(str(record["id"]), source, raw_name)
    same = ("input_schema", "output_schema", "title", "search_hint", "pinned", "return_direct", "read_only")
    return Tool(
        raw_name=raw_name,
        source=source,
        id=record.get("variant", variant),
        prefix=record.get("prefix"),
        tags=tuple(record.get("tags", ())),
        meta=meta,
        **{key: record[key] for key in ("description", *same, "destructive") if key in record},
    )


def tool_digest(tool: Tool) -> str:
    """SHA-256 over all that is stored of a tool, as 64 hex digits; independent of key order."""
    text = json.dumps(tool_record(tool), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
