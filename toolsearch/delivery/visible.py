"""Texts of tools without the characters that a model reads and a person does not see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolsearch.schema.keywords import SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS
from toolsearch.tools import JsonObject

# A flag such as that of Wales is a black flag, letters as tags, and a cancel tag.
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,6}\U000e007f")
HIDING: Mapping[str, re.Pattern[str]] = {
    "tag characters": re.compile("[\U000e0000-\U000e007f]+"),
    "a bidirectional override": re.compile("[\u202d\u202e]"),
    "a row of variation selectors": re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"),
    "a terminal escape": re.compile("\x1b"),
}
"""What hides other text, or hides itself and is text. Not all of it does: see `hiding_places`."""

# Marks that only right-to-left text needs.
_BIDI = re.compile("[\u202a-\u202c\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
# Joiners (U+200C, U+200D) and direction marks are left out: Persian, Indic scripts and emoji need them.
INVISIBLE = re.compile(
    "[\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0]|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)
"""Single characters that show as nothing."""

_ANNOTATIONS = frozenset({"title", "description", "$comment"})


def hiding_places(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """(what it is, where) for each place of `text` that hides something; flags and Arabic do not."""
    flags = [match.span() for match in _FLAG.finditer(text)]
    for what, pattern in HIDING.items():
        for match in pattern.finditer(text):
            if not any(start <= match.start() < end for start, end in flags):
                yield what, match
    if not _RIGHT_TO_LEFT.search(text):
        for match in _BIDI.finditer(text):
            yield "a bidirectional control in left-to-right text", match


def visible(text: str) -> str:
    """`text` without what `hiding_places` and `INVISIBLE` find in it."""
    if text.isascii() and text.isprintable():
        return text
    text = INVISIBLE.sub("", text)
    # What stood apart may hide something together.
    while hidden := {place for _, match in hiding_places(text) for place in range(*match.span())}:
        text = "".join(character for place, character in enumerate(text) if place not in hidden)
    return text


def visible_schema(schema: JsonObject) -> str:
    """The JSON of an input schema, `visible` in titles and descriptions; names and values stay."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    if text.isascii() and "\\u" not in text:
        return text
    return json.dumps(_annotated(schema), ensure_ascii=False, separators=(",", ":"))


def _annotated(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    out: JsonObject = {}
    for keyword, value in schema.items():
        if keyword in _ANNOTATIONS and isinstance(value, str):
            out[keyword] = visible(value)
        elif keyword in SCHEMA_KEYWORDS:
            out[keyword] = _annotated(value)
        elif keyword in SCHEMA_LIST_KEYWORDS and isinstance(value, list):
            out[keyword] = [_annotated(part) for part in value]
        elif keyword in SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            out[keyword] = {name: _annotated(part) for name, part in value.items()}
        else:
            out[keyword] = value
    return out
