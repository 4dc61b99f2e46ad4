"""Tools of somebody else's program: searched here, under the names that they have there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from toolsearch.advisors.calls import plan_calls
from toolsearch.checks import shown
from toolsearch.exceptions import DefinitionError
from toolsearch.formats import format_named
from toolsearch.messages import AssistantMessage, ToolCall, ToolResult
from toolsearch.naming import PUBLIC_NAME, SEPARATOR, public_name
from toolsearch.tools import JsonObject, Tool, ToolInvocation

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class PassedTool(Tool):
    """A tool under the name that the caller gave it, whatever its public name would be."""

    given_name: str

    @cached_property
    def name(self) -> str:
        return self.given_name


def passed_tool(name: str, record: JsonObject, form: str) -> Tool:
    """The tool of a definition in `form`, named `name`. In ``source__name`` the source is recognised.

    Raises:
        DefinitionError: the definition cannot be used, or its name is none that providers take.
    """
    if not PUBLIC_NAME.fullmatch(name):
        raise DefinitionError(name, "a name has 1 to 64 letters, digits, underscores and dashes.")
    tool = format_named(form).read(record, "").tool
    source, _, raw_name = name.rpartition(SEPARATOR)
    if source and public_name(source, raw_name) == name:
        return replace(tool, source=source, raw_name=raw_name, id="")
    if tool.name == name:
        return tool
    fields = {field: value for field, value in vars(tool).items() if field in Tool.__dataclass_fields__}
    return PassedTool(given_name=name, **fields)


def refusal(name: str, offered: Sequence[Tool]) -> ToolResult | None:
    """What the model is told if it calls `name`, which is not among `offered`; None if it is."""
    asked = AssistantMessage(content=(ToolCall(id="call", name=name),))
    return plan_calls(asked, offered).calls[0].refusal


def required_call(tool: Tool) -> ToolInvocation:
    """The `call` of a tool that somebody else's loop is to run.

    Raises:
        DefinitionError: it has none.
    """
    if tool.call is None:
        raise DefinitionError(tool.name, "it has no `call`, so the agent could not run it. Give it one.")
    return tool.call


def made_by(framework: str, make: Callable[[Any], T], function: Callable[..., Any]) -> T:
    """The tool that a framework makes of a function, by its own rules.

    Raises:
        DefinitionError: it makes none; names the function, and says what the framework does.
        TypeError: it is nothing to make one of.
    """
    if not callable(function):
        raise TypeError(f"{shown(function)} is no tool. Give a function, a Tool, or a tool of {framework}.")
    try:
        return make(function)
    except Exception as exc:
        name = getattr(function, "__name__", type(function).__name__)
        told = str(exc).partition("\n")[0]
        raise DefinitionError(name, f"{framework} makes no tool of this function. {told}") from exc
