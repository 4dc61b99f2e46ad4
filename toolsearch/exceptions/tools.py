"""Errors of tool definitions, catalogs and tool calls."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from toolsearch.exceptions.base import ToolSearchError


class DefinitionError(ToolSearchError, ValueError):
    """A tool definition that cannot be used; `tool` names it, `reason` says why.

    `path` and `line` say where it was read; both are None where it comes from no file.
    """

    path: str | None = None
    line: int | None = None

    def __init__(self, tool: str, reason: str) -> None:
        self.tool = tool
        self.reason = reason
        super().__init__(f"Tool {tool!r}: {reason}")

    def at(self, path: str, line: int | None) -> Self:
        """This error, with the file and line that it is about."""
        self.path = path
        self.line = line
        where = path if line is None else f"{path}:{line}"
        self.args = (f"{where}: {self.args[0]}",)
        return self


class SchemaError(DefinitionError):
    """An input schema that is not a usable JSON Schema."""


class ParameterError(DefinitionError):
    """A parameter of a Python function that no schema can describe; `parameter` names it."""

    def __init__(self, tool: str, parameter: str, reason: str) -> None:
        self.parameter = parameter
        super().__init__(tool, f"parameter {parameter!r}: {reason}" if parameter else reason)


class UnresolvedTypeError(ParameterError):
    """An annotation names a type that does not exist, perhaps only not yet; `type_name` is that name.

    Raised when the schema is first needed, so a class may be defined after the tool that takes it.
    """

    def __init__(self, tool: str, parameter: str, type_name: str) -> None:
        self.type_name = type_name
        super().__init__(
            tool,
            parameter,
            f"its type {type_name!r} is not defined. Define or import it in the tool's module.",
        )


class ReservedNameError(DefinitionError):
    """A tool that would take the name of a built-in one."""

    def __init__(self, tool: str) -> None:
        super().__init__(tool, "this name is reserved for a built-in tool. Choose another name.")


class DuplicateToolError(DefinitionError):
    """Two different tools with one public name; `names` lists every such name."""

    def __init__(self, names: tuple[str, ...], reason: str | None = None) -> None:
        self.names = names
        reason = reason or (
            "already in the catalog. Rename one, give each its own source or id, "
            "or ask for the replacement with replace=True."
        )
        if len(names) > 1:
            reason = f"and {len(names) - 1} more ({', '.join(names[1:6])}): {reason}"
        super().__init__(names[0], reason)


class CatalogFileError(ToolSearchError, ValueError):
    """A catalog file that cannot be read; `path` and, where known, `line` say where."""

    def __init__(self, path: Path | str, reason: str, *, line: int | None = None) -> None:
        self.path = path
        self.line = line
        self.reason = reason
        where = str(path) if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {reason}")


class UnknownToolError(ToolSearchError, KeyError):
    """A name that the catalog does not have; `near` holds names that it may have meant."""

    def __init__(self, name: str, near: tuple[str, ...] = ()) -> None:
        self.name = name
        self.near = near
        hint = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
        super().__init__(f"Unknown tool {name!r}.{hint}")

    def __str__(self) -> str:
        # KeyError would print the repr of the message.
        return str(self.args[0])


class ToolCallError(ToolSearchError):
    """A tool call that failed; its text is meant for the model, so it holds no secrets."""


class ToolArgumentsError(ToolCallError, ValueError):
    """The arguments of a call were not accepted, so nothing ran.

    Attributes:
        tool: The tool's public name; empty where only the text of the arguments is known.
        problems: One sentence each: which argument, and why.
    """

    def __init__(self, tool: str, problems: tuple[str, ...]) -> None:
        self.tool = tool
        self.problems = problems
        of = f" of {tool!r}" if tool else ""
        super().__init__(
            f"The arguments{of} were not accepted and nothing was run. {' '.join(problems)} "
            "Call it again with corrected arguments."
        )


class ToolRetry(ToolCallError):  # noqa: N818 - it asks for something rather than telling of a fault
    """Raised by a tool to have the model try again; `message` tells the model what to do differently."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class ToolFailed(ToolCallError):  # noqa: N818 - named like `ToolRetry`, beside which it stands in user code
    """Raised by a tool that cannot do what was asked; `message` tells the model why."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class ToolTimeoutError(ToolFailed):
    """A call took longer than `timeout_s`; what it had begun may still be going on."""

    def __init__(self, tool: str, timeout_s: float) -> None:
        self.tool = tool
        self.timeout_s = timeout_s
        super().__init__(
            f"{tool!r} gave no result within {timeout_s:g} s. What it began may still take effect."
        )


class ToolResultError(ToolSearchError, TypeError):
    """A tool returned what cannot be sent to a model; `tool` names it."""

    def __init__(self, tool: str, reason: str) -> None:
        self.tool = tool
        self.reason = reason
        who = f"Tool {tool!r}" if tool else "A tool"
        super().__init__(
            f"{who} returned {reason}. Return text, JSON-like values or a ToolResult, "
            "or give the tool a result_converter."
        )
