"""Older drafts of JSON Schema, from 3 on, under the keywords of draft 2020-12."""

from __future__ import annotations

import re
from typing import Any

from toolsearch.schema.keywords import subschemas
from toolsearch.schema.refs import Steps, json_path, put
from toolsearch.tools import JsonObject


def modernised(schema: JsonObject, notes: list[str], steps: Steps = ()) -> JsonObject:
    """The schema with all keywords under the names of today; adds a message to `notes` for each.

    A list of ``items`` becomes ``prefixItems``, a boolean ``exclusiveMinimum`` its number, ``dependencies``
    what each of them is. References are left alone; `modern_ref` finds those to what has moved.
    """
    result = dict(schema)
    if isinstance(result.get("items"), list):
        rest = result.pop("additionalItems", None)
        result["prefixItems"] = result.pop("items")
        if rest is not None:
            result["items"] = rest
        _note(notes, steps, "items", "a list is read as 'prefixItems'")
    for limit, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(result.get(limit), bool):
            if result.pop(limit) and bound in result:
                result[limit] = result.pop(bound)
            _note(notes, steps, limit, f"a boolean is read with {bound!r}")
    if isinstance(result.get("dependencies"), dict):
        for name, needs in result.pop("dependencies").items():
            keyword = "dependentRequired" if isinstance(needs, list) else "dependentSchemas"
            result[keyword] = {**_as_dict(result.get(keyword)), name: needs}
        _note(notes, steps, "dependencies", "read as 'dependentRequired' and 'dependentSchemas'")
    original = dict(result)
    for below, part in subschemas(original):
        if isinstance(part, dict):
            put(result, original, below, modernised(part, notes, steps + below))
    return result


def modern_ref(ref: str) -> str:
    """The JSON pointer to where `modernised` has put what `ref` pointed to."""
    ref = re.sub(r"/items/(?=\d+(?:/|$))", "/prefixItems/", ref)
    return ref.replace("/additionalItems", "/items").replace("/dependencies/", "/dependentSchemas/")


def _as_dict(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _note(notes: list[str], steps: Steps, keyword: str, text: str) -> None:
    notes.append(f"{json_path('$', *steps, keyword)}: {text}")
