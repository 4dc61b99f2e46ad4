"""Tools in the forms in which programs have them: functions, `Tool` objects, catalogs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, TypeAlias

from pydantic import BaseModel

from toolsearch.checks import shown
from toolsearch.tools import Tool

Tools: TypeAlias = Mapping[str, Tool] | Iterable[Tool | Callable[..., Any]]
"""A catalog or another mapping to tools, or a list of tools and of functions to make tools of."""


def as_tools(given: Tools, what: str = "tools") -> tuple[Tool, ...]:
    """The tools of `given` in its order; of a function the one that `tool` makes.

    `what` is the argument that errors name.

    Raises:
        TypeError: it holds something else, or is a single tool.
        DefinitionError: no tool can be made of a function.
    """
    return tuple(_as_tool(each, f"{what}[{number}]") for number, each in enumerate(listed(given, what)))


def listed(given: Any, what: str = "tools") -> Iterable[Any]:
    """What a mapping to tools or a list holds, whatever that is.

    Raises:
        TypeError: it is neither; says what to give.
    """
    if isinstance(given, Mapping):
        return given.values()
    if isinstance(given, ModuleType):
        raise TypeError(f"{what} is a module. Give tools_from({given.__name__.rpartition('.')[2]}).")
    if isinstance(given, Tool) or (callable(given) and not isinstance(given, Iterable)):
        raise TypeError(f"{what} is one tool. Give a list of them.")
    if isinstance(given, str | BaseModel) or not isinstance(given, Iterable):
        raise TypeError(f"{what} is {shown(given)}. Give a list of functions and tools, or a catalog.")
    return given


def _as_tool(each: Any, what: str) -> Tool:
    if isinstance(each, Tool):
        return each
    if callable(each):
        from toolsearch.functions.decorator import tool

        made: Tool = tool(each)
        return made
    advice = " Definitions as JSON become tools by read_tools." if isinstance(each, Mapping) else ""
    raise TypeError(f"{what} is {shown(each)}. Give a function or a Tool.{advice}")
