"""`TrustFile`: a trust record on disk, in a form that shows in version control what changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from toolsearch.exceptions import TrustError
from toolsearch.index.lock import locked
from toolsearch.trust.definition import readable_json
from toolsearch.trust.record import TrustRecord

T = TypeVar("T")

LOCK_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class TrustFile:
    """A file that is always the whole old or the whole new record; one that is not there is an empty one."""

    path: Path

    def load(self) -> TrustRecord:
        """What the file holds.

        Raises:
            TrustError: it is no trust file, is damaged, of another version, or cannot be read.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return TrustRecord()
        except (OSError, UnicodeDecodeError) as exc:
            raise TrustError(self.path, f"cannot be read: {exc}") from exc
        try:
            return TrustRecord.from_json(json.loads(text))
        except json.JSONDecodeError as exc:
            raise TrustError(self.path, f"is no JSON (line {exc.lineno}): {exc.msg}. Restore it.") from exc
        except (ValueError, RecursionError) as exc:
            raise TrustError(self.path, str(exc)) from exc

    def state(self) -> object:
        """Equal to an earlier one as long as nobody has written the file; what cannot be read has one too."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size

    def update(
        self, change: Callable[[TrustRecord], tuple[TrustRecord, T]], *, timeout_s: float = LOCK_TIMEOUT_S
    ) -> T:
        """What `change` gives beside the new record, which is written where it is another one.

        `change` is called with what the file holds, again by itself if another writer was faster, and never
        while another writer is at work. What changes nothing takes no lock and writes nothing.

        Raises:
            TrustError: as `load`; or another writer held the file for all of `timeout_s`.
            OSError: it could not be written; the old one is still there.
        """
        before = self.load()
        after, value = change(before)
        if after == before:
            return value
        self.path.parent.mkdir(parents=True, exist_ok=True)
        busy = TrustError(self.path, f"is being written by another process for more than {timeout_s:g} s.")
        lock = self.path.with_name(f".{self.path.name}.lock")
        with locked(lock, timeout_s=timeout_s, refusal=busy):
            latest = self.load()
            if latest != before:
                after, value = change(latest)
            self._write(after)
        return value

    def _write(self, record: TrustRecord) -> None:
        partial = self.path.with_name(f".{self.path.name}.partial")
        partial.unlink(missing_ok=True)
        try:
            with partial.open("x", encoding="utf-8", newline="\n") as file:
                file.write(readable_json(record.to_json()) + "\n")
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.path)
        finally:
            partial.unlink(missing_ok=True)
