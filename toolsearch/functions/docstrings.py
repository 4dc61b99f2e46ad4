"""Docstrings in Google, NumPy or reST style, taken apart."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

_KEPT_SECTIONS = {"notes": "Notes", "warnings": "Warnings"}
_COMMA = re.compile(r"\s*,\s*")


@dataclass(frozen=True)
class Docstring:
    """What a docstring says: of the whole, and of each parameter by name."""

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_docstring(function: Any) -> Docstring:
    """The docstring of any callable; empty where it has none of its own.

    A `functools.partial` has that of its function, an object with ``__call__`` that of the method or else of
    its class. What is said of results and errors is left out.
    """
    return parse_docstring(_own_text(function))


def parse_docstring(text: str) -> Docstring:
    """`text` taken apart; all of it is the description where no style fits."""
    from docstring_parser import ParseError, parse

    text = inspect.cleandoc(text)
    try:
        parsed = parse(text)
    except ParseError:
        return Docstring(text)
    parts = [parsed.short_description, parsed.long_description]
    for section in parsed.meta:
        title = _KEPT_SECTIONS.get(section.args[0])
        if title and section.description:
            parts.append(f"{title}: {section.description}")
    described = {
        name: _one_line(parameter.description)
        for parameter in parsed.params
        if parameter.description
        for name in _COMMA.split(parameter.arg_name)
    }
    return Docstring("\n\n".join(part.strip() for part in parts if part), described)


def _own_text(function: Any) -> str:
    if isinstance(function, partial):
        # inspect.getdoc would give the docstring of functools.partial itself.
        return vars(function).get("__doc__") or _own_text(function.func)
    if not inspect.isroutine(function) and not inspect.isclass(function):
        return inspect.getdoc(type(function).__call__) or inspect.getdoc(function) or ""
    return inspect.getdoc(function) or ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
