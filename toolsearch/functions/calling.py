"""`FunctionCall`: runs a function as a tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolsearch.functions.results import to_result
from toolsearch.functions.running import in_time, run
from toolsearch.messages import ToolResult
from toolsearch.tools import JsonObject, ToolContext


class Binder(Protocol):
    """Checks arguments and says what to call a function with."""

    def bind(
        self, tool: str, arguments: JsonObject, context: ToolContext
    ) -> tuple[list[Any], dict[str, Any]]:
        """Values by position, and by name.

        Raises:
            ToolArgumentsError: the arguments do not fit.
        """


class Invocation(Protocol):
    """A `ToolInvocation` that makes do without a context, and gives a result."""

    async def __call__(self, arguments: JsonObject, context: ToolContext | None = None) -> ToolResult: ...


@dataclass(frozen=True)
class FunctionCall:
    """`Tool.call` of a function: arguments checked, context injected, time limited, result converted.

    Awaiting it raises `ToolArgumentsError` before anything runs, `ToolTimeoutError`, `ToolResultError`, and
    whatever the function raises.
    """

    tool: str
    function: Callable[..., Any]
    parameters: Binder = field(repr=False)
    result_converter: Callable[[Any], Any] | None = None
    timeout_s: float | None = None

    async def __call__(self, arguments: JsonObject, context: ToolContext | None = None) -> ToolResult:
        given = ToolContext() if context is None else context
        by_position, by_name = self.parameters.bind(self.tool, arguments, given)
        value = await in_time(self.tool, self.timeout_s, self._value(by_position, by_name))
        return to_result(value, tool=self.tool)

    async def _value(self, by_position: list[Any], by_name: dict[str, Any]) -> Any:
        value = await run(self.function, *by_position, **by_name)
        return value if self.result_converter is None else await run(self.result_converter, value)
