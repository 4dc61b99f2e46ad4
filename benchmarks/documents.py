"""Texts of a tool that could be embedded, each richer than the one before: compared with the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from toolsearch.document import MAX_DESCRIPTION, MAX_PARAMETER_DESCRIPTION, MAX_PARAMETERS, MAX_VALUES
from toolsearch.naming import split_words
from toolsearch.schema import parameter_fields
from toolsearch.tools import Tool


def _plain(tool: Tool) -> str:
    return f"{tool.raw_name}: {tool.description}"


def _words(tool: Tool, share: float = 1.0) -> str:
    description = tool.description[: int(MAX_DESCRIPTION * share)]
    return f"{' '.join(split_words(tool.raw_name))}: {description}"


def _server(tool: Tool, share: float = 1.0) -> str:
    return f"{' '.join(split_words(tool.source))} {_words(tool, share)}".strip()


def _parameters(tool: Tool) -> str:
    names = [
        " ".join(split_words(name)) for name, _, _ in parameter_fields(tool.input_schema)[:MAX_PARAMETERS]
    ]
    return f"{_server(tool)} Parameters: {'; '.join(names)}" if names else _server(tool)


def _described(tool: Tool) -> str:
    return _with_parameters(tool, values=False)


def _values(tool: Tool) -> str:
    return _with_parameters(tool, values=True)


def _cut(share: float) -> Callable[[Tool], str]:
    """The richest text with every field cut at `share` of the default's length."""
    return partial(_with_parameters, values=True, share=share)


def _with_parameters(tool: Tool, *, values: bool, share: float = 1.0) -> str:
    parts = []
    for name, description, allowed in parameter_fields(tool.input_schema)[: int(MAX_PARAMETERS * share)]:
        part = " ".join(split_words(name))
        if description:
            part += f": {description[: int(MAX_PARAMETER_DESCRIPTION * share)]}"
        if values and allowed:
            part += f" [{', '.join(allowed[: int(MAX_VALUES * share)])}]"
        parts.append(part)
    head = _server(tool, share)
    return f"{head} Parameters: {'; '.join(parts)}" if parts else head


COMPOSITIONS: Mapping[str, Callable[[Tool], str]] = {
    "`name: description`": _plain,
    "words of the name: description": _words,
    "+ server": _server,
    "+ parameter names": _parameters,
    "+ parameter descriptions": _described,
    "+ values": _values,
    "that, fields cut at a quarter of the length": _cut(0.25),
    "that, fields cut at half the length": _cut(0.5),
    "that, fields cut at twice the length": _cut(2.0),
}
