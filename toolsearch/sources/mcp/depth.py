"""JSON values without what is nested deeper than readers go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def shallow(value: T, levels: int) -> T:
    """The value with an empty object for each list and object below `levels`; itself where there is none."""
    parts: list[Any] = [value]
    for _ in range(levels + 1):
        parts = [below for part in parts for below in _below(part)]
        if not parts:
            return value
    if not any(isinstance(part, dict | list) for part in parts):
        return value
    kept: T = _cut(value, levels)
    return kept


def _below(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _cut(value: Any, levels: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if levels < 0:
        return {}
    if isinstance(value, dict):
        return {key: _cut(below, levels - 1) for key, below in value.items()}
    return [_cut(below, levels - 1) for below in value]
