"""The parameters of any callable, their annotations resolved."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from functools import partial
from typing import Any, ForwardRef

from typing_extensions import evaluate_forward_ref

from toolsearch.exceptions import DefinitionError, ParameterError, UnresolvedTypeError
from toolsearch.functions.annotations import checked_at_once, unaliased
from toolsearch.functions.frameworks import passed_by_framework
from toolsearch.functions.typed_dicts import readable_by_pydantic
from toolsearch.tools import ToolContext

NO_DEFAULT = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """A parameter that the model fills, or that takes the `ToolContext`."""

    name: str
    annotation: Any
    default: Any
    positional_only: bool
    takes_context: bool


def read_parameters(
    tool: str, function: Any, scope: Mapping[str, Any], *, bound_first: bool = False
) -> tuple[Parameter, ...]:
    """The parameters of `function` in order, without those that a `functools.partial` has bound.

    `scope` is what annotations may name. With `bound_first` the first parameter is left out, as an object
    takes it.

    Raises:
        ParameterError: a parameter takes any number of values, what a framework passes, or a `ToolContext`
            hidden in another type.
        UnresolvedTypeError: an annotation names a type that does not exist, perhaps only not yet.
        DefinitionError: there is no signature, or a method without its object.
    """
    try:
        signature = _signature(function)
    except NameError as exc:
        raise UnresolvedTypeError(tool, "", exc.name or str(exc)) from None
    except (TypeError, ValueError) as exc:
        reason = "its signature cannot be read. Wrap it in a Python function with annotations."
        raise DefinitionError(tool, reason) from exc
    parameters = list(signature.parameters.values())[int(bound_first) :]
    if parameters and not bound_first and _is_receiver(parameters[0]):
        reason = f"it is a method without its {parameters[0].name!r}. Take it from an object: thing.method."
        raise DefinitionError(tool, reason)
    bound = _bound_names(function)
    return tuple(_parameter(tool, each, scope) for each in parameters if each.name not in bound)


def first_is_receiver(function: Any) -> bool:
    """Whether the first parameter is the ``self`` or ``cls`` of a method."""
    try:
        parameters = _signature(function).parameters.values()
    except (NameError, TypeError, ValueError):
        return False
    return any(map(_is_receiver, list(parameters)[:1]))


def globals_of(function: Any) -> dict[str, Any]:
    """What annotations of `function` may name without importing it: the globals of where it was written.

    `ToolContext` is among them, as it is often imported for type checkers only.
    """
    return {"ToolContext": ToolContext, **getattr(defining_function(function), "__globals__", {})}


def defining_function(function: Any) -> Any:
    """The function that the signature of `function` comes from: inside of partials, methods and wrappers."""
    while True:
        if isinstance(function, partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.isclass(function):
            return function.__init__ if inspect.isfunction(function.__init__) else function.__new__
        elif inspect.isroutine(function):
            return function
        else:
            function = type(function).__call__


def _signature(function: Any) -> inspect.Signature:
    """The signature; from Python 3.14 on, names that do not exist (yet) are forward references in it."""
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.FORWARDREF)
    return inspect.signature(function)


def _bound_names(function: Any) -> frozenset[str]:
    # A keyword given to a partial stays in its signature, as a default that a caller may replace.
    return frozenset(function.keywords) if isinstance(function, partial) else frozenset()


def _is_receiver(parameter: inspect.Parameter) -> bool:
    return parameter.name in {"self", "cls"} and parameter.annotation is NO_DEFAULT


def _parameter(tool: str, parameter: inspect.Parameter, scope: Mapping[str, Any]) -> Parameter:
    if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
        shown = str(parameter).partition(":")[0]
        reason = f"{shown!r} takes any number of values. Take one list or dict instead."
        raise ParameterError(tool, parameter.name, reason)
    annotation = _resolved(tool, parameter, scope)
    if _is_of_attributes(annotation):
        reason = "ClassVar, Final and InitVar are for attributes. Annotate it with the type inside."
        raise ParameterError(tool, parameter.name, reason)
    if type_name := passed_by_framework(annotation):
        reason = (
            f"{type_name} is passed by that framework alone. Take toolsearch.ToolContext, or have the "
            "framework make the tool."
        )
        raise ParameterError(tool, parameter.name, reason)
    takes_context = annotation is ToolContext
    if not takes_context and _mentions_context(annotation):
        reason = "only a parameter of exactly the type ToolContext is given the context."
        raise ParameterError(tool, parameter.name, reason)
    return Parameter(
        name=parameter.name,
        annotation=annotation,
        default=parameter.default,
        positional_only=parameter.kind is parameter.POSITIONAL_ONLY,
        takes_context=takes_context,
    )


def _resolved(tool: str, parameter: inspect.Parameter, scope: Mapping[str, Any]) -> Any:
    annotation = parameter.annotation
    if annotation is NO_DEFAULT:
        return Any
    try:
        if isinstance(annotation, str):
            annotation = ForwardRef(annotation)
        if isinstance(annotation, ForwardRef):
            annotation = evaluate_forward_ref(annotation, globals=scope, locals={})
        if _names_types(annotation):
            annotation = _with_named_types(annotation, scope)
        return ToolContext if _is_context(annotation) else readable_by_pydantic(checked_at_once(annotation))
    except NameError as exc:
        raise UnresolvedTypeError(tool, parameter.name, exc.name or str(exc)) from None
    except (SyntaxError, TypeError, AttributeError) as exc:
        reason = f"its annotation {parameter.annotation!r} cannot be read: {exc}."
        raise ParameterError(tool, parameter.name, reason) from exc


def _names_types(annotation: Any) -> bool:
    """Whether there is the name of a type in it, as in ``Optional["ToolContext"]``."""
    if isinstance(annotation, str | ForwardRef):
        return True
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return False
    return any(map(_names_types, inside[:1] if origin is typing.Annotated else inside))


def _with_named_types(annotation: Any, scope: Mapping[str, Any]) -> Any:
    holder = type("Holder", (), {"__annotations__": {"it": annotation}})
    return typing.get_type_hints(holder, dict(scope), {}, include_extras=True)["it"]


def _is_of_attributes(annotation: Any) -> bool:
    """Whether pydantic would take this for something else than a field, and leave it out."""
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    kinds = (typing.ClassVar, typing.Final)
    return annotation in kinds or typing.get_origin(annotation) in kinds or isinstance(annotation, InitVar)


def _is_context(annotation: Any) -> bool:
    """Whether this is `ToolContext`, or that or None, annotated or not, under whatever name."""
    annotation = unaliased(annotation)
    if typing.get_origin(annotation) is typing.Annotated:
        return _is_context(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        members = [each for each in typing.get_args(annotation) if each is not types.NoneType]
        return len(members) == 1 and _is_context(members[0])
    return annotation is ToolContext


def _mentions_context(annotation: Any) -> bool:
    if isinstance(annotation, type) and typing.get_origin(annotation) is None:
        return issubclass(annotation, ToolContext)
    return any(_mentions_context(each) for each in typing.get_args(annotation))
