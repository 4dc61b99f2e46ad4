"""Which tools a list has: of a source, with a tag, with a text in what they say of themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable

from toolsearch.deadlines import in_time
from toolsearch.index.store import stored_line
from toolsearch.index.tool_index import ToolIndex
from toolsearch.server.visible import Visible
from toolsearch.tools import Tool


def listed_rows(view: Visible, *, source: str | None, tag: str | None, text: str | None) -> list[int]:
    """The rows of the tools of `view` that pass every filter that is given, in order."""
    rows = view.rows.tolist()
    for label, rows_of in ((source, view.sources), (tag, view.tags)):
        if label is not None:
            wanted = set(rows_of[label].tolist()) if label in rows_of else set()
            rows = [row for row in rows if row in wanted]
    return rows_with(view.index, rows, text) if text and text.strip() else rows


def rows_with(index: ToolIndex, rows: Iterable[int], text: str) -> list[int]:
    """Those of `rows` whose tool has every word of `text`, in any case, in order.

    A word may be a part of a name, title, description, tag, or name of an argument.
    """
    words = text.casefold().split()
    # Lines are read much faster than tools, so that only those are decoded which may have the words.
    written = [json.dumps(word, ensure_ascii=False)[1:-1] for word in words]
    found = []
    for row in in_time(rows):
        line = stored_line(index.tools, index.columns.names[row]).decode().casefold()
        if (all(word in line for word in written) or "\\u" in line) and _has(index.tool(row), words):
            found.append(row)
    return found


def _has(tool: Tool, words: list[str]) -> bool:
    arguments = tool.input_schema.get("properties")
    names = arguments if isinstance(arguments, dict) else {}
    text = "\n".join((tool.name, tool.raw_name, tool.title, tool.description, *tool.tags, *names)).casefold()
    return all(word in text for word in words)
