"""One writer at a time, across threads and processes. A lock ends with the process that holds it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolsearch.exceptions import IndexLockedError

LOCK_FILE = ".lock"

_POLL_S = 0.02
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def write_lock(folder: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the lock file of `folder`; it is removed afterwards.

    Raises:
        IndexLockedError: another writer held it for all of `timeout_s`.
    """
    with locked(folder / LOCK_FILE, timeout_s=timeout_s, refusal=IndexLockedError(folder, timeout_s)):
        yield


@contextmanager
def locked(path: Path, *, timeout_s: float, refusal: Exception) -> Iterator[None]:
    """Hold the lock file `path`; it is removed afterwards.

    Raises:
        Exception: `refusal`, where another writer held it for all of `timeout_s`.
    """
    remove_unless_file(path)
    deadline = time.monotonic() + timeout_s
    while (descriptor := _acquired(path)) is None:
        if time.monotonic() >= deadline:
            raise refusal
        time.sleep(_POLL_S)
    try:
        yield
    finally:
        # Windows lets nobody remove an open file, so there it goes after the lock; whoever took the lock
        # in between keeps it, for the file cannot be removed from under them.
        if os.name != "nt":
            path.unlink(missing_ok=True)
        os.close(descriptor)
        if os.name == "nt":
            with suppress(OSError):
                path.unlink(missing_ok=True)


def remove_unless_file(path: Path) -> None:
    """Remove a folder, or a link whatever it leads to, that stands where a file belongs."""
    if path.is_symlink():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def _acquired(path: Path) -> int | None:
    """A descriptor that holds the lock, or None while somebody else does."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, 0o666)
    except PermissionError:
        if os.name != "nt":
            raise
        return None  # Windows: being removed by its last holder
    try:
        _lock(descriptor)
        # The last holder may have removed the file after it was opened here.
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except (BlockingIOError, PermissionError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
