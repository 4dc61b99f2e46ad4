"""Bytes from a pipe as lines, with a limit on the length of one."""

from __future__ import annotations

from dataclasses import dataclass

_EDGE = 400


@dataclass(frozen=True)
class LongLine:
    """A line that was longer than allowed: its length, its beginning and its end."""

    n_bytes: int
    beginning: bytes
    end: bytes


class LineSplitter:
    """Puts chunks together to lines, in time that is linear in their length."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._length = 0
        self._long: LongLine | None = None

    def feed(self, chunk: bytes) -> list[bytes | LongLine]:
        """The lines that `chunk` completes, without their line ends; a longer one is not kept."""
        *ended, rest = chunk.split(b"\n")
        lines: list[bytes | LongLine] = []
        for part in ended:
            self._add(part)
            lines.append(b"".join(self._parts) if self._long is None else self._long)
            self._parts, self._length, self._long = [], 0, None
        self._add(rest)
        return lines

    def _add(self, part: bytes) -> None:
        if not part:
            return
        self._length += len(part)
        if self._long is not None:
            end = (self._long.end + part)[-_EDGE:]
            self._long = LongLine(self._length, self._long.beginning, end)
            return
        self._parts.append(part)
        if self._length > self._max_bytes:
            whole = b"".join(self._parts)
            self._long = LongLine(self._length, whole[:_EDGE], whole[-_EDGE:])
            self._parts = []
