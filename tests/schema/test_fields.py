"""`parameter_fields`: parameters as a flat list."""

from __future__ import annotations

from typing import Any

from toolsearch.schema import ParameterField, check_schema, parameter_fields


def test_parameters_come_in_order_with_descriptions_and_values() -> None:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": " Where. "},
            "unit": {"enum": ["c", "f", None, 1, True], "description": ""},
            "mode": {"const": "fast"},
        },
    }
    assert parameter_fields(schema) == [
        ParameterField("city", "Where."),
        ParameterField("unit", "", ("c", "f", "1", "true")),
        ParameterField("mode", "", ("fast",)),
    ]


def test_nested_parameters_follow_their_parent_with_dots() -> None:
    schema = {
        "type": "object",
        "properties": {
            "order": {"type": "object", "properties": {"id": {"type": "integer", "description": "Number."}}},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {}}}},
            "tags": {"type": "array", "items": {"enum": ["new", "old"]}},
        },
    }
    assert parameter_fields(schema) == [
        ParameterField("order"),
        ParameterField("order.id", "Number."),
        ParameterField("lines"),
        ParameterField("lines.sku"),
        ParameterField("tags", "", ("new", "old")),
    ]


def test_a_reference_is_followed_and_a_description_beside_it_comes_first() -> None:
    """(E29)"""
    schema = {
        "type": "object",
        "properties": {"o": {"$ref": "#/$defs/O", "description": "the order"}, "p": {"$ref": "#/$defs/O"}},
        "$defs": {"O": {"description": "an order", "properties": {"id": {"type": "integer"}}}},
    }
    assert parameter_fields(schema) == [
        ParameterField("o", "the order"),
        ParameterField("o.id"),
        ParameterField("p", "an order"),
        ParameterField("p.id"),
    ]


def test_alternatives_are_merged_under_one_name() -> None:
    schema = {
        "type": "object",
        "properties": {
            "to": {
                "anyOf": [
                    {"type": "string", "enum": ["me"]},
                    {"type": "object", "properties": {"mail": {"description": "Address."}}},
                    {"type": "object", "properties": {"mail": {"description": "Other."}, "name": {}}},
                ]
            }
        },
        "allOf": [{"properties": {"cc": {}}}],
    }
    assert parameter_fields(schema) == [
        ParameterField("to", "", ("me",)),
        ParameterField("to.mail", "Address."),
        ParameterField("to.name"),
        ParameterField("cc"),
    ]


def test_a_recursive_definition_is_followed_once() -> None:
    schema = {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}},
        "$defs": {
            "Node": {"properties": {"value": {}, "children": {"items": {"$ref": "#/$defs/Node"}}}},
        },
    }
    assert [field.name for field in parameter_fields(schema, max_depth=9)] == [
        "root",
        "root.value",
        "root.children",
    ]


def test_depth_is_limited() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {}}}
    for _ in range(6):
        schema = {"type": "object", "properties": {"a": schema}}
    assert [field.name for field in parameter_fields(schema, max_depth=3)] == ["a", "a.a", "a.a.a"]


def test_no_parameters_give_no_fields() -> None:
    assert parameter_fields({"type": "object", "properties": {}}) == []


def test_definitions_that_double_at_each_step_end_soon() -> None:
    definitions: dict[str, Any] = {"D0": {"type": "string"}}
    for i in range(1, 60):
        ref = {"$ref": f"#/$defs/D{i - 1}"}
        definitions[f"D{i}"] = {"anyOf": [ref, ref], "properties": {"a": ref, "b": ref}}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/D59"}}, "$defs": definitions}
    fields = parameter_fields(check_schema("t", schema).schema, max_depth=50)
    assert fields[0].name == "x"
    assert len(fields) <= 512
