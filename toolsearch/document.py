"""The text of a tool that is embedded; docs/benchmarks.md has the measurements behind its composition."""

from __future__ import annotations

from toolsearch.naming import split_words
from toolsearch.schema import parameter_fields
from toolsearch.tools import Tool

DOCUMENT_VERSION = 1
"""Raised whenever `render_document` gives another text for some tool: every index must then be rebuilt."""

# Every field is cut, so that a tool cannot outrank others by repeating itself at length.
MAX_DESCRIPTION = 600
MAX_HINT = 200
MAX_PARAMETERS = 20
MAX_PARAMETER_DESCRIPTION = 120
MAX_VALUES = 8


def render_document(tool: Tool) -> str:
    """One line: source, the words of the name, description, then the parameters with what they may be.

    ``cal events update: Change an event. Parameters: when: new start [today, tomorrow]; event id``
    """
    head = " ".join((*split_words(tool.source), *split_words(tool.raw_name)))
    body = [_cut(tool.description, MAX_DESCRIPTION), _cut(tool.search_hint, MAX_HINT)]
    parameters = [_parameter(*field) for field in parameter_fields(tool.input_schema)[:MAX_PARAMETERS]]
    if parameters:
        body.append(f"Parameters: {'; '.join(parameters)}")
    return f"{head}: {' '.join(filter(None, body))}"


def _parameter(name: str, description: str, values: tuple[str, ...]) -> str:
    text = " ".join(split_words(name))
    if description:
        text += f": {_cut(description, MAX_PARAMETER_DESCRIPTION)}"
    if values:
        text += f" [{', '.join(_cut(value, MAX_PARAMETER_DESCRIPTION) for value in values[:MAX_VALUES])}]"
    return text


def _cut(text: str, length: int) -> str:
    """`text` on one line, at most `length` characters."""
    return " ".join(text[: 4 * length].split())[:length]
