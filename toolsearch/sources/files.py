"""Catalog files: tool definitions of any form, and OpenAPI documents, from JSON, YAML and standard input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolsearch.catalog import Catalog
from toolsearch.exceptions import CatalogFileError, DefinitionError, DuplicateToolError
from toolsearch.formats import Entry, read_entries
from toolsearch.formats.detect import Path as ValuePath
from toolsearch.naming import RESERVED_NAMES
from toolsearch.sources.documents import Document, read_documents
from toolsearch.sources.folders import catalog_files
from toolsearch.tools import Tool

Severity: TypeAlias = Literal["error", "mended", "duplicate"]


@dataclass(frozen=True)
class LoadIssue:
    """Something that a reader of the catalog should know about one of its tools.

    Attributes:
        path: The file; ``-`` is standard input.
        line: Where the definition starts, from 1; None where the file has no lines to speak of.
        tool: The tool's raw name, or where it stands if it has none; empty for what concerns no single tool.
        severity: ``error``, left out of the catalog; ``mended``, in the catalog with a change; ``duplicate``,
            left out because the same definition is there already.
        reason: A sentence for people.
    """

    path: str
    line: int | None
    tool: str
    severity: Severity
    reason: str

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        about = f"tool {self.tool!r}: " if self.tool else ""
        return f"{where}: {self.severity}: {about}{self.reason}"


@dataclass(frozen=True)
class LoadedCatalog:
    """What came of reading catalog files.

    Attributes:
        catalog: Every tool that can be used.
        issues: In the order of files and lines.
        n_read: Definitions and unreadable places found; `catalog` and the issues that are no ``mended``
            add up to it.
    """

    catalog: Catalog
    issues: tuple[LoadIssue, ...]
    n_read: int


class FileSource:
    """The tools of catalog files, as a `ToolSource`; raises for what `read_catalog` would report."""

    def __init__(self, *paths: Path | str, source: str = "") -> None:
        self.paths = paths
        self.source = source

    @property
    def name(self) -> str:
        return ", ".join(map(str, self.paths))

    def list_tools(self) -> Iterable[Tool]:
        return read_catalog(*self.paths, strict=True, source=self.source).catalog.values()


def read_catalog(
    *paths: Path | str, strict: bool = False, source: str | None = None, keep_going: bool = False
) -> LoadedCatalog:
    """The tools of files and folders, with everything that was wrong or changed named beside them.

    A folder stands for its ``.json``, ``.jsonl``, ``.ndjson``, ``.yaml`` and ``.yml`` files at any depth,
    sorted by path; ``-`` is standard input, whose form is found by looking, and an http URL what stands
    there. Each definition may have another form; `source` is the tool source of those that name none. An
    OpenAPI document gives a tool for each of its operations, named for its title.

    One bad definition is reported and left out. A definition that is there already is reported and kept
    once. Different definitions that share a source and raw name are told apart by the ids that they
    state, all of them, so that no name depends on the order of files; without such ids the first stays
    and the others are errors. With `keep_going` so is a file that cannot be read.

    Raises:
        CatalogFileError: a path that is not there, a folder without catalog files, or, unless `keep_going`,
            a file that cannot be read at all. With `strict`, also a file in which one line is broken and
            a folder of which a part cannot be read.
        DefinitionError: with `strict`, for the first definition that is not usable as it stands, with
            its file and line; a mended one is usable.
    """
    reading = _Reading(strict=strict, source=source or "")
    for path in paths:
        for file in catalog_files(path):
            if isinstance(file, CatalogFileError):
                reading.unreadable(file)
                continue
            try:
                reading.read(file)
            except CatalogFileError as exc:
                if not keep_going:
                    raise
                reading.unreadable(exc)
    return reading.finished()


@dataclass
class _Placed:
    """A tool and where it was read; `order` counts definitions from 1."""

    tool: Tool
    order: int
    path: str
    document: Document
    place: ValuePath

    @property
    def line(self) -> int:
        return self.document.line_of(self.place)

    @property
    def stated_id(self) -> str | None:
        stated = self.tool.meta.get("id")
        return None if stated is None else str(stated)


class _Reading:
    """What has been read so far; see `read_catalog` for the rules."""

    def __init__(self, *, strict: bool, source: str) -> None:
        self.strict = strict
        self.source = source
        self.placed: list[_Placed] = []
        self.issues: list[tuple[int, LoadIssue]] = []
        self.n_read = 0

    def read(self, path: str) -> None:
        for document in read_documents(path):
            if document.error is not None:
                self.unreadable(CatalogFileError(path, document.error, line=document.line_of(())))
                continue
            for entry in _entries(document.value, path, self.source):
                self._take(path, document, entry)

    def finished(self) -> LoadedCatalog:
        apart = [placed for group in _namesakes(self.placed) for placed in self._told_apart(group)]
        # An id may make a name that another tool had from the start.
        kept = [self._first(group).tool for group in _namesakes(apart)]
        issues = tuple(issue for _, issue in sorted(self.issues, key=lambda numbered: numbered[0]))
        return LoadedCatalog(Catalog(kept), issues, self.n_read)

    def unreadable(self, error: CatalogFileError) -> None:
        """Report a part of what was to be read that cannot be."""
        if self.strict:
            raise error
        self.n_read += 1
        self.issues.append((self.n_read, LoadIssue(str(error.path), error.line, "", "error", error.reason)))

    def _take(self, path: str, document: Document, entry: Entry) -> None:
        self.n_read += 1
        tool = entry.tool
        flaw = document.flaws and _flaw(document, entry.path)
        if flaw:
            tool = DefinitionError(tool.raw_name if isinstance(tool, Tool) else tool.tool, flaw)
        if isinstance(tool, DefinitionError):
            line = document.line_of(entry.path)
            if self.strict:
                raise tool.at(path, line)
            self.issues.append((self.n_read, LoadIssue(path, line, tool.tool, "error", tool.reason)))
            return
        placed = _Placed(tool, self.n_read, path, document, entry.path)
        for message in entry.mended:
            self._report(placed, "mended", message)
        if tool.name in RESERVED_NAMES:
            placed.tool = replace(tool, id=placed.stated_id or tool.raw_name)
            self._report(
                placed, "mended", f"its name is taken by a built-in tool, offered as {placed.tool.name!r}."
            )
        self.placed.append(placed)

    def _told_apart(self, group: Sequence[_Placed]) -> Iterator[_Placed]:
        """Those to keep of tools that share a public name, under names of their own if they state ids."""
        by_id: dict[str | None, list[_Placed]] = {}
        for placed in group:
            by_id.setdefault(placed.stated_id, []).append(placed)
        for stated_id, same in by_id.items():
            first = self._first(same)
            if len(by_id) > 1 and stated_id is not None and first.tool.id != stated_id:
                first.tool = replace(first.tool, id=stated_id)
                self._report(
                    first, "mended", f"shares its name, told apart by its id as {first.tool.name!r}."
                )
            yield first

    def _first(self, group: Sequence[_Placed]) -> _Placed:
        """The first of tools that share a public name; the others are reported."""
        first, *others = sorted(group, key=lambda placed: placed.order)
        for placed in others:
            if _same_definition(first.tool, placed.tool):
                self._report(
                    placed, "duplicate", f"the same definition as at {first.path}:{first.line}, kept once."
                )
                continue
            reason = (
                f"another definition than at {first.path}:{first.line}, under the same name and source. "
                "Give each its own server or id."
            )
            if self.strict:
                raise DuplicateToolError((placed.tool.name,), reason).at(placed.path, placed.line)
            self._report(placed, "error", reason)
        return first

    def _report(self, placed: _Placed, severity: Severity, reason: str) -> None:
        issue = LoadIssue(placed.path, placed.line, placed.tool.raw_name, severity, reason)
        self.issues.append((placed.order, issue))


def _entries(value: Any, path: str, source: str) -> Iterator[Entry]:
    """The definitions of a value, or the operations of one that is an OpenAPI document."""
    if isinstance(value, dict) and not value.keys().isdisjoint({"openapi", "swagger"}):
        from toolsearch.sources.openapi.document import is_openapi
        from toolsearch.sources.openapi.operations import ReadingOptions, read_operations

        if is_openapi(value):
            yield from read_operations(value, path, ReadingOptions(source))
            return
    yield from read_entries(value, source=source)


def _namesakes(tools: Iterable[_Placed]) -> Iterable[list[_Placed]]:
    """Tools that share a public name, together."""
    groups: dict[str, list[_Placed]] = {}
    for placed in tools:
        groups.setdefault(placed.tool.name, []).append(placed)
    return groups.values()


def _same_definition(one: Tool, other: Tool) -> bool:
    """Whether they differ at most in `meta`, which says nothing about what the tool does."""
    return replace(one, meta={}) == replace(other, meta={})


def _flaw(document: Document, path: ValuePath) -> str | None:
    """What makes the part of the document at `path` unusable, or what it stands in."""
    value = document.value
    for step in path:
        if id(value) in document.flaws:
            return document.flaws[id(value)][1]
        value = value[step]
    todo = [value]
    while todo:
        part = todo.pop()
        if id(part) in document.flaws:
            return document.flaws[id(part)][1]
        if isinstance(part, dict | list):
            todo.extend(part.values() if isinstance(part, dict) else part)
    return None
