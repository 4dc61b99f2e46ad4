"""Parameters that agent frameworks fill in tools of their own, and nobody else can."""

from __future__ import annotations

import types
import typing
from typing import Any

from toolsearch.functions.annotations import unaliased

_PASSED = {
    ("pydantic_ai", "RunContext"),
    ("agents", "RunContextWrapper"),
    ("langchain_core", "InjectedToolArg"),
    ("langchain_core", "_DirectlyInjectedToolArg"),
    ("langchain_core", "RunManagerMixin"),
    ("langchain_core", "RunnableConfig"),
    ("langgraph", "Runtime"),
    ("mcp", "Context"),
    ("fastmcp", "Context"),
    ("workflows", "Context"),
}
"""Package and class, which stand for what is derived from it, too."""


def passed_by_framework(annotation: Any) -> str:
    """Which type of which package says in `annotation` that a framework is to pass the value; else empty.

    Such as ``RunContext[Shop]``, ``ToolRuntime | None``, ``Annotated[dict, InjectedState]``.
    """
    annotation = unaliased(annotation)
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        parts = (inside[0], *map(_class_of, annotation.__metadata__))
    elif origin in {typing.Union, types.UnionType}:
        parts = inside
    else:
        return _passed_class(origin or annotation)
    return next(filter(None, map(passed_by_framework, parts)), "")


def _class_of(value: Any) -> Any:
    return value if isinstance(value, type) else type(value)


def _passed_class(kind: Any) -> str:
    for each in getattr(kind, "__mro__", ()):
        package = each.__module__.partition(".")[0]
        if (package, each.__name__) in _PASSED:
            return f"{kind.__name__} of {kind.__module__.partition('.')[0]}"
    return ""
