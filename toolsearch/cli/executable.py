"""Tools that `toolsearch chat` can run: those of Python, and stand-ins for those of catalogs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import typer

from toolsearch.catalog import Catalog
from toolsearch.embedders.text import short_digest
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


def python_tools(reference: str, given_as: str = "--python") -> tuple[Tool, ...]:
    """The tools that ``module`` or ``module:name`` refers to: of a module, an object, a function, or a list.

    A module may be given as its file, ``folder/module.py``. Where it has no tools of its own, those in its
    lists are taken. `given_as` is the option or argument that errors name.

    Raises:
        typer.BadParameter: there is no such module or name, no tool in it, or it cannot be imported.
        DefinitionError: no tool can be made of what is there.
    """
    module, _, name = reference.rpartition(":")
    if not module or not _is_dotted(name):
        module, name = reference, ""
    found: Any = _imported(module, given_as)
    try:
        for part in filter(None, name.split(".")):
            found = getattr(found, part)
    except AttributeError as exc:
        raise _refusal(f"{reference!r}: {exc}", given_as) from exc
    tools = _tools_of(found) or _listed(found)
    if not tools:
        raise _refusal(f"{reference!r} holds no tool. {_advice(module, found)}", given_as)
    return tools


def _imported(module: str, given_as: str) -> ModuleType:
    if module.endswith(".py") and not Path(module).is_file():
        raise _refusal(f"{module!r} does not exist.", given_as)
    try:
        if module.endswith(".py"):
            return _of_file(Path(module).resolve())
        if _is_dotted(module):
            if str(Path.cwd()) not in sys.path:
                sys.path.insert(0, str(Path.cwd()))
            return import_module(module)
    except Exception as exc:
        # It may be any, of whatever runs as the module is imported.
        raise _refusal(f"{module!r} cannot be imported: {type(exc).__name__}: {exc}", given_as) from exc
    raise _refusal(
        f"{module!r} is no module: give its name, such as 'shop', or its file, 'shop.py'.", given_as
    )


def _of_file(file: Path) -> ModuleType:
    name = file.stem
    known = sys.modules.get(name)
    if known is not None:
        if getattr(known, "__file__", None) == str(file):
            return known
        name = f"{name}_of_{short_digest(str(file))}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no file of Python")
    module = sys.modules[name] = module_from_spec(spec)
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    spec.loader.exec_module(module)
    return module


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _advice(module: str, found: Any) -> str:
    functions = [
        key
        for key, value in (vars(found) if isinstance(found, ModuleType) else {}).items()
        if isinstance(value, FunctionType) and value.__module__ == found.__name__
    ]
    instead = f", or name one: {module}:{functions[0]}" if functions else ""
    return f"Decorate functions with @tool{instead}."


def _refusal(problem: str, given_as: str) -> typer.BadParameter:
    return typer.BadParameter(problem, param_hint=given_as)


def _listed(found: Any) -> tuple[Tool, ...]:
    """The tools in the lists of a module."""
    if not isinstance(found, ModuleType):
        return ()
    public = (value for key, value in vars(found).items() if not key.startswith("_"))
    lists = (value for value in public if isinstance(value, list | tuple))
    return tuple({id(each): each for value in lists for each in value if isinstance(each, Tool)}.values())


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
