"""What several tests of the index need."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolsearch.tools import Tool


def some_tools(n: int, *, version: int = 1, sources: Sequence[str] = ("mail", "files", "")) -> list[Tool]:
    """`n` different tools over `sources`; another version changes every fifth text."""
    verbs = ("send", "list", "delete", "read", "copy")
    things = ("message", "folder", "page", "report", "team")
    return [
        Tool(
            raw_name=f"{verbs[i % 5]}_{things[i // 5 % 5]}_{i}",
            source=sources[i % len(sources)],
            description=f"{verbs[i % 5].title()} a {things[i // 5 % 5]} number {i}, "
            f"edition {version if i % 5 == 0 else 0}.",
            input_schema={"type": "object", "properties": {"to": {"type": "string"}, f"n{i % 7}": {}}},
            tags=("slow",) if i % 4 == 0 else (),
            read_only=None if i % 3 == 0 else i % 3 == 1,
        )
        for i in range(n)
    ]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below `folder`, by its path there."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
