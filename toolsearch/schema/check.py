"""`check_schema`: the input schema of a tool as a draft 2020-12 schema of type object, or a `SchemaError`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from toolsearch.checks import brief
from toolsearch.exceptions import SchemaError
from toolsearch.schema.drafts import modernised
from toolsearch.schema.keywords import (
    MAX_DEPTH,
    SCHEMA_KEYWORDS,
    SCHEMA_LIST_KEYWORDS,
    SCHEMA_MAP_KEYWORDS,
    VALUE_RULES,
    is_json,
    is_regex,
    is_text,
    quiet_regex,
)
from toolsearch.schema.mend import mend
from toolsearch.schema.refs import localise, target_of, unending_ref, unusable
from toolsearch.tools import JsonObject, empty_schema

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


@dataclass(frozen=True)
class CheckedSchema:
    """A schema that can be used, and what had to be changed for that.

    Attributes:
        schema: Of type ``object``, with ``properties``, without ``$schema`` and ``$id``; passes the
            meta-schema of draft 2020-12; every ``$ref`` is a JSON pointer into it that resolves. May
            share parts with what was checked.
        mended: One message a change, each with its JSON path, such as
            ``$.properties.unit.type: 'dict' is read as 'object'``.
    """

    schema: JsonObject
    mended: tuple[str, ...] = ()


def check_schema(tool_name: str, schema: Any) -> CheckedSchema:
    """The input schema of `tool_name`, checked as draft 2020-12, with common slips mended and reported.

    None, meaning that the source states nothing or null, is the schema of a tool without arguments.
    Mended are, at any depth: pseudo types (``dict``, ``float``, ``STRING``), null where a keyword wants a
    value, ``required: true`` inside a property, ``nullable``, keywords of older drafts, and limits or
    annotations with a value that cannot be meant, which are dropped. Structure is never guessed.

    Raises:
        SchemaError: what cannot be mended, with its JSON path: no object, an unknown type, a ``$ref`` that
            leads nowhere, outside or to itself, or nesting beyond 64 levels.
    """
    if schema is None:
        return CheckedSchema(empty_schema(), ("$: null is read as no arguments",))
    if schema == []:
        return CheckedSchema(empty_schema(), ("$: an empty list is read as no arguments",))
    if not isinstance(schema, dict):
        raise SchemaError(tool_name, f"its input schema must be a JSON object, not {brief(schema)}.")
    if "$schema" in schema:
        schema = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
    if schema.get("type") == "object" and is_plain(schema):
        return CheckedSchema(schema if "properties" in schema else {**schema, "properties": {}})
    return _checked_slowly(tool_name, schema)


def is_plain(schema: JsonObject) -> bool:
    """Whether the schema passes the meta-schema and has nothing to mend, found without the meta-schema.

    False only says that it has to be looked at closely.
    """
    refs: list[str] = []
    if not _is_plain_part(schema, 0, refs):
        return False
    if not all(_is_plain_ref(schema, ref) for ref in refs):
        return False
    try:
        return not refs or unending_ref(schema) is None
    except RecursionError:
        return False


# These say how to read other parts of the schema, or belong to older drafts.
_CLOSE_LOOK = frozenset(
    {
        "$anchor",
        "$dynamicAnchor",
        "$dynamicRef",
        "$id",
        "$recursiveAnchor",
        "$recursiveRef",
        "$schema",
        "$vocabulary",
        "additionalItems",
        "dependencies",
        "nullable",
    }
)
_PLAIN_REF = re.compile(r"#(?:/(?:\$defs|definitions)/[\w.-]+)?", re.ASCII)


def _is_plain_part(schema: JsonObject, depth: int, refs: list[str]) -> bool:
    if depth > MAX_DEPTH:
        return False
    for keyword, value in schema.items():
        rule = VALUE_RULES.get(keyword)
        if rule is not None:
            if not rule(value):
                return False
        elif keyword in SCHEMA_MAP_KEYWORDS:
            names_fit = is_regex if keyword == "patternProperties" else is_text
            if type(value) is not dict or not all(map(names_fit, value)):
                return False
            if not all(_is_plain_child(part, depth, refs) for part in value.values()):
                return False
        elif keyword in SCHEMA_KEYWORDS:
            if not _is_plain_child(value, depth, refs):
                return False
        elif keyword in SCHEMA_LIST_KEYWORDS:
            if type(value) is not list or not value:
                return False
            if not all(_is_plain_child(part, depth, refs) for part in value):
                return False
        elif keyword == "$ref":
            if type(value) is not str:
                return False
            refs.append(value)
        elif keyword in _CLOSE_LOOK or not is_text(keyword) or not is_json(value, depth):
            return False
    return True


def _is_plain_child(part: Any, depth: int, refs: list[str]) -> bool:
    return type(part) is bool or (type(part) is dict and _is_plain_part(part, depth + 1, refs))


def _is_plain_ref(root: JsonObject, ref: str) -> bool:
    return _PLAIN_REF.fullmatch(ref) is not None and target_of(root, ref) is not None


def _checked_slowly(tool_name: str, schema: JsonObject) -> CheckedSchema:
    try:
        whole, mended = _as_json(tool_name, schema)
        whole = localise(tool_name, modernised(whole, mended))
        result = mend(tool_name, whole, mended)
        _refuse_what_is_left(tool_name, result)
    except RecursionError:
        raise unusable(tool_name, "$", "it is nested too deeply") from None
    return CheckedSchema(result, tuple(mended))


_SURROGATE = re.compile("[\ud800-\udfff]")


def _as_json(tool_name: str, schema: JsonObject) -> tuple[JsonObject, list[str]]:
    """A deep copy with nothing in it that JSON over UTF-8 cannot carry, and what was changed for it."""
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False)
        text, n_replaced = _SURROGATE.subn("\ufffd", text)
        copy = json.loads(text)
    except (TypeError, ValueError) as exc:
        raise unusable(tool_name, "$", f"it is not JSON ({exc})") from exc
    return copy, ["$: lone surrogates are replaced by U+FFFD"] * bool(n_replaced)


def _refuse_what_is_left(tool_name: str, schema: JsonObject) -> None:
    from jsonschema.exceptions import best_match

    with quiet_regex():
        error = best_match(_meta_validator().iter_errors(schema))
    if error is not None:
        raise unusable(tool_name, error.json_path, error.message)


@cache
def _meta_validator() -> Validator:
    from jsonschema import Draft202012Validator, FormatChecker

    # What other formats are asserted depends on which packages happen to be installed.
    return Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=FormatChecker(["regex"]))
