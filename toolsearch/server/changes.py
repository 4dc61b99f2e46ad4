"""Changes of a catalog: each makes a newer index of the one that there is when its turn has come."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from toolsearch.api.tools import UploadIssue, UploadReport
from toolsearch.catalog import tool_digest
from toolsearch.embedders.base import Embedder, Progress
from toolsearch.exceptions import CatalogFileError, DefinitionError, UploadRefusedError
from toolsearch.formats import read_entries
from toolsearch.index.tool_index import ToolIndex
from toolsearch.sources.files import LoadedCatalog, read_catalog
from toolsearch.tools import JsonObject, Tool

_TOLD = 5

Doomed = Callable[[ToolIndex], Iterable[str]]
"""Public names of the tools of an index that are to go, unless they are given anew."""


@dataclass(frozen=True)
class Upload:
    """The tools of an upload, and what was wrong with some of it."""

    tools: tuple[Tool, ...]
    n_read: int
    issues: tuple[UploadIssue, ...]


def no_one(index: ToolIndex) -> tuple[str, ...]:
    """Nothing goes."""
    del index
    return ()


def read_definition(definition: JsonObject, *, older: JsonObject | None = None) -> Tool:
    """The one tool of a definition in any form, as it stands.

    Args:
        older: What it was before; what would be mended of that already counts for nothing.

    Raises:
        DefinitionError: it cannot be used without being mended, or there are several.
    """
    tool, mended = _read_one(definition)
    known = () if older is None else _read_one(older)[1]
    wrong = [message for message in mended if message not in known]
    if wrong:
        told = f"it would not be kept as it is: {'; '.join(wrong[:_TOLD])}."
        raise DefinitionError(tool.name, f"{told} Correct it, or send it to /v1/tools/bulk, which mends it.")
    return tool


def _read_one(definition: JsonObject) -> tuple[Tool, tuple[str, ...]]:
    """The tool of a definition, and what was mended of it."""
    entries = list(read_entries(definition))
    if len(entries) != 1:
        raise DefinitionError(
            "", f"the body holds {len(entries)} definitions. Send several to /v1/tools/bulk."
        )
    (entry,) = entries
    if isinstance(entry.tool, DefinitionError):
        raise entry.tool
    return entry.tool, tuple(entry.mended)


def read_upload(data: bytes, *, is_lines: bool, source: str = "") -> Upload:
    """The tools of JSON Lines, or of one JSON value, in any form; what cannot be used is left out and told.

    Raises:
        CatalogFileError: the whole of it cannot be read; names no folder of this machine.
    """
    with tempfile.TemporaryDirectory(prefix="toolsearch-") as folder:
        file = Path(folder) / ("upload.jsonl" if is_lines else "upload.json")
        file.write_bytes(data)
        try:
            loaded = read_catalog(file, source=source or None)
        except CatalogFileError as exc:
            reason = exc.reason.replace(f"{folder}/", "")
            raise CatalogFileError(file.name, reason, line=exc.line) from None
    return Upload(tuple(loaded.catalog.values()), loaded.n_read, _issues(loaded, folder))


def check_complete(upload: Upload, data: bytes) -> None:
    """Does nothing where `upload` has all that `data` holds, so that what is missing from it may go.

    Raises:
        UploadRefusedError: a part of it cannot be used.
        CatalogFileError: it is empty.
    """
    unusable = tuple(issue.model_dump() for issue in upload.issues if issue.severity == "error")
    if unusable:
        raise UploadRefusedError(unusable, n_read=upload.n_read)
    if not data.strip():
        raise CatalogFileError("upload", "it is empty; an empty catalog is written as []")


def check_any(upload: Upload) -> None:
    """Does nothing where some of `upload` can be used, or nothing was in it.

    Raises:
        UploadRefusedError: none of it can.
    """
    if upload.issues and not upload.tools:
        issues = [issue.model_dump() for issue in upload.issues]
        raise UploadRefusedError(issues, n_read=upload.n_read, replaces=False)


def changed(
    index: ToolIndex,
    embedder: Embedder,
    tools: Iterable[Tool],
    *,
    doomed: Doomed = no_one,
    progress: Progress | None = None,
) -> ToolIndex:
    """`index` with `tools` in place of their namesakes, and without what is doomed; itself for no change.

    Raises:
        DefinitionError, EmbeddingError: as `ToolIndex.with_tools`.
    """
    given = {tool.name: tool for tool in tools}
    gone = [name for name in doomed(index) if name not in given]
    newer = index.without(*gone) if gone else index
    new = {name: tool for name, tool in given.items() if not _holds(index, tool)}
    return newer.with_tools(new, embedder, replace=True, progress=progress) if new else newer


def change(
    tools: Iterable[Tool], *, doomed: Doomed = no_one, progress: Progress | None = None
) -> Callable[[ToolIndex, Embedder], ToolIndex]:
    """`changed` as a function of the index."""
    return partial(changed, tools=tuple(tools), doomed=doomed, progress=progress)


def report(upload: Upload, older: ToolIndex, newer: ToolIndex, fingerprint: str) -> UploadReport:
    """What an upload has changed."""
    names = [tool.name for tool in upload.tools]
    added = [name for name in names if older.row_of(name) is None]
    same = [name for name in names if _digest(older, name) == _digest(newer, name)]
    return UploadReport(
        read=upload.n_read,
        added=len(added),
        changed=len(names) - len(added) - len(same),
        unchanged=len(same),
        removed=len(older) + len(added) - len(newer),
        issues=upload.issues,
        fingerprint=fingerprint,
    )


def _holds(index: ToolIndex, tool: Tool) -> bool:
    """Whether `index` has the tool as it is."""
    digest = _digest(index, tool.name)
    return digest is not None and digest.hex() == tool_digest(tool)


def _digest(index: ToolIndex, name: str) -> bytes | None:
    row = index.row_of(name)
    return None if row is None else index.columns.facts["tool_digest"][row].tobytes()


def _issues(loaded: LoadedCatalog, folder: str) -> tuple[UploadIssue, ...]:
    return tuple(
        UploadIssue(
            line=issue.line,
            tool=issue.tool or "",
            severity=issue.severity,
            reason=issue.reason.replace(f"{folder}/", ""),
        )
        for issue in loaded.issues
    )
