"""A snapshot of tool definitions that a change of them has to update."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolsearch.tools import JsonObject, Tool


def assert_schemas_match(path: Path | str, tools: Iterable[Tool], *, update: bool = False) -> None:
    """Hold `tools` to the definitions in the JSON file `path`: a renamed parameter fails the build.

    The order of tools and of keys does not matter. With `update` the file is written instead.

    Raises:
        AssertionError: there is no such file, or a definition differs; names each tool and place.
    """
    path = Path(path)
    now = {tool.name: _snapshot(tool) for tool in sorted(tools, key=lambda tool: tool.name)}
    if update:
        path.write_text(json.dumps(now, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    if not path.exists():
        raise AssertionError(f"There is no snapshot {str(path)!r}. Write it once with update=True.")
    before = json.loads(path.read_text(encoding="utf-8"))
    changes = _changes("", before, now)
    if changes:
        listed = "\n".join(f"  {change}" for change in changes)
        raise AssertionError(
            f"Tool definitions differ from {str(path)!r}:\n{listed}\n"
            "If that is meant, write them again with update=True."
        )


def _snapshot(tool: Tool) -> JsonObject:
    snapshot: JsonObject = json.loads(tool.definition.model_dump_json(exclude={"name"}, exclude_none=True))
    return snapshot


def _changes(place: str, before: Any, now: Any) -> list[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        changes = []
        for key in before | now:
            inner = f"{place}.{key}" if place else str(key)
            if key not in now:
                changes.append(f"{inner}: gone")
            elif key not in before:
                changes.append(f"{inner}: new")
            else:
                changes += _changes(inner, before[key], now[key])
        return changes
    # JSON tells true from 1; Python does not.
    return (
        []
        if json.dumps(before, sort_keys=True) == json.dumps(now, sort_keys=True)
        else [f"{place}: {before!r:.80} -> {now!r:.80}"]
    )
