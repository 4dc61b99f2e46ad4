"""`tool_from_schema`: a tool whose definition is data rather than a Python signature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolsearch.exceptions import DefinitionError, ReservedNameError, ToolArgumentsError
from toolsearch.functions.calling import FunctionCall
from toolsearch.functions.signatures import globals_of, read_parameters
from toolsearch.naming import RESERVED_NAMES, public_name
from toolsearch.schema import check_schema
from toolsearch.schema.patterns import bounded_validator, find_errors
from toolsearch.tools import JsonObject, Tool, ToolContext

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_MOST = 8
_SHOWN = 200


def tool_from_schema(
    function: Callable[..., Any],
    *,
    name: str,
    input_schema: JsonObject | None = None,
    result_converter: Callable[[Any], Any] | None = None,
    timeout_s: float | None = None,
    **stated: Any,
) -> Tool:
    """A tool whose `function` takes all arguments as one dict, and a `ToolContext` where it asks for one.

    Arguments are checked against `input_schema`, its patterns in bounded time (see `bounded_validator`), and
    handed on as they came: nothing is converted, and no default is filled in. The rest is as with `tool`;
    `stated` are further fields of `Tool`, such as ``description`` and ``tags``.

    Raises:
        SchemaError: `input_schema` is not a usable JSON Schema.
        ReservedNameError: it would have the name of a built-in tool.
        DefinitionError: `function` does not take exactly one argument beside the context, or `timeout_s` is
            not more than 0.
    """
    public = public_name(stated.get("source", ""), name, variant=stated.get("id", ""))
    if public in RESERVED_NAMES:
        raise ReservedNameError(public)
    schema = check_schema(public, input_schema).schema
    takes = read_parameters(public, function, globals_of(function))
    if [each.takes_context for each in takes].count(False) != 1:
        raise DefinitionError(
            public, "its function must take one dict of arguments, and may take a ToolContext."
        )
    parameters = _DataParameters(schema, tuple(each.takes_context for each in takes))
    call = FunctionCall(public, function, parameters, result_converter, timeout_s)
    return Tool(raw_name=name, input_schema=schema, timeout_s=timeout_s, call=call, **stated)


@dataclass(frozen=True)
class _DataParameters:
    schema: JsonObject
    takes_context: tuple[bool, ...]

    def bind(
        self, tool: str, arguments: JsonObject, context: ToolContext
    ) -> tuple[list[Any], dict[str, Any]]:
        problems = self._problems(arguments)
        if problems:
            raise ToolArgumentsError(tool, problems)
        return [context if is_context else arguments for is_context in self.takes_context], {}

    def _problems(self, arguments: JsonObject) -> tuple[str, ...]:
        found = find_errors(self._validator, arguments)
        errors = sorted(found, key=lambda error: list(map(str, error.path)))
        problems = tuple(
            f"{error.json_path.removeprefix('$.')!r}: {_cut(error.message)}."
            if error.path
            else f"{_cut(error.message)}."
            for error in errors[:_MOST]
        )
        return problems if len(errors) <= _MOST else (*problems, f"{len(errors) - _MOST} more problems.")

    @cached_property
    def _validator(self) -> Validator:
        from jsonschema import Draft202012Validator

        return bounded_validator(Draft202012Validator, self.schema)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
