"""Texts of a tool that could be embedded, each richer than the one before: compared with the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolsearch.document import MAX_DESCRIPTION, MAX_PARAMETER_DESCRIPTION, MAX_PARAMETERS, MAX_VALUES
from toolsearch.naming import split_words
from toolsearch.schema import parameter_fields
from toolsearch.tools import Tool


def _plain(tool: Tool) -> str:
    return f"{tool.raw_name}: {tool.description}"


def _words(tool: Tool) -> str:
    return f"{' '.join(split_words(tool.raw_name))}: {tool.description[:MAX_DESCRIPTION]}"


def _server(tool: Tool) -> str:
    return f"{' '.join(split_words(tool.source))} {_words(tool)}".strip()


def _parameters(tool: Tool) -> str:
    names = [
        " ".join(split_words(name)) for name, _, _ in parameter_fields(tool.input_schema)[:MAX_PARAMETERS]
    ]
    return f"{_server(tool)} Parameters: {'; '.join(names)}" if names else _server(tool)


def _described(tool: Tool) -> str:
    return _with_parameters(tool, values=False)


def _values(tool: Tool) -> str:
    return _with_parameters(tool, values=True)


def _with_parameters(tool: Tool, *, values: bool) -> str:
    parts = []
    for name, description, allowed in parameter_fields(tool.input_schema)[:MAX_PARAMETERS]:
        part = " ".join(split_words(name))
        if description:
            part += f": {description[:MAX_PARAMETER_DESCRIPTION]}"
        if values and allowed:
            part += f" [{', '.join(allowed[:MAX_VALUES])}]"
        parts.append(part)
    return f"{_server(tool)} Parameters: {'; '.join(parts)}" if parts else _server(tool)


COMPOSITIONS: Mapping[str, Callable[[Tool], str]] = {
    "`name: description`": _plain,
    "words of the name: description": _words,
    "+ server": _server,
    "+ parameter names": _parameters,
    "+ parameter descriptions": _described,
    "+ values": _values,
}
