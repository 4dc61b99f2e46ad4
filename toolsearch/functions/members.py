"""`tools_from`: the tools of a module, an object or a class."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import Any

from toolsearch.exceptions import UnresolvedTypeError
from toolsearch.functions.decorator import tool
from toolsearch.functions.function_tool import FunctionTool
from toolsearch.tools import Tool


def tools_from(holder: Any, *names: str, source: str | None = None) -> tuple[Tool, ...]:
    """The tools that a module, an object or a class has, in the order of its code.

    Without `names`, everything in it that was made with `tool`, what a module imported included, and nothing
    else: no function becomes a tool by accident. With `names`, exactly those attributes, in that order,
    whether they are tools yet or not. `source` sets their tool source, which tells apart the tools of two
    objects of one class.

    Raises:
        AttributeError: there is no attribute of some name.
        DefinitionError: no tool can be made of it, such as of a method without its object.
    """
    found = []
    for name in names or _tool_names(holder):
        value = getattr(holder, name)
        made = value if isinstance(value, Tool) else tool(value)
        with suppress(UnresolvedTypeError):
            _ = made.input_schema
        found.append(made if source is None else _from_source(made, source))
    return tuple(found)


def _from_source(made: Tool, source: str) -> Tool:
    return made.from_source(source) if isinstance(made, FunctionTool) else replace(made, source=source)


def _tool_names(holder: Any) -> Iterator[str]:
    seen = set()
    for name in _attribute_names(holder):
        # Properties are left alone: reading one may do anything.
        value = inspect.getattr_static(holder, name, None)
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if isinstance(value, Tool) and id(value) not in seen:
            seen.add(id(value))
            yield name


def _attribute_names(holder: Any) -> list[str]:
    if isinstance(holder, ModuleType):
        return list(vars(holder))
    classes = holder.__mro__ if inspect.isclass(holder) else type(holder).__mro__
    names = [name for each in reversed(classes) for name in vars(each)]
    return list(dict.fromkeys([*names, *getattr(holder, "__dict__", ())]))
