"""Usage of several rounds, in the types of a provider's client."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any


def summed(usages: Sequence[Any]) -> Any:
    """The last of `usages` with the numbers of all others added, also in its details; None for none.

    What is no number, such as a service tier, is that of the last round.
    """
    present = [usage for usage in usages if usage is not None]
    if not present:
        return None
    total = copy.deepcopy(present[-1])
    for usage in present[:-1]:
        _add(total, usage)
    return total


def _add(total: Any, usage: Any) -> None:
    for name, value in usage:
        known = getattr(total, name, None)
        if known is None:
            setattr(total, name, copy.deepcopy(value))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            setattr(total, name, known + value)
        elif hasattr(value, "model_fields_set"):
            _add(known, value)
