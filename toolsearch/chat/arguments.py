"""Arguments of a tool call as a provider takes them back.

A model may write arguments that are no JSON, or be cut off in the middle. Providers refuse a conversation
that holds such a call, so what goes out is always an object; the same text always gives the same object.
"""

from __future__ import annotations

import json
from typing import Any

from toolsearch.exceptions import ToolArgumentsError
from toolsearch.functions.arguments import parse_arguments, read_json
from toolsearch.tools import JsonObject

INVALID = "invalid_json"
"""The key under which text that is no JSON object goes out."""


def as_object(text: str) -> JsonObject:
    """The arguments that `text` holds, as `parse_arguments` reads them.

    Text that holds no object gives ``{"invalid_json": text}``.
    """
    try:
        return parse_arguments(text)
    except ToolArgumentsError:
        return {INVALID: text}


def as_text(text: str) -> str:
    """`text` as it is where it is a JSON object, else the JSON of `as_object`."""
    return text if isinstance(_parsed(text), dict) else compact(as_object(text))


def normal_text(text: str) -> str:
    """`text` written as `compact` would where it is a JSON object or blank, else as it is."""
    return compact(as_object(text)) if not text.strip() or is_complete(text) else text


def is_complete(text: str) -> bool:
    """Whether `text` is a whole JSON object."""
    return isinstance(_parsed(text), dict)


def compact(value: Any) -> str:
    """JSON without spaces, keys in their order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parsed(text: str) -> Any:
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return None
