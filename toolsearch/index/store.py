"""Tools on disk: a mapping that decodes a definition when it is asked for, and not before."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolsearch.catalog import tool_from_record, tool_record
from toolsearch.exceptions import IndexDamagedError
from toolsearch.tools import Tool

TOOLS_FILE = "tools.jsonl"
OFFSETS_FILE = "tools.offsets.npy"

DECODED_TOOLS = 4096
"""How many decoded tools a `StoredTools` keeps; of public tools they take about 20 MB."""


class StoredTools(Mapping[str, Tool]):
    """The tools of ``tools.jsonl`` by public name, in the order of its lines.

    The file is mapped into memory, and ``tools.offsets.npy`` (n + 1 int64) says where each line starts, so
    opening it costs the same for any number of tools. Tools have no `call`: that is not stored.
    """

    def __init__(self, path: Path, offsets: NDArray[np.int64], row_of: Mapping[str, int]) -> None:
        """Use `read`."""
        self._row_of = row_of
        with path.open("rb") as file:
            # An empty file cannot be mapped.
            lines = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if len(row_of) else b""
        self._lines = _Lines(path.parent.parent, lines, offsets, row_of)
        # Of another object than this one, which so is freed as soon as nobody needs it.
        self._decoded = lru_cache(DECODED_TOOLS)(self._lines.tool)

    @classmethod
    def read(cls, folder: Path, row_of: Mapping[str, int]) -> StoredTools:
        """The tools that `write_tools` left in `folder`; `row_of` gives the line of each name, in order.

        Raises:
            ValueError: the files are of another number of tools, or do not fit each other.
        """
        path, offsets = folder / TOOLS_FILE, np.load(folder / OFFSETS_FILE, allow_pickle=False)
        if offsets.shape != (len(row_of) + 1,) or offsets.dtype != np.int64:
            raise ValueError(f"{offsets.shape} offsets for {len(row_of)} tools")
        size = path.stat().st_size
        if offsets[0] != 0 or offsets[-1] != size or (np.diff(offsets) <= 0).any():
            raise ValueError(f"offsets do not fit a file of {size} bytes")
        return cls(path, offsets, row_of)

    def __getitem__(self, name: str) -> Tool:
        return self._decoded(self._row_of[name])

    def __contains__(self, name: object) -> bool:
        return name in self._row_of

    def __iter__(self) -> Iterator[str]:
        return iter(self._row_of)

    def __len__(self) -> int:
        return len(self._row_of)

    def line(self, name: str) -> bytes:
        """The line of a tool as it was written, with its line end."""
        return self._lines.line(self._row_of[name])


@dataclass(frozen=True, eq=False)
class _Lines:
    """The lines of ``tools.jsonl``."""

    index: Path
    lines: mmap.mmap | bytes
    offsets: NDArray[np.int64]
    row_of: Mapping[str, int]

    def line(self, row: int) -> bytes:
        return self.lines[self.offsets[row] : self.offsets[row + 1]]

    def tool(self, row: int) -> Tool:
        try:
            tool = tool_from_record(json.loads(self.line(row)))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as exc:
            raise IndexDamagedError(self.index, f"{TOOLS_FILE}:{row + 1}", "is not a tool") from exc
        if self.row_of.get(tool.name) != row:
            raise IndexDamagedError(self.index, f"{TOOLS_FILE}:{row + 1}", "is another tool")
        return tool


class OverlaidTools(Mapping[str, Tool]):
    """The tools of `names`, from `newer` where it has them and else from `older`, which is not copied."""

    def __init__(self, names: Iterable[str], older: Mapping[str, Tool], newer: Mapping[str, Tool]) -> None:
        self._names = dict.fromkeys(names)
        self._older: Mapping[str, Tool] = older
        if isinstance(older, OverlaidTools):
            # Updates of updates stay one step from the tools.
            self._older, newer = older._older, {**older._newer, **newer}
        self._newer: dict[str, Tool] = {name: newer[name] for name in self._names if name in newer}

    def __getitem__(self, name: str) -> Tool:
        if name not in self._names:
            raise KeyError(name)
        return self._newer[name] if name in self._newer else self._older[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def part(self, name: str) -> Mapping[str, Tool]:
        """Where the tool of a name comes from."""
        return self._newer if name in self._newer else self._older


def write_tools(folder: Path, tools: Mapping[str, Tool]) -> None:
    """Write ``tools.jsonl``, with a line for each tool, and the offsets."""
    offsets = np.zeros(len(tools) + 1, dtype=np.int64)
    with (folder / TOOLS_FILE).open("wb") as file:
        for row, name in enumerate(tools):
            offsets[row + 1] = offsets[row] + file.write(stored_line(tools, name))
    np.save(folder / OFFSETS_FILE, offsets, allow_pickle=False)


def stored_line(tools: Mapping[str, Tool], name: str) -> bytes:
    """The line of a tool as `write_tools` writes it; one that is on disk is not decoded."""
    if isinstance(tools, StoredTools):
        return tools.line(name)
    if isinstance(tools, OverlaidTools):
        return stored_line(tools.part(name), name)
    return tool_line(tools[name])


def tool_line(tool: Tool) -> bytes:
    """The line of a tool in ``tools.jsonl``: what `catalog.tool_record` says of it, and a line end."""
    record = tool_record(tool)
    try:
        return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can carry
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"
