"""What of a `ToolContext` a server is told: what is listed for it, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolsearch.tools import JsonObject, ToolContext

META_KEY = "toolsearch/context"


def shared_meta(context: ToolContext, parts: Sequence[str]) -> JsonObject | None:
    """The ``_meta`` of a call with these parts of its context; None where there is nothing to tell.

    What has no JSON form is left out.
    """
    told: JsonObject = {}
    for part in parts:
        value = _value(context, part)
        if value not in (None, ""):
            told[part.removeprefix("state.")] = value
    return {META_KEY: told} if told else None


def _value(context: ToolContext, part: str) -> Any:
    if not part.startswith("state."):
        return getattr(context, part)
    try:
        return to_jsonable_python(context.state.get(part.removeprefix("state.")))
    except PydanticSerializationError:
        return None
