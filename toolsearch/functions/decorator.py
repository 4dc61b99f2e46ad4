"""`tool`: makes a tool of a Python callable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import FrameType, MethodType
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack, overload

from toolsearch.functions.function_tool import FunctionTool
from toolsearch.functions.signatures import defining_function

P = ParamSpec("P")
R = TypeVar("R")


class ToolOptions(TypedDict, total=False):
    """The options of `tool`, which says what they mean."""

    name: str | None
    description: str | None
    title: str
    source: str
    tags: Iterable[str]
    search_hint: str
    pinned: bool
    read_only: bool | None
    destructive: bool | None
    return_direct: bool
    result_converter: Callable[[Any], Any] | None
    timeout_s: float | None


@overload
def tool(
    function: Callable[P, R] | classmethod[Any, P, R],
    /,
    **options: Unpack[ToolOptions],
) -> FunctionTool[P, R]: ...


@overload
def tool(
    function: None = None,
    /,
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[P, R] | classmethod[Any, P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    title: str = "",
    source: str = "",
    tags: Iterable[str] = (),
    search_hint: str = "",
    pinned: bool = False,
    read_only: bool | None = None,
    destructive: bool | None = None,
    return_direct: bool = False,
    result_converter: Callable[[Any], Any] | None = None,
    timeout_s: float | None = None,
) -> Any:
    """The `FunctionTool` of `function`: a `Tool` that is still called like the function.

    Use it bare or with options, as a decorator of functions, async functions and methods, or as a function
    over anything callable: ``tool(account.close, name="close_account")``. Put it above ``@staticmethod`` and
    ``@classmethod``.

    Parameters are described by their annotations and by the docstring (Google, NumPy or reST style), or by
    ``Annotated[..., Field(description=...)]``, which wins. A parameter of type `ToolContext` is given the
    context of the call; the model neither sees nor sets it.

    Args:
        function: What to make a tool of; None for a decorator with options.
        name: Instead of the name of the function.
        description: Instead of what the docstring says of the whole.
        title, source, tags, search_hint, pinned, read_only, destructive, return_direct: As in `Tool`.
        result_converter: Turns what the function returned into what `to_result` takes; may be async.
        timeout_s: Seconds that a call may take, `math.inf` for any number; None leaves it to who runs it.

    Raises:
        ParameterError: no schema can describe some parameter.
        ReservedNameError: it would have the name of a built-in tool.
        DefinitionError: it is no callable, a generator, or has no name, or `timeout_s` is not more than 0.
    """
    options: dict[str, Any] = {
        "name": name,
        "description": description,
        "title": title,
        "source": source,
        "tags": tuple(tags),
        "search_hint": search_hint,
        "pinned": pinned,
        "read_only": read_only,
        "destructive": destructive,
        "return_direct": return_direct,
        "result_converter": result_converter,
        "timeout_s": timeout_s,
    }
    frame = sys._getframe(1)

    def make(target: Any) -> FunctionTool[..., Any]:
        if isinstance(target, MethodType) and isinstance(target.__func__, FunctionTool):
            # What Python 3.13 makes of @classmethod above @tool.
            target = target.__func__.__get__(target.__self__)
        return FunctionTool.of(target, names=_names_around(frame, target), **options)

    return make if function is None else make(function)


def _names_around(frame: FrameType, target: Any) -> Callable[[], Mapping[str, Any]]:
    """Local names where the tool is made, for annotations that are text, if `target` was written there."""
    inner = target.__func__ if isinstance(target, classmethod | staticmethod) else target
    if frame.f_locals is frame.f_globals:
        return dict
    if getattr(defining_function(inner), "__globals__", None) is not frame.f_globals:
        return dict

    def names() -> Mapping[str, Any]:
        # Asked again as long as some name is missing: a class may be defined further down.
        around: FrameType | None = frame
        scopes = []
        while around is not None:
            scopes.append(around.f_locals)
            around = around.f_back if _is_class_body(around) else None
        return {key: value for scope in reversed(scopes) for key, value in scope.items()}

    return names


def _is_class_body(frame: FrameType) -> bool:
    return "__module__" in frame.f_locals and "__qualname__" in frame.f_locals
