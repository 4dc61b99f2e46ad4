"""`check_schema`: what is accepted as it is, what is mended, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from toolsearch.exceptions import SchemaError
from toolsearch.schema import check_schema
from toolsearch.schema.check import is_plain

META_SCHEMA = Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=FormatChecker(["regex"]))


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def mended_property(schema: Any) -> tuple[Any, tuple[str, ...]]:
    checked = check_schema("t", object_of(x=schema))
    return checked.schema["properties"]["x"], checked.mended


def test_a_usable_schema_comes_back_unchanged() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "enum": ["x", None], "pattern": "^x"},
            "b": {"anyOf": [{"type": "integer", "minimum": 0}, {"$ref": "#/$defs/B"}], "default": 1},
        },
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"B": {"type": "array", "items": {"$ref": "#/$defs/B"}}},
        "x-vendor": {"anything": [1, None]},
    }
    checked = check_schema("t", schema)
    assert checked.schema == schema
    assert checked.mended == ()


def test_an_object_without_properties_gets_an_empty_map() -> None:
    """(E27)"""
    checked = check_schema("now", {"type": "object"})
    assert checked.schema == {"type": "object", "properties": {}}
    assert checked.mended == ()


@pytest.mark.parametrize("stated", [None, []])
def test_null_and_an_empty_list_mean_no_arguments_and_are_reported(stated: Any) -> None:
    """(E34)"""
    checked = check_schema("t", stated)
    assert checked.schema == {"type": "object", "properties": {}}
    assert len(checked.mended) == 1


def test_the_dialect_is_dropped_and_null_required_is_reported() -> None:
    """(E32)"""
    checked = check_schema(
        "t",
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {},
            "additionalProperties": False,
            "required": None,
        },
    )
    assert checked.schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert checked.mended == ("$.required: null is left out",)


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = object_of(
        **{"$schema": {"type": "string"}, "type": {"type": "string"}, "$ref": {"type": "string"}}
    )
    assert check_schema("t", schema).schema == schema


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("dict", "object"),
        ("float", "number"),
        ("double", "number"),
        ("int", "integer"),
        ("str", "string"),
        ("bool", "boolean"),
        ("list", "array"),
        ("tuple", "array"),
        ("set", "array"),
        ("STRING", "string"),
        ("Integer", "integer"),
        ("HashMap", "object"),
        ("List[str]", "array"),
        ("array<string>", "array"),
        ("string[]", "array"),
        ("array of strings", "array"),
        ("string | null", ["string", "null"]),
        ("Optional[int]", ["integer", "null"]),
        ("Union[int, List[str]]", ["integer", "array"]),
        (["str", None], ["string", "null"]),
        (["string", "string"], "string"),
    ],
)
def test_pseudo_types_are_read_as_what_they_mean(written: Any, meant: Any) -> None:
    schema, mended = mended_property({"type": written, "description": "kept"})
    assert schema == {"type": meant, "description": "kept"}
    assert mended == (f"$.properties.x.type: {written!r} is read as {meant!r}",)


@pytest.mark.parametrize("written", ["any", "", "Any", ["string", "any"], None])
def test_any_type_is_no_type(written: Any) -> None:
    schema, mended = mended_property({"type": written})
    assert schema == {}
    assert mended[0].startswith("$.properties.x.type: ")


@pytest.mark.parametrize(
    ("place", "path"),
    [
        (lambda s: {**object_of(), "$defs": {"D": s}}, "$.$defs.D"),
        (lambda s: {**object_of(), "definitions": {"D": s}}, "$.definitions.D"),
        (lambda s: object_of(x={"items": s}), "$.properties.x.items"),
        (lambda s: object_of(x={"prefixItems": [True, s]}), "$.properties.x.prefixItems[1]"),
        (lambda s: object_of(x={"anyOf": [s]}), "$.properties.x.anyOf[0]"),
        (lambda s: object_of(x={"allOf": [s]}), "$.properties.x.allOf[0]"),
        (lambda s: object_of(x={"oneOf": [s]}), "$.properties.x.oneOf[0]"),
        (lambda s: object_of(x={"not": s}), "$.properties.x.not"),
        (lambda s: object_of(x={"additionalProperties": s}), "$.properties.x.additionalProperties"),
        (lambda s: object_of(x=object_of(**{"a b": s})), "$.properties.x.properties['a b']"),
    ],
)
def test_types_are_mended_at_any_depth_with_their_path(place: Any, path: str) -> None:
    checked = check_schema("t", place({"type": "float"}))
    assert checked.schema == check_schema("t", place({"type": "number"})).schema
    assert checked.mended == (f"{path}.type: 'float' is read as 'number'",)


def test_values_that_look_like_schemas_are_left_alone() -> None:
    value = {"type": "dict", "properties": None}
    schema = object_of(x={"default": value, "examples": [value], "const": value, "enum": [value]})
    assert check_schema("t", schema).schema == schema


def test_required_inside_properties_moves_to_the_object_around_them() -> None:
    checked = check_schema(
        "t",
        object_of(
            a={"type": "string", "required": True},
            b={"type": "string", "required": False},
            c={"type": "object", "properties": {"d": {"required": True}}, "required": ["e"]},
        ),
    )
    assert checked.schema == {
        **object_of(
            a={"type": "string"},
            b={"type": "string"},
            c={"type": "object", "properties": {"d": {}}, "required": ["e", "d"]},
        ),
        "required": ["a"],
    }
    assert "$.properties.a.required: moved to $.required" in checked.mended
    assert "$.properties.c.properties.d.required: moved to $.properties.c.required" in checked.mended


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"anyOf": [{"type": "string"}], "nullable": True},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
        (
            {"type": "array", "items": [{"type": "string"}], "additionalItems": False},
            {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        ),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"minimum": 1, "exclusiveMinimum": False}, {"minimum": 1}),
        ({"minLength": "3", "maximum": "1.5"}, {"minLength": 3, "maximum": 1.5}),
        ({"examples": "one"}, {"examples": ["one"]}),
        ({"uniqueItems": "true"}, {"uniqueItems": True}),
        ({"type": "array", "items": "string"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "object", "properties": []}, {"type": "object"}),
        ({"description": None, "format": None, "title": 7}, {}),
        ({"minLength": -1, "pattern": r"^\p{L}+$"}, {}),
        ({"patternProperties": {"[": {}, "^a": {}}}, {"patternProperties": {"^a": {}}}),
        ({"required": ["a", "a"]}, {"required": ["a"]}),
        ({"anyOf": []}, {}),
        (
            {
                "properties": {
                    "a": {"items": [{"type": "str"}]},
                    "b": {"$ref": "#/properties/x/properties/a/items/0"},
                }
            },
            {
                "properties": {
                    "a": {"prefixItems": [{"type": "string"}]},
                    "b": {"$ref": "#/properties/x/properties/a/prefixItems/0"},
                }
            },
        ),
        (
            {"dependencies": {"a": ["b"], "c": {"type": "object"}}},
            {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"type": "object"}}},
        ),
    ],
)
def test_slips_and_older_drafts_are_mended_and_reported(written: Any, meant: Any) -> None:
    schema, mended = mended_property(written)
    assert schema == meant
    assert mended
    assert all(message.startswith("$.properties.x.") for message in mended)


def test_lone_surrogates_are_replaced_and_reported() -> None:
    schema, mended = mended_property({"description": "half \ud83d pair"})
    assert schema == {"description": "half \ufffd pair"}
    assert mended == ("$: lone surrogates are replaced by U+FFFD",)


def test_references_by_id_and_anchor_become_pointers() -> None:
    checked = check_schema(
        "t",
        {
            "$id": "https://example.org/order",
            "type": "object",
            "properties": {
                "a": {"$ref": "#item"},
                "b": {"$ref": "https://example.org/order#/$defs/Item"},
                "c": {"$ref": "money"},
                "d": {"$recursiveRef": "#"},
            },
            "$defs": {
                "Item": {"$anchor": "item", "type": "object"},
                "Money": {
                    "$id": "money",
                    "properties": {"unit": {"$ref": "#/$defs/Unit"}},
                    "$defs": {"Unit": {"type": "string"}},
                },
            },
        },
    )
    properties = checked.schema["properties"]
    assert [properties[name]["$ref"] for name in "abcd"] == [
        "#/$defs/Item",
        "#/$defs/Item",
        "#/$defs/Money",
        "#",
    ]
    assert checked.schema["$defs"]["Money"]["properties"]["unit"] == {"$ref": "#/$defs/Money/$defs/Unit"}
    assert "$id" not in json.dumps(checked.schema)
    assert checked.mended == ()


def test_the_target_of_a_reference_in_the_root_is_read_in_its_place() -> None:
    checked = check_schema(
        "t",
        {
            "$ref": "#/definitions/Args",
            "definitions": {
                "Args": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
            },
        },
    )
    assert checked.schema["properties"] == {"a": {"type": "string"}}
    assert checked.schema["required"] == ["a"]
    assert "$ref" not in checked.schema


def test_definitions_outside_of_subschemas_are_mended_and_moved() -> None:
    checked = check_schema(
        "t",
        {
            **object_of(a={"$ref": "#/components/schemas/A"}),
            "components": {
                "schemas": {
                    "A": {"type": "dict", "properties": {"b": {"$ref": "#/components/schemas/B"}}},
                    "B": {"type": "str"},
                }
            },
        },
    )
    assert checked.schema["properties"]["a"] == {"$ref": "#/$defs/A"}
    assert checked.schema["$defs"] == {
        "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
        "B": {"type": "string"},
    }


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("oops", "must be a JSON object, not 'oops'"),
        (True, "must be a JSON object"),
        ([{"name": "a"}], "must be a JSON object"),
        ({"type": "string"}, "$.type: arguments are an object, not 'string'"),
        (object_of(x={"type": "wibble"}), "$.properties.x.type: unknown type 'wibble'"),
        (object_of(x=7), "$.properties.x: must be a schema, not a number"),
        ({"type": "object", "properties": "a, b"}, "$.properties: must be an object of schemas"),
        (object_of(x={"anyOf": {"type": "string"}}), "$.properties.x.anyOf: must be a list of schemas"),
        (object_of(x={"enum": "a,b"}), "$.properties.x.enum: 'a,b' cannot be meant here"),
        (object_of(x={"$ref": "#/$defs/Missing"}), "$.properties.x.$ref: '#/$defs/Missing' leads nowhere"),
        (object_of(x={"$ref": "#missing"}), "'#missing' leads nowhere"),
        (object_of(x={"$ref": "https://example.org/s.json"}), "'https://example.org/s.json' is outside"),
        (object_of(x={"$ref": "other.json#/a"}), "'other.json#/a' is outside"),
        (object_of(x={"$ref": 5}), "$.properties.x.$ref: a reference must be a string"),
        ({**object_of(), "$defs": {"A": {"$ref": "#/$defs/A"}}}, "'#/$defs/A' leads back to itself"),
        (
            {**object_of(), "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/B"}]}, "B": {"$ref": "#/$defs/A"}}},
            "leads back to itself",
        ),
        ({"$ref": "http://[x#/a"}, "$.$ref: 'http://[x#/a' is no URI"),
        (object_of(x={"$ref": "//["}), "$.properties.x.$ref: '//[' is outside"),
        ({"$id": "http://[bad", **object_of(x={"$ref": "#/a"})}, "$.properties.x.$ref: '#/a' is no URI"),
        ({"$id": "http://a", **object_of(x={"$id": "//["})}, "$.properties.x.$id: '//[' is no URI"),
        ({"$id": "http://[bad", **object_of(x={"$id": "b"})}, "$.properties.x.$id: 'b' is no URI"),
        ({"$id": "http://a", **object_of(x={"$dynamicRef": "//["})}, "'//[' is no URI"),
        ({"anyOf": [{}], "$ref": f"#/anyOf/{'9' * 5000}"}, "$.$ref: '#/anyOf/9999"),
        ({"anyOf": [{}], **object_of(x={"$ref": f"#/anyOf/{'9' * 5000}"})}, "$.properties.x.$ref: "),
        ({**object_of(), "$ref": "#"}, "$.$ref: '#' leads back to itself"),
        (object_of(x={"maximum": 10**5000}), "it is not JSON"),
        (object_of(x={"default": [{"a": -(10**5000)}]}), "it is not JSON"),
        (object_of(x={"default": float("nan")}), "it is not JSON"),
        (object_of(x={"default": {1, 2}}), "it is not JSON"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_path(schema: Any, reason: str) -> None:
    with pytest.raises(SchemaError) as caught:
        check_schema("the_tool", schema)
    assert caught.value.tool == "the_tool"
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_pattern_that_python_may_read_otherwise_one_day_is_no_warning() -> None:
    schema = object_of(x={"type": "string", "pattern": "[[a]||b"}, y={"type": "str", "pattern": "[[a]&&b"})
    assert check_schema("t", schema).schema["properties"]["x"] == schema["properties"]["x"]


@pytest.mark.parametrize("levels", [65, 400, 100_000])
def test_nesting_has_an_end(levels: int) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError, match="nested"):
        check_schema("t", {"type": "object", "properties": {"x": schema}})


def test_sixty_levels_are_read() -> None:
    schema: dict[str, Any] = {"type": "str"}
    for _ in range(60):
        schema = {"type": "array", "items": schema}
    assert len(check_schema("t", object_of(x=schema)).mended) == 1


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["", "a", "#", "["]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=4,
)
TYPE_NAMES = st.sampled_from(
    ["string", "object", "array", "integer", "null", "dict", "any", "STRING", "wibble"]
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "type": TYPE_NAMES | st.lists(TYPE_NAMES, max_size=3),
    "required": st.lists(st.sampled_from("abc"), max_size=3) | st.booleans(),
    "enum": st.lists(JSON_VALUES, max_size=3),
    "const": JSON_VALUES,
    "default": JSON_VALUES,
    "examples": JSON_VALUES,
    "description": st.text(max_size=3),
    "pattern": st.sampled_from(["^a", "[", r"\p{L}"]),
    "minLength": st.integers(-1, 3) | st.sampled_from([2.0, 2.5, "3", True]),
    "multipleOf": st.sampled_from([0, 0.5, 2, "2"]),
    "exclusiveMinimum": st.integers() | st.booleans(),
    "minimum": st.floats(-2, 2),
    "uniqueItems": st.booleans() | st.just("true"),
    "dependentRequired": st.dictionaries(st.sampled_from("ab"), st.lists(st.sampled_from("ab"), max_size=2)),
    "dependencies": st.just({"a": ["b"]}),
    "nullable": st.booleans(),
    "$ref": st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#x", "http://a/b"]),
    "$id": st.just("http://a/b"),
    "$anchor": st.just("x"),
    "$schema": st.just("https://json-schema.org/draft/2020-12/schema"),
    "x-unknown": JSON_VALUES,
}


def _with_subschemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    maps = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    lists = st.lists(inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            **VALUES,
            "properties": maps,
            "$defs": maps,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "["]), inner, max_size=2),
            "items": inner | lists,
            "anyOf": lists,
            "allOf": lists,
            "prefixItems": lists,
            "additionalProperties": inner,
            "not": inner,
        },
    )


SUBSCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.none() | st.fixed_dictionaries({}, optional={**VALUES}), _with_subschemas, max_leaves=6
)
SCHEMAS = _with_subschemas(SUBSCHEMAS)


def _valid(keyword: str) -> st.SearchStrategy[Any]:
    return VALUES[keyword].filter(lambda value: META_SCHEMA.is_valid({keyword: value}))


READ_CLOSELY = {"dependencies", "nullable", "$ref", "$id", "$anchor", "$schema"}
VALID_VALUES = {keyword: _valid(keyword) for keyword in sorted(VALUES.keys() - READ_CLOSELY)}


@settings(max_examples=100, derandomize=True, deadline=None)
@given(SCHEMAS)
def test_the_fast_verdict_is_that_of_the_meta_schema(schema: Any) -> None:
    if is_plain(schema):
        assert META_SCHEMA.is_valid(schema)
        assert check_schema("t", {**schema, "type": "object"}).mended == ()


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.fixed_dictionaries({}, optional=VALID_VALUES), st.sampled_from(sorted(VALID_VALUES)), st.data())
def test_single_keywords_are_plain_exactly_when_the_meta_schema_takes_them(
    schema: dict[str, Any], keyword: str, data: st.DataObject
) -> None:
    assert is_plain(schema)
    changed = {**schema, keyword: data.draw(VALUES[keyword] | JSON_VALUES)}
    assert is_plain(changed) == META_SCHEMA.is_valid(changed)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(SCHEMAS)
def test_whatever_is_accepted_passes_the_meta_schema_and_needs_no_more_mending(schema: Any) -> None:
    try:
        checked = check_schema("t", schema)
    except SchemaError:
        return
    META_SCHEMA.validate(checked.schema)
    assert checked.schema["type"] == "object"
    assert isinstance(checked.schema["properties"], dict)
    again = check_schema("t", checked.schema)
    assert again.schema == checked.schema
    assert again.mended == ()
    # References all resolve: an instance can be checked against the schema.
    Draft202012Validator(checked.schema).is_valid({"a": [{"b": 1}], "b": {"a": "a"}, "c": None})
