"""Tools that are asked for by name: ``select:NAME,NAME``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from toolsearch.deadlines import check_deadline, in_time
from toolsearch.index.part import IndexPart
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.ranking import Ranking, selection

_MISSING_TOLD = 10


def selected(
    index: ToolIndex, part: IndexPart, names: Sequence[str], allowed: NDArray[np.bool_] | None
) -> tuple[Ranking, list[str]]:
    """The tools of these names in `part`, and what to tell of the names that none has.

    What a filter hides is missing like what does not exist.
    """
    rows: dict[int, None] = {}
    missing = []
    for name in in_time(names):
        matches = part.name_index.select([name]).matches
        visible = [match.row for match in matches if allowed is None or allowed[match.row]]
        rows.update(dict.fromkeys(visible))
        if not visible:
            missing.append(name)
    notices = [_missing(index, part, name, allowed) for name in missing[:_MISSING_TOLD]]
    if len(missing) > _MISSING_TOLD:
        notices.append(f"No tool is named like {len(missing) - _MISSING_TOLD} more of the names.")
    return selection(list(rows)), notices


def _missing(index: ToolIndex, part: IndexPart, name: str, allowed: NDArray[np.bool_] | None) -> str:
    check_deadline()
    alike = (row for row in part.name_index.near(name, 10) if allowed is None or allowed[row])
    near = [repr(index.columns.names[row]) for row in islice(alike, 3)]
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    return f"No tool is named {name!r}.{hint}"
