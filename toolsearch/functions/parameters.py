"""`Parameters`: the parameters of a function as an input schema, and arguments checked against them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo

from toolsearch.exceptions import ParameterError, ToolArgumentsError, UnresolvedTypeError
from toolsearch.functions.problems import problems_of
from toolsearch.functions.schemas import input_schema_of
from toolsearch.functions.signatures import NO_DEFAULT, Parameter, globals_of, read_parameters
from toolsearch.tools import JsonObject, ToolContext

_CONFIG = ConfigDict(extra="forbid", protected_namespaces=())

_NO_SCHEMA = (PydanticUserError, TypeError, ValueError, NotImplementedError)
"""What pydantic raises for types of which it makes no schema."""


class Parameters:
    """The parameters of a function; read when they are first needed, since a type may be defined later."""

    def __init__(
        self,
        tool: str,
        function: Callable[..., Any],
        *,
        descriptions: Mapping[str, str],
        names: Callable[[], Mapping[str, Any]] = dict,
        bound_first: bool = False,
    ) -> None:
        """`names` gives what annotations may name beside the globals of `function`.

        With `bound_first` the first parameter is left out, as an object takes it.
        """
        self._tool = tool
        self._function = function
        self._descriptions = descriptions
        self._names = names
        self._bound_first = bound_first
        self._read: _Read | None = None

    @property
    def schema(self) -> JsonObject:
        """The input schema.

        Raises:
            ParameterError: no schema can describe some parameter.
        """
        return self._reading().schema

    def bind(
        self, tool: str, arguments: JsonObject, context: ToolContext
    ) -> tuple[list[Any], dict[str, Any]]:
        """What to call the function with: values by position, and by name.

        Arguments are checked and converted to what the annotations say. The function's own defaults stay
        with it. `tool` is named in errors.

        Raises:
            ToolArgumentsError: some argument is missing, unknown or of another type; lists all of them.
        """
        read = self._reading()
        try:
            # As JSON, so that even strict models read dates and the like from what stands for them there.
            values = read.model.model_validate_json(json.dumps(arguments))
        except ValidationError as exc:
            raise ToolArgumentsError(
                tool, problems_of(exc, arguments, tuple(read.schema["properties"]))
            ) from exc
        by_position: list[Any] = []
        by_name: dict[str, Any] = {}
        for key, parameter in read.parameters.items():
            if parameter.takes_context:
                value = context
            elif key in values.model_fields_set or not _has_own_default(parameter):
                value = getattr(values, key)
            elif parameter.positional_only:
                value = parameter.default
            else:
                continue
            if parameter.positional_only:
                by_position.append(value)
            else:
                by_name[parameter.name] = value
        return by_position, by_name

    def of_method(self) -> Parameters:
        """The same where an object takes the first parameter."""
        return Parameters(
            self._tool, self._function, descriptions=self._descriptions, names=self._names, bound_first=True
        )

    def forget_names(self) -> None:
        """Let go of what annotations may name, which may be every variable around the tool."""
        self._names = dict

    def _reading(self) -> _Read:
        if self._read is None:
            scope = {**globals_of(self._function), **self._names()}
            parameters = read_parameters(self._tool, self._function, scope, bound_first=self._bound_first)
            self._read = _read(self._tool, parameters, self._descriptions, scope)
            self.forget_names()
        return self._read


@dataclass(frozen=True)
class _Read:
    model: type[BaseModel]
    schema: JsonObject
    parameters: Mapping[str, Parameter]


def _read(
    tool: str, parameters: Sequence[Parameter], descriptions: Mapping[str, str], scope: Mapping[str, Any]
) -> _Read:
    # Fields get names of their own: pydantic drops those that begin with an underscore, and some are taken.
    keyed = {f"p{i}": parameter for i, parameter in enumerate(parameters)}
    fields = {
        key: _field(parameter, descriptions.get(parameter.name))
        for key, parameter in keyed.items()
        if not parameter.takes_context
    }
    try:
        model = _model(fields, scope)
        schema = input_schema_of(model)
    except PydanticUndefinedAnnotation as exc:
        culprit = _culprit(keyed, fields, scope)
        raise UnresolvedTypeError(tool, culprit, exc.name or str(exc)) from None
    except _NO_SCHEMA as exc:
        cause = getattr(exc, "message", str(exc)).partition(". ")[0].partition("\n")[0]
        reason = f"no schema can describe it: {cause}. Annotate it with a type that JSON has."
        raise ParameterError(tool, _culprit(keyed, fields, scope), reason) from exc
    return _Read(model, schema, keyed)


def _field(parameter: Parameter, description: str | None) -> tuple[Any, Any]:
    """The annotation and the default for pydantic; what the annotation says of the field wins."""
    said = FieldInfo.from_annotation(parameter.annotation)
    given = parameter.default if isinstance(parameter.default, FieldInfo) else said
    alias = _alias(given) or _alias(said) or parameter.name
    described = said.description or description
    field = Field(alias=alias, validation_alias=alias, description=described)
    default = _stated_default(said) if parameter.default is NO_DEFAULT else parameter.default
    return Annotated[parameter.annotation, field], default


def _stated_default(said: FieldInfo) -> Any:
    if said.default_factory is not None:
        return Field(default_factory=said.default_factory)
    return ... if said.is_required() else said.default


def _alias(said: FieldInfo) -> str:
    """The name on the wire; of several the first, as in the schema."""
    validated = said.validation_alias
    names = validated.choices if isinstance(validated, AliasChoices) else [validated]
    return next((name for name in names if isinstance(name, str)), said.alias or "")


def _has_own_default(parameter: Parameter) -> bool:
    return parameter.default is not NO_DEFAULT and not isinstance(parameter.default, FieldInfo)


def _model(fields: Mapping[str, tuple[Any, Any]], scope: Mapping[str, Any]) -> type[BaseModel]:
    model: type[BaseModel] = create_model("Arguments", __config__=_CONFIG, **dict(fields))  # type: ignore[call-overload]
    model.model_rebuild(_types_namespace=scope)
    return model


def _culprit(
    parameters: Mapping[str, Parameter], fields: Mapping[str, tuple[Any, Any]], scope: Mapping[str, Any]
) -> str:
    """The name of the first parameter that fails on its own; empty where all of them together do."""
    for key, field in fields.items():
        try:
            input_schema_of(_model({key: field}, scope))
        except (PydanticUndefinedAnnotation, *_NO_SCHEMA):
            return parameters[key].name
    return ""
