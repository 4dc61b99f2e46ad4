"""`ChildLog`: what a server writes to standard error: kept short, rotated, and without secrets."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from toolsearch.http.secret_shapes import redacted
from toolsearch.http.secrets import Redaction, words_of

LINES_KEPT = 200
LINE_LENGTH = 2_000
FILE_BYTES = 1_000_000
FILES_KEPT = 3

_log = logging.getLogger(__name__)


class ChildLog:
    """The last lines of a server, and all of them in a file that is rotated."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        max_bytes: int = FILE_BYTES,
        files_kept: int = FILES_KEPT,
    ) -> None:
        """Writes nothing yet.

        Args:
            path: The file; None keeps the last lines in memory alone. Full, it is renamed to ``PATH.1``.
            max_bytes: Of one file.
            files_kept: Renamed files that stay.
        """
        self.path = path
        self._max_bytes = max_bytes
        self._files_kept = files_kept
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._redaction = Redaction(())

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines, oldest first."""
        return tuple(self._lines)

    def hide(self, secrets: Iterable[str]) -> None:
        """From now on also hides these texts, and the longer words of them."""
        self._redaction = Redaction(words_of(secrets))

    def write(self, line: str) -> None:
        """Keeps a line, without what looks like a secret and cut to 2,000 characters."""
        kept = redacted(self._redaction(line[:LINE_LENGTH])).rstrip()
        if not kept:
            return
        self._lines.append(kept)
        if self.path is None:
            return
        try:
            self._append(self.path, f"{kept}\n".encode("utf-8", "replace"))
        except OSError as exc:
            # Who stopped reading a server's errors would stop the server, once the pipe is full.
            _log.warning("%s cannot be written and is given up: %s", self.path, exc.strerror or exc)
            self.path = None

    def last(self, length: int = 300) -> str:
        """The last line, cut to so many characters; empty where there is none."""
        return self._lines[-1][:length] if self._lines else ""

    def _append(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size + len(data) > self._max_bytes:
            self._rotate(path)
        with path.open("ab") as file:
            file.write(data)

    def _rotate(self, path: Path) -> None:
        for number in range(self._files_kept, 0, -1):
            older = path.with_name(f"{path.name}.{number}")
            newer = path if number == 1 else path.with_name(f"{path.name}.{number - 1}")
            if newer.exists():
                newer.replace(older)
        if not self._files_kept:
            path.unlink()
