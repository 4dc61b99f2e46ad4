"""The JSON Schema of a pydantic model as models of language read it best: short, and without detours."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, NoReturn

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, SchemaValidator, core_schema

from toolsearch.schema.keywords import subschemas
from toolsearch.tools import JsonObject

_DEFINITION = "#/$defs/"


def input_schema_of(model: type[BaseModel]) -> JsonObject:
    """The input schema that `model` validates, under the names that arguments have on the wire.

    Titles that only repeat a name are left out, and a definition that is used once stands where it is used.

    Raises:
        PydanticInvalidForJsonSchema: some type has no JSON form.
    """
    schema = model.model_json_schema(by_alias=True, schema_generator=_Generator)
    schema.pop("title", None)
    schema.setdefault("properties", {})
    for name, definition in schema.get("$defs", {}).items():
        if definition.get("title") == name:
            del definition["title"]
    _inline_single_uses(schema)
    return {key: schema[key] for key in sorted(schema, key=_reading_order)}


class _Generator(GenerateJsonSchema):
    """Refuses what pydantic would describe, and then take nothing for, or something else."""

    # A default without JSON form leaves the argument optional, which is all that a model has to know.
    ignored_warning_kinds = {"non-serializable-default"}  # noqa: RUF012 - pydantic's own name and type

    def emit_warning(self, kind: Any, detail: str) -> None:
        if kind == "skipped-choice":
            raise PydanticInvalidForJsonSchema(detail)
        super().emit_warning(kind, detail)

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> NoReturn:
        del schema
        raise PydanticInvalidForJsonSchema("it holds a class, which no JSON is")

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> NoReturn:
        del schema
        raise PydanticInvalidForJsonSchema("it holds an iterable, which is checked only as the tool runs")

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonObject:
        return self._satisfiable(schema, super().enum_schema(schema))

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonObject:
        return self._satisfiable(schema, super().literal_schema(schema))

    def model_fields_schema(self, schema: core_schema.ModelFieldsSchema) -> JsonObject:
        return _with_all_of(len(schema["fields"]), super().model_fields_schema(schema))

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonObject:
        return _with_all_of(len(schema["fields"]), super().typed_dict_schema(schema))

    def dataclass_args_schema(self, schema: core_schema.DataclassArgsSchema) -> JsonObject:
        return _with_all_of(len(schema["fields"]), super().dataclass_args_schema(schema))

    def _satisfiable(self, schema: core_schema.CoreSchema, described: JsonObject) -> JsonObject:
        """`described` where each of the values that it lists is taken when it comes as JSON."""
        values = described["enum"] if "enum" in described else [described["const"]]
        if not values:
            raise PydanticInvalidForJsonSchema("it has no value at all")
        validator = SchemaValidator(schema)
        for value in values:
            try:
                validator.validate_json(json.dumps(value))
            except ValueError:
                raise PydanticInvalidForJsonSchema(f"no JSON is read as its value {value!r}") from None
        return described

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def encode_default(self, dft: Any) -> Any:
        encoded = super().encode_default(dft)
        try:
            json.dumps(encoded, allow_nan=False)
        except ValueError as exc:
            raise PydanticSerializationError(str(exc)) from exc
        return encoded


def _with_all_of(n_fields: int, described: JsonObject) -> JsonObject:
    if len(described["properties"]) < n_fields:
        raise PydanticInvalidForJsonSchema("two arguments have one name on the wire")
    return described


def _reading_order(key: str) -> int:
    order = ("type", "description", "properties", "required", "additionalProperties")
    return order.index(key) if key in order else len(order)


def _inline_single_uses(root: JsonObject) -> None:
    """Put every definition that one place outside of it refers to at that place, in `root` itself."""
    definitions = root.get("$defs", {})
    for schema in _schemas(root):
        # It maps values to definitions by their place, and is no JSON Schema.
        schema.pop("discriminator", None)
    for name in tuple(definitions):
        reference = f"{_DEFINITION}{name}"
        inner = [id(each) for each in _schemas(definitions[name]) if each.get("$ref") == reference]
        users = [each for each in _schemas(root) if each.get("$ref") == reference and id(each) not in inner]
        if len(users) != 1:
            continue
        (user,) = users
        del user["$ref"]
        target = copy.deepcopy(definitions[name]) if inner else definitions.pop(name)
        beside = dict(user)
        user.clear()
        user.update({**target, **beside})
    if not definitions:
        root.pop("$defs", None)


def _schemas(schema: JsonObject) -> Iterator[JsonObject]:
    yield schema
    for _, part in subschemas(schema):
        if isinstance(part, dict):
            yield from _schemas(part)
