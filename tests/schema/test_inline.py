"""`inline_refs`: the same schema without references."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolsearch.schema import check_schema, inline_refs


def test_a_description_beside_a_reference_survives() -> None:
    """(E29)"""
    schema = {
        "type": "object",
        "properties": {"o": {"$ref": "#/$defs/O", "description": "the order"}},
        "required": ["o"],
        "$defs": {"O": {"type": "object", "description": "any", "properties": {"id": {"type": "integer"}}}},
    }
    assert inline_refs(schema) == {
        "type": "object",
        "properties": {
            "o": {"type": "object", "description": "the order", "properties": {"id": {"type": "integer"}}}
        },
        "required": ["o"],
    }


def test_a_recursive_definition_is_cut_to_its_type_and_annotations() -> None:
    node = {
        "type": "object",
        "description": "a node",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
    }
    schema = {"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    assert inline_refs(schema) == {
        "type": "object",
        "properties": {
            "root": {
                "type": "object",
                "description": "a node",
                "properties": {
                    "children": {"type": "array", "items": {"type": "object", "description": "a node"}}
                },
            }
        },
    }


def test_a_reference_to_the_whole_schema_is_cut_after_one_round() -> None:
    schema = {"type": "object", "properties": {"and": {"type": "array", "items": {"$ref": "#"}}}}
    inner = inline_refs(schema)["properties"]["and"]["items"]
    assert inner == {
        "type": "object",
        "properties": {"and": {"type": "array", "items": {"type": "object"}}},
    }


def test_what_contradicts_the_target_is_joined_to_it() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/N", "minimum": 5, "title": "T"}},
        "$defs": {"N": {"type": "integer", "minimum": 1}},
    }
    assert inline_refs(schema)["properties"]["n"] == {
        "allOf": [{"type": "integer", "minimum": 1}, {"minimum": 5}],
        "title": "T",
    }


def test_definitions_that_double_at_each_step_stay_small() -> None:
    definitions: dict[str, Any] = {"D0": {"type": "string"}}
    for i in range(1, 40):
        ref = {"$ref": f"#/$defs/D{i - 1}"}
        definitions[f"D{i}"] = {"type": "object", "properties": {"a": ref, "b": ref}}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/D39"}}, "$defs": definitions}
    text = json.dumps(inline_refs(check_schema("t", schema).schema))
    assert "$ref" not in text
    assert len(text) < 3_000_000


def test_the_schema_that_was_given_is_left_alone() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/A"}]}},
        "$defs": {"A": {"type": "string"}},
    }
    before = json.dumps(schema)
    inline_refs(schema)
    assert json.dumps(schema) == before


NAMES = ("A", "B", "C")


def _part(later: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """A schema that refers only to later definitions, so that nothing is recursive."""
    leaves = st.fixed_dictionaries(
        {}, optional={"type": st.sampled_from(["string", "integer", "object"]), "minimum": st.integers(0, 3)}
    )
    refs = [
        st.fixed_dictionaries(
            {"$ref": st.just(f"#/$defs/{name}")},
            optional={"minimum": st.integers(0, 3), "description": st.just("beside")},
        )
        for name in later
    ]
    return st.recursive(
        st.one_of(leaves, *refs),
        lambda inner: st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "items": inner,
                "not": inner,
            },
        ),
        max_leaves=4,
    )


ACYCLIC = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(st.sampled_from("ab"), _part(NAMES), max_size=2),
        "$defs": st.fixed_dictionaries({name: _part(NAMES[i + 1 :]) for i, name in enumerate(NAMES)}),
    }
)
INSTANCES = st.recursive(
    st.integers(0, 4) | st.just("x"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(ACYCLIC, st.dictionaries(st.sampled_from("ab"), INSTANCES, max_size=2))
def test_without_recursion_the_same_arguments_are_valid(schema: dict[str, Any], arguments: Any) -> None:
    inlined = inline_refs(schema)
    assert "$ref" not in json.dumps(inlined)
    assert Draft202012Validator(inlined).is_valid(arguments) == Draft202012Validator(schema).is_valid(
        arguments
    )
