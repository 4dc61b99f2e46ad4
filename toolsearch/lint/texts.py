"""Every text of a tool definition that a model, a search or a person may read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from toolsearch.tools import Tool


def tool_texts(tool: Tool) -> Iterator[tuple[str, str]]:
    """(where, text) for each text that is not empty, names of parameters included.

    ``where`` reads ``description`` or ``input_schema.properties.path.description``.
    """
    own = {
        "name": tool.raw_name,
        "title": tool.title,
        "description": tool.description,
        "search_hint": tool.search_hint,
    }
    yield from ((where, text) for where, text in own.items() if text)
    yield from (("tags", tag) for tag in tool.tags)
    yield from _strings("input_schema", tool.input_schema)
    yield from _strings("output_schema", tool.output_schema)


def quoted(text: str, start: int, end: int, *, around: int = 20) -> str:
    """What stands from `start` to `end` of `text` and a little around it, on one line and visible."""
    left, right = max(0, start - around), min(len(text), max(end, start + 1) + around)
    part = text[left:right]
    if len(part) > _MAX_QUOTED:
        part, right = part[:_MAX_QUOTED], 0
    part = re.sub(r"[ \t\r\n]+", " ", part)
    shown = "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in part)
    return f"'{'...' if left else ''}{shown}{'...' if right != len(text) else ''}'"


_MAX_QUOTED = 100


def _strings(where: str, value: Any) -> Iterator[tuple[str, str]]:
    # A stack, as schemas may be nested deeper than Python's recursion limit.
    todo = [(where, value)]
    while todo:
        where, value = todo.pop()
        if isinstance(value, str):
            if value:
                yield where, value
        elif isinstance(value, dict):
            todo += [(f"{where}.{key}", child) for key, child in reversed(value.items())]
            yield from ((f"the key {where}.{key}", key) for key in value)
        elif isinstance(value, list):
            todo += [(where, child) for child in reversed(value)]
