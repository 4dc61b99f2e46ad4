"""Values are checked against foreign schemas as the draft says, and no pattern takes long."""

import time
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from toolsearch.schema.patterns import bounded_validator, find_errors

OPEN: dict[str, Any] = {"patternProperties": {"^n_": {"type": "integer"}, "_s$": {"type": "string"}}}
SCHEMAS: list[dict[str, Any]] = [
    {"properties": {"code": {"pattern": "^[A-Z]{2}\\d+$"}, "many": {"items": {"pattern": "b"}}}},
    {"properties": {"code": {"pattern": "^(?!XX)[A-Z]+"}, "many": {"items": {"pattern": "(.)\\1"}}}},
    OPEN,
    {**OPEN, "properties": {"code": {}, "many": {}}, "additionalProperties": False},
    {**OPEN, "additionalProperties": {"type": "array"}},
    {"propertyNames": {"pattern": "^[a-z_]+$"}, "allOf": [OPEN]},
    {"properties": {"code": {}}, "unevaluatedProperties": False},
    {"properties": {"code": {}}, "additionalProperties": False},
]
VALUES: list[Any] = [
    {"code": "AB12", "many": ["abc", "b"]},
    {"code": "ab", "many": ["a", "aab", 5]},
    {"code": "XXL", "many": []},
    {"n_a": 1, "n_s": 2, "a_s": "x", "other": None},
    {"n_a": "x", "n_s": "x", "a_s": 3, "Other": []},
    {"code": 1, "é": 2},
    [],
    "text",
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values_are_judged_as_by_jsonschema(schema: dict[str, Any], value: Any) -> None:
    found = find_errors(bounded_validator(Draft202012Validator, schema), value)
    expected = list(Draft202012Validator(schema).iter_errors(value))
    assert sorted((e.json_path, str(e.validator)) for e in found) == sorted(
        (e.json_path, str(e.validator)) for e in expected
    )


TEXT = "a" * 26 + "!"


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(?=a)(a+)+$", "^(a|a)+$", "^(?!b)(a|a)*$", "^(a|a)+\\1$"])
@pytest.mark.parametrize("place", ["pattern", "patternProperties", "additionalProperties", "propertyNames"])
def test_no_pattern_takes_long(pattern: str, place: str) -> None:
    schemas: dict[str, dict[str, Any]] = {
        "pattern": {"items": {"pattern": pattern}},
        "patternProperties": {"patternProperties": {pattern: False}},
        "additionalProperties": {"patternProperties": {pattern: False}, "additionalProperties": False},
        "propertyNames": {"propertyNames": {"pattern": pattern}},
    }
    texts = [TEXT + str(n) for n in range(20)]
    validator = bounded_validator(Draft202012Validator, schemas[place])
    start = time.monotonic()
    errors = find_errors(validator, texts if place == "pattern" else dict.fromkeys(texts))
    assert time.monotonic() - start < 5
    assert bool(errors) == (place != "patternProperties") or "takes too long" in errors[0].message


def test_what_takes_too_long_is_an_error() -> None:
    schema = {"properties": {"q": {"pattern": "^(?!b)(a|a)*$"}}}
    (error,) = find_errors(bounded_validator(Draft202012Validator, schema), {"q": "a" * 60 + "!"})
    assert error.message == "It takes too long to compare a text of it with the pattern '^(?!b)(a|a)*$'"


def test_a_pattern_of_ecma_262_ends_where_the_text_ends() -> None:
    """(`re` would take a line break at the end.)"""
    validator = bounded_validator(Draft202012Validator, {"pattern": "^a$"})
    assert [bool(find_errors(validator, text)) for text in ("a", "a\n", "b")] == [False, True, True]


def test_unevaluated_properties_are_not_checked_beside_patterns() -> None:
    schema = {"allOf": [OPEN], "unevaluatedProperties": False}
    assert find_errors(bounded_validator(Draft202012Validator, schema), {"other": 1}) == []
