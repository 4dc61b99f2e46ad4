"""Type names that tools in the wild write, and the JSON Schema types that they mean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from toolsearch.schema.keywords import TYPES


@dataclass(frozen=True)
class TypeMeaning:
    """What a ``type`` means: one type, several, or None for any; `known` is False for nonsense."""

    known: bool
    type: str | list[str] | None = None


def read_type(value: Any) -> TypeMeaning:
    """What was meant by `value` as a ``type``; case does not matter.

    Reads names of Python, Java, JavaScript, Go and Protocol Buffers, parametrised ones by their base
    (``List[str]`` is an array), unions of these (``string | null``) and lists.
    """
    if value is None:
        return _ANY
    if isinstance(value, list):
        return _union([_NULL if part is None else read_type(part) for part in value])
    if not isinstance(value, str):
        return _UNKNOWN
    word = value.strip().lower()
    if word in TYPES:
        return TypeMeaning(known=True, type=word)
    if word in _MEANINGS:
        return TypeMeaning(known=True, type=_MEANINGS[word])
    if word.endswith("[]") or _ARRAY_OF.match(word):
        return TypeMeaning(known=True, type="array")
    if wrapped := _OPTIONAL.fullmatch(word):
        return _union([read_type(wrapped[1]), _NULL])
    if wrapped := _UNION.fullmatch(word):
        return _union([read_type(part) for part in _split(wrapped[1])])
    if (base := _PARAMETRISED.fullmatch(word)) and (base[1] in _MEANINGS or base[1] in TYPES):
        return TypeMeaning(known=True, type=_MEANINGS.get(base[1], base[1]))
    parts = _ALTERNATIVES.split(word)
    if len(parts) > 1 and all(parts):
        return _union([read_type(part) for part in parts])
    return _UNKNOWN


_ANY = TypeMeaning(known=True)
_NULL = TypeMeaning(known=True, type="null")
_UNKNOWN = TypeMeaning(known=False)
_ARRAY_OF = re.compile(r"(array|list) of \w+")
_OPTIONAL = re.compile(r"optional\[(.+)\]")
_UNION = re.compile(r"union\[(.+)\]")
_PARAMETRISED = re.compile(r"(\w+)[\[<(].*[\])>]")
_ALTERNATIVES = re.compile(r"\s*\|\s*|\s*,\s*|\s+or\s+")


def _union(parts: list[TypeMeaning]) -> TypeMeaning:
    if not all(part.known for part in parts):
        return _UNKNOWN
    types: dict[str, None] = {}
    for part in parts:
        if part.type is None:
            return _ANY
        types.update(dict.fromkeys([part.type] if isinstance(part.type, str) else part.type))
    if not types:
        return _ANY
    return TypeMeaning(known=True, type=list(types) if len(types) > 1 else next(iter(types)))


def _split(text: str) -> list[str]:
    """`text` at its commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "[<(") - (character in "])>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


_MEANINGS: dict[str, str | None] = {
    "": None,
    "any": None,
    "enum": None,
    "mixed": None,
    "type_unspecified": None,
    "unknown": None,
    "bool": "boolean",
    "bigint": "integer",
    "byte": "integer",
    "int": "integer",
    "int32": "integer",
    "int64": "integer",
    "long": "integer",
    "short": "integer",
    "uint": "integer",
    "uint32": "integer",
    "uint64": "integer",
    "decimal": "number",
    "double": "number",
    "float": "number",
    "float32": "number",
    "float64": "number",
    "numeric": "number",
    "arraylist": "array",
    "frozenset": "array",
    "list": "array",
    "queue": "array",
    "sequence": "array",
    "set": "array",
    "stack": "array",
    "tuple": "array",
    "vector": "array",
    "dict": "object",
    "dictionary": "object",
    "hashmap": "object",
    "hashtable": "object",
    "json": "object",
    "map": "object",
    "mapping": "object",
    "record": "object",
    "struct": "object",
    "char": "string",
    "character": "string",
    "date": "string",
    "date-time": "string",
    "datetime": "string",
    "email": "string",
    "file": "string",
    "str": "string",
    "text": "string",
    "time": "string",
    "timestamp": "string",
    "uri": "string",
    "url": "string",
    "uuid": "string",
    "none": "null",
    "nonetype": "null",
    "undefined": "null",
    "void": "null",
}
