"""An index folder: written so that it is always the whole old or the whole new index, and checked when read.

    manifest.json              names the snapshot; replacing it in one step is what commits
    snapshot-<digest>/...      the files, never changed once they are there

A writer fills a new snapshot, syncs it, replaces the manifest and removes the old snapshot. Whatever moment
it is killed at, the manifest names a complete snapshot; the next writer clears away the rest. A reader whose
snapshot goes while it is reading starts again with the new manifest; what it has open stays readable.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from toolsearch.checks import check_choice
from toolsearch.exceptions import IndexDamagedError, IndexNotFoundError, ToolIndexError
from toolsearch.index.lock import LOCK_FILE, remove_unless_file, write_lock
from toolsearch.index.manifest import FORMAT, MANIFEST_FILE, SNAPSHOT, FileEntry, IndexSummary, Manifest

T = TypeVar("T")
Verify: TypeAlias = Literal["full", "size"]

LOCK_TIMEOUT_S = 60.0
_REPLACE_TIMEOUT_S = 10.0

_PARTIAL_SNAPSHOT = "snapshot-partial"
_PARTIAL_MANIFEST = "manifest.json.partial"


def save_folder(
    path: Path, summary: IndexSummary, write: Callable[[Path], None], *, timeout_s: float = LOCK_TIMEOUT_S
) -> Manifest:
    """Make `path` the index whose files `write` puts into the folder that it is given.

    Raises:
        ToolIndexError: `path` holds something else than an index; it is left as it is.
        IndexLockedError: another writer was busy with it for all of `timeout_s`.
        OSError: it could not be written; the index that was there still is.
    """
    _refuse_other_content(path)
    path.mkdir(parents=True, exist_ok=True)
    with write_lock(path, timeout_s=timeout_s):
        _clear(path, keep=_named_snapshot(path))
        partial = path / _PARTIAL_SNAPSHOT
        partial.mkdir()
        try:
            write(partial)
            manifest = Manifest(summary=summary, files=_synced_files(partial))
            _commit(path, manifest)
        finally:
            _clear(path, keep=_named_snapshot(path))
    return manifest


def load_folder(path: Path, read: Callable[[Manifest, Path], T], *, verify: Verify = "full") -> T:
    """What `read` makes of the manifest and the snapshot folder, both checked; again if they are swapped.

    `verify` is ``full`` (size and SHA-256 of every file) or ``size``.

    Raises:
        IndexNotFoundError: there is no index at `path`.
        IndexDamagedError: a file is missing or is not what was written.
        IndexFormatError: the index is of another format version.
    """
    while True:
        text, stamp = _read_manifest(path)
        try:
            manifest = Manifest.from_json(text, path)
            check_files(path, manifest, verify=verify)
            return read(manifest, path / manifest.snapshot)
        except (OSError, RuntimeError, ToolIndexError):
            # FAISS reports a file that is gone as a RuntimeError.
            if _read_manifest(path)[1] == stamp:
                raise


def read_manifest(path: Path) -> Manifest:
    """The manifest of the index at `path`; its files are not looked at.

    Raises:
        IndexNotFoundError, IndexDamagedError, IndexFormatError: as `load_folder`.
    """
    return Manifest.from_json(_read_manifest(path)[0], path)


def check_files(path: Path, manifest: Manifest, *, verify: Verify) -> None:
    """Compare the files of an index with its manifest.

    Raises:
        ValueError: an unknown way to verify.
        IndexDamagedError: names the first file that is missing, or has another size or content.
    """
    check_choice("verify", verify, Verify)
    folder = path / manifest.snapshot
    for name, entry in manifest.files.items():
        try:
            found = (folder / name).stat()
        except OSError as exc:
            raise IndexDamagedError(path, name, "is missing") from exc
        if not stat.S_ISREG(found.st_mode):
            raise IndexDamagedError(path, name, "is no file")
        if found.st_size != entry.size:
            raise IndexDamagedError(path, name, f"has {found.st_size} bytes where {entry.size} were written")
    if verify == "full":
        with ThreadPoolExecutor() as pool:
            entries = pool.map(lambda name: FileEntry.of(folder / name), manifest.files)
            for (name, entry), now in zip(manifest.files.items(), entries, strict=True):
                if now != entry:
                    raise IndexDamagedError(path, name, "was altered (its SHA-256 differs)")


def _is_catalog(path: Path) -> bool:
    """Whether files that a catalog is read from are there."""
    # Here, as reading an index needs nothing else of the readers of catalogs.
    from toolsearch.sources.folders import SUFFIXES

    there = path.iterdir() if path.is_dir() else [path]
    return any(each.suffix.lower() in SUFFIXES and each.is_file() for each in there)


def _read_manifest(path: Path) -> tuple[bytes, tuple[int, int]]:
    """The manifest and what tells it from any that replaces it, though it be of the same text."""
    try:
        with (path / MANIFEST_FILE).open("rb") as file:
            status = os.fstat(file.fileno())
            return file.read(), (status.st_ino, status.st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError) as exc:
        inner = min(path.glob(f"*/{MANIFEST_FILE}"), default=None)
        if inner is not None:
            raise IndexNotFoundError(path, inner=inner.parent) from exc
        raise IndexNotFoundError(path, is_catalog=_is_catalog(path)) from exc
    except IsADirectoryError as exc:
        raise IndexDamagedError(path, MANIFEST_FILE, "is a folder") from exc


def _refuse_other_content(path: Path) -> None:
    if not path.exists():
        return
    if not path.is_dir():
        raise ToolIndexError(path, "is a file", remedy="Choose a folder.")
    names = {entry.name for entry in path.iterdir()}
    if (path / MANIFEST_FILE).is_dir():
        known = False
    elif MANIFEST_FILE in names:
        # A manifest that is damaged may have lost its mark, but it has its snapshot beside it.
        known = FORMAT.encode() in (path / MANIFEST_FILE).read_bytes() or any(map(SNAPSHOT.fullmatch, names))
    else:
        known = all(map(_is_ours, names))
    if not known:
        raise ToolIndexError(
            path, "is a folder with other content, which is left as it is", remedy="Choose an empty folder."
        )


def _is_ours(name: str) -> bool:
    return bool(SNAPSHOT.fullmatch(name)) or name in {LOCK_FILE, _PARTIAL_SNAPSHOT, _PARTIAL_MANIFEST}


def _named_snapshot(path: Path) -> str | None:
    """The snapshot that the manifest names, whatever format version it is of."""
    try:
        record = json.loads((path / MANIFEST_FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    name = record.get("snapshot") if isinstance(record, dict) else None
    return name if isinstance(name, str) and SNAPSHOT.fullmatch(name) else None


def _clear(path: Path, *, keep: str | None) -> None:
    """Remove what dead writers left, and snapshots past their time."""
    for entry in path.iterdir():
        if _is_ours(entry.name) and entry.name not in {keep, LOCK_FILE}:
            if entry.is_dir() and not entry.is_symlink():
                # On Windows a reader's open files stay; a later writer takes them away.
                shutil.rmtree(entry, ignore_errors=os.name == "nt")
            else:
                entry.unlink()


def _synced_files(folder: Path) -> dict[str, FileEntry]:
    entries = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            entries[file.relative_to(folder).as_posix()] = FileEntry.of(file)
            with file.open("r+b") as handle:
                os.fsync(handle.fileno())
        else:
            _sync_folder(file)
    _sync_folder(folder)
    return entries


def _commit(path: Path, manifest: Manifest) -> None:
    target = path / manifest.snapshot
    _remove_unless_folder(target)
    if not target.exists():
        _replace(path / _PARTIAL_SNAPSHOT, target)
    elif not _is_intact(path, manifest):
        for name in manifest.files:
            for part in reversed(Path(name).parents[:-1]):
                _remove_unless_folder(target / part)
                (target / part).mkdir(exist_ok=True)
            remove_unless_file(target / name)
            _replace(path / _PARTIAL_SNAPSHOT / name, target / name)
        for folder in {target, *((target / name).parent for name in manifest.files)}:
            _sync_folder(folder)
    _sync_folder(path)
    partial = path / _PARTIAL_MANIFEST
    with partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write(manifest.to_json())
        file.flush()
        os.fsync(file.fileno())
    _replace(partial, path / MANIFEST_FILE)
    _sync_folder(path)


def _is_intact(path: Path, manifest: Manifest) -> bool:
    if any(file.is_symlink() for file in (path / manifest.snapshot).rglob("*")):
        return False
    try:
        check_files(path, manifest, verify="full")
    except IndexDamagedError:
        return False
    return True


def _remove_unless_folder(path: Path) -> None:
    """Remove a file, or a link whatever it leads to, that stands where a folder belongs."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        path.unlink()


def _replace(source: Path, target: Path) -> None:
    deadline = time.monotonic() + (_REPLACE_TIMEOUT_S if os.name == "nt" else 0)
    while True:
        try:
            source.replace(target)
        except PermissionError:
            # Windows refuses while a reader has the file open, which takes it less than a moment.
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # there is no handle of a folder to sync
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
