"""The keywords of JSON Schema draft 2020-12: where subschemas sit, and what every other value must be."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

MAX_DEPTH = 64
"""Levels of nesting that are read; real tools have up to ten."""

MAX_INTEGER_BITS = 14_284
"""Of an integer of 4,300 digits, the longest that Python writes and reads."""

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

SCHEMA_KEYWORDS = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
SCHEMA_LIST_KEYWORDS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MAP_KEYWORDS = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
IN_PLACE_KEYWORDS = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
"""Keywords whose subschemas apply to the same value as the schema around them."""


def subschemas(schema: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The path and value of each direct subschema, in the schema's order; malformed places are left out."""
    for keyword, value in schema.items():
        if keyword in SCHEMA_KEYWORDS:
            yield (keyword,), value
        elif keyword in SCHEMA_LIST_KEYWORDS and isinstance(value, list):
            for i, part in enumerate(value):
                yield (keyword, i), part
        elif keyword in SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            for name, part in value.items():
                yield (keyword, name), part


def is_text(value: Any) -> bool:
    """Whether this is a string that UTF-8 can carry, so without lone surrogates."""
    return type(value) is str and (value.isascii() or _encodes(value))


def is_json(value: Any, depth: int = 0) -> bool:
    """Whether JSON carries this value unchanged, nested at most `MAX_DEPTH` levels from `depth` 0."""
    kind = type(value)
    if kind is str:
        return is_text(value)
    if kind is bool or value is None:
        return True
    if kind is int:
        return _is_writable(value)
    if kind is float:
        return math.isfinite(value)
    if depth >= MAX_DEPTH:
        return False
    if kind is list:
        return all(is_json(part, depth + 1) for part in value)
    if kind is dict:
        return all(is_text(key) and is_json(part, depth + 1) for key, part in value.items())
    return False


def _is_writable(number: int) -> bool:
    return number.bit_length() <= MAX_INTEGER_BITS


def is_type(value: Any) -> bool:
    if type(value) is str:
        return value in TYPES
    return (
        type(value) is list
        and bool(value)
        and all(type(part) is str and part in TYPES for part in value)
        and len(set(value)) == len(value)
    )


def is_text_list(value: Any) -> bool:
    """Whether this is a list of distinct strings, such as `required`."""
    return type(value) is list and all(map(is_text, value)) and len(set(value)) == len(value)


@contextmanager
def quiet_regex() -> Iterator[None]:
    """Without the warnings of `re` about sets, such as ``[[a]``, that it may read otherwise one day."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@lru_cache(maxsize=4096)
def _compiles(pattern: str) -> bool:
    try:
        with quiet_regex():
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def is_regex(value: Any) -> bool:
    """Whether `re` can match with it; what only ECMA-262 knows, such as ``\\p{L}``, it cannot."""
    return is_text(value) and _compiles(value)


def is_number(value: Any) -> bool:
    kind = type(value)
    return (kind is int and _is_writable(value)) or (kind is float and math.isfinite(value))


def is_count(value: Any) -> bool:
    """Whether this is a whole number from 0; 2.0 is one, as the draft has it."""
    return is_number(value) and value >= 0 and value == int(value)


def _is_positive(value: Any) -> bool:
    return is_number(value) and value > 0


def _is_bool(value: Any) -> bool:
    return type(value) is bool


def _is_json_list(value: Any) -> bool:
    return type(value) is list and is_json(value)


def _is_text_list_map(value: Any) -> bool:
    return type(value) is dict and all(is_text(k) and is_text_list(v) for k, v in value.items())


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


VALUE_RULES: dict[str, Callable[[Any], bool]] = {
    "$comment": is_text,
    "const": is_json,
    "contentEncoding": is_text,
    "contentMediaType": is_text,
    "default": is_json,
    "dependentRequired": _is_text_list_map,
    "deprecated": _is_bool,
    "description": is_text,
    "enum": _is_json_list,
    "examples": _is_json_list,
    "exclusiveMaximum": is_number,
    "exclusiveMinimum": is_number,
    "format": is_text,
    "maxContains": is_count,
    "maxItems": is_count,
    "maxLength": is_count,
    "maxProperties": is_count,
    "maximum": is_number,
    "minContains": is_count,
    "minItems": is_count,
    "minLength": is_count,
    "minProperties": is_count,
    "minimum": is_number,
    "multipleOf": _is_positive,
    "pattern": is_regex,
    "readOnly": _is_bool,
    "required": is_text_list,
    "title": is_text,
    "type": is_type,
    "uniqueItems": _is_bool,
    "writeOnly": _is_bool,
}
"""Whether a value is what the draft's meta-schema wants of this keyword, for keywords without subschemas."""
