"""What pydantic found wrong with arguments, in sentences for the model that wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from toolsearch.checks import brief
from toolsearch.tools import JsonObject

_MOST = 8


def problems_of(error: ValidationError, arguments: JsonObject, known: Sequence[str]) -> tuple[str, ...]:
    """One sentence a problem, each naming its argument; `known` are the arguments that the tool takes."""
    found = error.errors(include_url=False, include_context=False)
    problems = tuple(dict.fromkeys(_sentence(each, arguments, known) for each in found))
    if len(problems) <= _MOST:
        return problems
    return (*problems[:_MOST], f"{len(problems) - _MOST} more problems.")


def _sentence(problem: Any, arguments: JsonObject, known: Sequence[str]) -> str:
    path = _path(problem["loc"], arguments, ends_missing=problem["type"] == "missing")
    if problem["type"] == "missing":
        return f"{path!r} is missing."
    if problem["type"] == "extra_forbidden":
        if path not in arguments:
            return f"{path!r} is unknown."
        taken = f"it takes {', '.join(map(repr, known))}" if known else "it takes none"
        return f"{path!r} is not an argument of this tool; {taken}."
    return f"{path!r}: {problem['msg']}, got {brief(problem['input'])}." if path else f"{problem['msg']}."


def _path(steps: Sequence[int | str], arguments: JsonObject, *, ends_missing: bool) -> str:
    """``orders[0].id``: the steps that lead through `arguments`, without those that name a union's member."""
    path = ""
    value: Any = arguments
    for i, step in enumerate(steps):
        is_key = isinstance(value, dict) and step in value
        is_position = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if is_key or is_position:
            value = value[step]
        elif not (ends_missing and i == len(steps) - 1):
            continue
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path
