"""The catalog files that a path stands for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from toolsearch.exceptions import CatalogFileError
from toolsearch.sources.documents import STANDARD_INPUT
from toolsearch.sources.remote import is_url

SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".yaml", ".yml"})


def catalog_files(path: Path | str) -> Iterator[str | CatalogFileError]:
    """The path of each file, and an error for each part of a folder that cannot be read, sorted by path.

    A folder stands for its files with one of `SUFFIXES` at any depth; links to folders are not followed.

    Raises:
        CatalogFileError: there is nothing at `path`, or a folder holds no such file.
    """
    if str(path) == STANDARD_INPUT or is_url(path):
        yield str(path)
        return
    if not _is_folder(path):
        yield str(path)
        return
    errors: list[OSError] = []
    found = []
    for folder, _, names in os.walk(path, onerror=errors.append):
        found += [Path(folder, name) for name in names if Path(name).suffix.lower() in SUFFIXES]
    unreadable = {Path(error.filename): _unreadable(error.filename, error) for error in errors}
    if not found and not unreadable:
        raise CatalogFileError(path, f"the folder holds no {', '.join(sorted(SUFFIXES))} file")
    for file in sorted([*found, *unreadable]):
        if file in unreadable:
            yield unreadable[file]
            continue
        try:
            regular = stat.S_ISREG(file.stat().st_mode)
        except OSError as exc:
            yield _unreadable(file, exc)
        else:
            yield str(file) if regular else CatalogFileError(file, "cannot be read: it is no regular file")


def _is_folder(path: Path | str) -> bool:
    try:
        return stat.S_ISDIR(Path(path).stat().st_mode)
    except OSError as exc:
        raise _unreadable(path, exc) from exc


def _unreadable(path: Path | str, error: OSError) -> CatalogFileError:
    return CatalogFileError(path, f"cannot be read: {error.strerror or error}")
