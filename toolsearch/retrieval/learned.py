"""`Learned`: the rows of an index that past requests support, and the lift that they get for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Vectors
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.fusion import Channels, Scores
from toolsearch.retrieval.usage import LearnedUsage


@dataclass(frozen=True)
class Learned:
    """Rows that past requests support, ascending, with their support, above 0 and below 1; both (m,)."""

    rows: NDArray[np.int64]
    supports: Scores
    reach: float

    @property
    def best(self) -> float:
        """The support of the row that has the most."""
        return float(self.supports.max())

    def lifted(self, channels: Channels) -> Channels:
        """`channels`, whose rows ascend and hold those of this, with what past requests add.

        A row is lifted by the share `support` of the way from its content score to `reach` times the best of
        all rows. Nothing is lowered, and nothing rises beyond that.
        """
        content = channels.content()
        goal = self.reach * max(float(content.max(initial=0.0)), 0.0)
        places = np.searchsorted(channels.rows, self.rows)
        usage = np.zeros(len(content))
        usage[places] = np.maximum(self.supports * (goal - content[places]), 0.0)
        return replace(channels, usage=usage)


def learned_of(
    usage: LearnedUsage,
    index: ToolIndex,
    vectors: Vectors,
    *,
    tenant: str,
    allowed: NDArray[np.bool_] | None,
) -> Learned | None:
    """What the tenant's past requests support for a query, given by its rows (n, dim); None for nothing.

    A tool that is gone, that `allowed` hides, or whose text is another than it was then, gets nothing. Of
    the others those with the most support are lifted, ties by name.
    """
    digests = index.columns.facts["document_digest"]
    found = [
        (row, support)
        for (name, document), support in usage.supports(vectors, tenant).items()
        if (row := index.row_of(name)) is not None
        and digests[row].tobytes() == document
        and (allowed is None or allowed[row])
    ]
    best = sorted(found, key=lambda pair: (-pair[1], pair[0]))[: usage.weights.most_lifted]
    if not best:
        return None
    rows, supports = zip(*sorted(best), strict=True)
    return Learned(np.array(rows, dtype=np.int64), np.array(supports), usage.weights.reach)
