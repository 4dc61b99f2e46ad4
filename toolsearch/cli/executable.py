"""Tools that `toolsearch chat` can run: those of Python, and stand-ins for those of catalogs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

from toolsearch.catalog import Catalog
from toolsearch.functions.decorator import tool
from toolsearch.functions.members import tools_from
from toolsearch.messages import ToolResult
from toolsearch.tools import JsonObject, Tool, ToolContext

DRY_RUN = "[dry run] Not executable here"
"""Begins the result of a tool that nothing runs."""


def with_stand_ins(catalog: Catalog, tools: Sequence[Tool] = ()) -> Catalog:
    """The catalog with `tools`, which replace namesakes; what nothing runs answers with a dry run."""
    whole = catalog.with_tools(*tools, replace=True)
    return Catalog(each if each.call is not None else _stand_in(each) for each in whole.values())


def python_tools(reference: str) -> tuple[Tool, ...]:
    """The tools that ``module`` or ``module:name`` refers to: of a module, an object, a function, or a list.

    Raises:
        typer.BadParameter: there is no such module or name, or no tool in it.
        DefinitionError: no tool can be made of what is there.
    """
    module, _, name = reference.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_module(module)
        for part in filter(None, name.split(".")):
            found = getattr(found, part)
    except (ImportError, AttributeError) as exc:
        raise typer.BadParameter(f"{reference!r}: {exc}", param_hint="--python") from exc
    tools = _tools_of(found)
    if not tools:
        raise typer.BadParameter(f"{reference!r} holds no tool.", param_hint="--python")
    return tools


def _tools_of(found: Any) -> tuple[Tool, ...]:
    if isinstance(found, Tool):
        return (found,)
    if isinstance(found, Iterable) and not isinstance(found, str):
        return tuple(each if isinstance(each, Tool) else tool(each) for each in found)
    if callable(found) and not isinstance(found, type | ModuleType):
        return (tool(found),)
    return tools_from(found)


def _stand_in(of: Tool) -> Tool:
    async def call(arguments: JsonObject, context: ToolContext) -> ToolResult:
        del arguments, context
        return ToolResult.text(
            f"{DRY_RUN}: {of.name} was called, and nothing was run. Say so in your answer."
        )

    return replace(of, call=call)
