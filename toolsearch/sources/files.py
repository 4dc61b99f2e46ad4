"""Catalog files: tool definitions of any form from JSON, JSON Lines, YAML and standard input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from toolsearch.catalog import Catalog
from toolsearch.exceptions import CatalogFileError, DefinitionError, DuplicateToolError
from toolsearch.formats import Entry, read_entries
from toolsearch.formats.detect import Path as ValuePath
from toolsearch.naming import RESERVED_NAMES
from toolsearch.sources.documents import STANDARD_INPUT, Document, read_documents
from toolsearch.tools import Tool

SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".yaml", ".yml"})
Severity: TypeAlias = Literal["error", "mended", "duplicate"]


@dataclass(frozen=True)
class LoadIssue:
    """Something that a reader of the catalog should know about one of its tools.

    Attributes:
        path: The file; ``-`` is standard input.
        line: Where the definition starts, from 1; None where the file has no lines to speak of.
        tool: The tool's raw name, or where it stands if it has none.
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
        return f"{where}: {self.severity}: tool {self.tool!r}: {self.reason}"


@dataclass(frozen=True)
class LoadedCatalog:
    """What came of reading catalog files.

    Attributes:
        catalog: Every tool that can be used.
        issues: In the order of files and lines.
        n_read: Definitions found, good or bad; `catalog` and the issues that are no ``mended`` add up to it.
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


def read_catalog(*paths: Path | str, strict: bool = False, source: str | None = None) -> LoadedCatalog:
    """The tools of files and folders, with everything that was wrong or changed named beside them.

    A folder stands for its ``.json``, ``.jsonl``, ``.ndjson``, ``.yaml`` and ``.yml`` files at any depth,
    sorted by path; ``-`` is standard input, whose form is found by looking. Each definition may have
    another form; `source` is the tool source of those that name none.

    One bad definition is reported and left out. A definition that is there already is reported and kept
    once. Different definitions that share a source and raw name are told apart by the ids that they
    state, all of them, so that no name depends on the order of files; without such ids the first stays
    and the others are errors.

    Raises:
        CatalogFileError: a file that cannot be read at all. With `strict`, also a file in which one line
            is broken.
        DefinitionError: with `strict`, for the first definition that is not usable as it stands; a
            mended one is usable.
    """
    reading = _Reading(strict=strict, source=source or "")
    for path in paths:
        for file in _files(path):
            reading.read(file)
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
                self._broken(path, document, document.error)
                continue
            for entry in read_entries(document.value, source=self.source):
                self._take(path, document, entry)

    def finished(self) -> LoadedCatalog:
        namesakes: dict[str, list[_Placed]] = {}
        for placed in self.placed:
            namesakes.setdefault(placed.tool.name, []).append(placed)
        kept = [
            tool
            for group in namesakes.values()
            for tool in ([group[0].tool] if len(group) == 1 else self._told_apart(group))
        ]
        issues = tuple(issue for _, issue in sorted(self.issues, key=lambda numbered: numbered[0]))
        return LoadedCatalog(Catalog(kept), issues, self.n_read)

    def _broken(self, path: str, document: Document, reason: str) -> None:
        line = document.line_of(())
        if self.strict:
            raise CatalogFileError(path, reason, line=line)
        self.n_read += 1
        self.issues.append((self.n_read, LoadIssue(path, line, "", "error", reason)))

    def _take(self, path: str, document: Document, entry: Entry) -> None:
        self.n_read += 1
        tool = entry.tool
        repeated = document.repeated and _repeated_key(document, entry.path)
        if isinstance(tool, Tool) and repeated:
            tool = DefinitionError(tool.raw_name, f"the key {repeated!r} stands twice in one object.")
        if isinstance(tool, DefinitionError):
            if self.strict:
                raise tool
            line = document.line_of(entry.path)
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

    def _told_apart(self, group: Sequence[_Placed]) -> Iterator[Tool]:
        """The tools to keep of several that share a public name."""
        first_of: dict[str | None, _Placed] = {}
        for placed in group:
            first = first_of.setdefault(placed.stated_id, placed)
            if first is placed:
                continue
            if _same_definition(first.tool, placed.tool):
                self._report(
                    placed, "duplicate", f"the same definition as at {first.path}:{first.line}, kept once."
                )
                continue
            if self.strict:
                raise DuplicateToolError((placed.tool.name,))
            self._report(
                placed,
                "error",
                f"another definition than at {first.path}:{first.line}, under the same name and source. "
                "Give each its own server or id.",
            )
        for stated_id, placed in first_of.items():
            if len(first_of) == 1 or stated_id is None:
                yield placed.tool
                continue
            tool = replace(placed.tool, id=stated_id)
            self._report(placed, "mended", f"shares its name, told apart by its id as {tool.name!r}.")
            yield tool

    def _report(self, placed: _Placed, severity: Severity, reason: str) -> None:
        issue = LoadIssue(placed.path, placed.line, placed.tool.raw_name, severity, reason)
        self.issues.append((placed.order, issue))


def _same_definition(one: Tool, other: Tool) -> bool:
    """Whether they differ at most in `meta`, which says nothing about what the tool does."""
    return replace(one, meta={}) == replace(other, meta={})


def _repeated_key(document: Document, path: ValuePath) -> str | None:
    """A key that stands twice in the part of the document at `path`, or in what it stands in."""
    value = document.value
    for step in path:
        if id(value) in document.repeated:
            return document.repeated[id(value)][1]
        value = value[step]
    todo = [value]
    while todo:
        part = todo.pop()
        if id(part) in document.repeated:
            return document.repeated[id(part)][1]
        if isinstance(part, dict | list):
            todo.extend(part.values() if isinstance(part, dict) else part)
    return None


def _files(path: Path | str) -> Iterator[str]:
    if str(path) == STANDARD_INPUT or not Path(path).is_dir():
        yield str(path)
        return
    found = sorted(
        file for file in Path(path).rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file()
    )
    if not found:
        raise CatalogFileError(path, f"the folder holds no {', '.join(sorted(SUFFIXES))} file")
    yield from map(str, found)
