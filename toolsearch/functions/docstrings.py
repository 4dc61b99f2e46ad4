"""Docstrings in Google, NumPy or reST style, taken apart."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import partial
from types import WrapperDescriptorType
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
    if inspect.isclass(function):
        return _text_of_class(function)
    if inspect.isroutine(function):
        return inspect.getdoc(function) or ""
    call = type(function).__call__
    # What is written in C says "Call self as a function."
    said = None if isinstance(call, WrapperDescriptorType) else inspect.getdoc(call)
    return said or _text_of_class(type(function))


def _text_of_class(kind: type) -> str:
    """The docstring that was written for this class: none of a base, and none that Python made up."""
    text = kind.__doc__ if isinstance(kind.__doc__, str) else ""
    is_made_up = text.startswith(f"{kind.__name__}(") and (is_dataclass(kind) or hasattr(kind, "_fields"))
    return "" if is_made_up else text


def _one_line(text: str) -> str:
    return " ".join(text.split())
