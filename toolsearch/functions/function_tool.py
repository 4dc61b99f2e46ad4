"""`FunctionTool`: a Python callable as a tool."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import FunctionType, MethodType
from typing import Any, Generic, Literal, ParamSpec, TypeVar

from toolsearch.exceptions import DefinitionError, ReservedNameError, UnresolvedTypeError
from toolsearch.functions.calling import FunctionCall, Invocation
from toolsearch.functions.docstrings import read_docstring
from toolsearch.functions.parameters import Parameters
from toolsearch.functions.signatures import first_is_receiver
from toolsearch.naming import RESERVED_NAMES, public_name
from toolsearch.tools import JsonObject, Tool

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True, repr=False)
class FunctionTool(Tool, Generic[P, R]):
    """A tool made from a callable; calling it calls that as ever.

    As a method it belongs to a class: taken from an object, it is the tool that is bound to that object.
    `input_schema` is built when it is first needed, since annotations may name classes that come later.

    Attributes:
        function: The callable; of a method taken from an object, the bound one.
        parameters: What it takes.
    """

    call: Invocation = field(compare=False, repr=False)
    function: Callable[P, R]
    parameters: Parameters = field(compare=False)
    binds: Literal["object", "class", "nothing"] = field(default="nothing", compare=False)

    @classmethod
    def of(
        cls,
        function: Callable[P, R] | classmethod[Any, P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        names: Callable[[], Mapping[str, Any]] = dict,
        result_converter: Callable[[Any], Any] | None = None,
        timeout_s: float | None = None,
        **stated: Any,
    ) -> FunctionTool[P, R]:
        """The tool of `function`; see `tool`. `names` gives what its annotations may name beside its globals.

        Raises:
            DefinitionError: no tool can be made of it.
        """
        inner, binds = _unwrapped(function)
        raw_name = name if name is not None else _name_of(inner)
        public = public_name(stated.get("source", ""), raw_name)
        if public in RESERVED_NAMES:
            raise ReservedNameError(public)
        if result_converter is None and _generates(inner):
            reason = "it is a generator. Return a list, or give a result_converter such as list."
            raise DefinitionError(public, reason)
        said = read_docstring(inner)
        parameters = Parameters(public, inner, descriptions=said.parameters, names=names)
        made = cls(
            raw_name=raw_name,
            description=said.description if description is None else description,
            call=FunctionCall(public, inner, parameters, result_converter, timeout_s),
            function=inner,
            parameters=parameters,
            binds=binds,
            timeout_s=timeout_s,
            **stated,
        )
        del vars(made)["input_schema"]
        made._check()
        return made

    def __post_init__(self) -> None:
        super().__post_init__()
        for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
            if hasattr(self.function, attribute):
                vars(self)[attribute] = getattr(self.function, attribute)
        vars(self)["__wrapped__"] = self.function

    @cached_property  # type: ignore[misc]
    def input_schema(self) -> JsonObject:
        return self.parameters.schema

    @cached_property
    def _method_parameters(self) -> Parameters:
        return self.parameters.of_method()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> FunctionTool[..., R]:
        if self.binds == "nothing" or (self.binds == "object" and instance is None):
            return self
        target = instance if self.binds == "object" else owner or type(instance)
        bound = MethodType(self.function, target)
        made: FunctionTool[..., R] = self._with(
            function=bound, parameters=self._method_parameters, binds="nothing"
        )
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, function={self.function!r})"

    def from_source(self, source: str) -> FunctionTool[P, R]:
        """The same tool under another source, hence another public name."""
        made: FunctionTool[P, R] = self._with(source=source)
        return made

    def _with(self, **changes: Any) -> Any:
        # dataclasses.replace would need the input schema, which may not be known yet.
        made = copy.copy(self)
        for derived in ("name", "definition", *(("input_schema",) if "parameters" in changes else ())):
            vars(made).pop(derived, None)
        vars(made).update(changes)
        made.__post_init__()
        if isinstance(made.call, FunctionCall):
            vars(made)["call"] = replace(
                made.call, tool=made.name, function=made.function, parameters=made.parameters
            )
        return made

    def _check(self) -> None:
        """Raise now what can be known now."""
        as_method = self.binds == "class" or (self.binds == "object" and first_is_receiver(self.function))
        with suppress(UnresolvedTypeError):
            _ = (self._method_parameters if as_method else self.parameters).schema
            self.parameters.forget_names()


def _unwrapped(function: Any) -> tuple[Any, Literal["object", "class", "nothing"]]:
    if isinstance(function, classmethod):
        return function.__func__, "class"
    if isinstance(function, staticmethod):
        return function.__func__, "nothing"
    if isinstance(function, FunctionTool):
        return function.function, function.binds
    if isinstance(function, FunctionType):
        return function, "object"
    if callable(function):
        return function, "nothing"
    raise DefinitionError(
        repr(function), "it cannot be called. Give a function, a method or a callable object."
    )


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", None)
    if name is None:
        return _name_of(function.func) if isinstance(function, partial) else type(function).__name__
    if name == "<lambda>":
        raise DefinitionError(name, "a lambda has no name of its own. Give it one with name=.")
    return str(name)


def _generates(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
