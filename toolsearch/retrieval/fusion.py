"""Fusion: one score from the cosine, the lexical score and the name match of a tool.

Scores are added by value. Ranks are not used: the distance between scores says how sure a channel is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

FUSION_VERSION = 2
"""Raised whenever a score changes: what was calibrated with another version does not hold."""

LEXICAL_WEIGHT = 0.03
"""What a point of BM25 counts against the cosine; flat from 0.03 to 0.05 on sets that the encoder never saw.

More features, weighed by a model that learned from requests, are no better on sets left out of its training.

Dividing BM25 by what the query could reach, or by a root of it, is no better there: docs/benchmarks.md.
"""

NAME_WEIGHT = 10.0
"""More than the other channels reach together, so that a tool that is called by its name comes first."""

ODDS_WEIGHT = 0.02
"""What the log odds of a reranker count: docs/rerank.md."""

DENSE_FLOOR = 0.2
"""What the cosine still counts where the encoder can read nothing of the query: docs/benchmarks.md."""


def dense_weight(reads: float) -> float:
    """What the cosine counts, from the share of the query that the encoder reads (0 to 1)."""
    return DENSE_FLOOR + (1 - DENSE_FLOOR) * reads


@dataclass(frozen=True)
class Channels:
    """The parts of the scores of some rows; all arrays (m,) float64, parallel to `rows`.

    Attributes:
        rows: Rows of the index.
        dense: Cosine with the query, -1 to 1.
        lexical: BM25 of the query, 0 or more.
        name: Confidence that the query calls the tool by its name, 0 to 1.
        reads: Share of the query that the encoder reads.
        lift: What steps of the query add, 0 or more, see `toolsearch.retrieval.lift`; None without steps.
        odds: Log odds that a tool serves the query, by a reranker; None without one.
        usage: What past requests add, 0 or more, see `toolsearch.retrieval.usage`; None where none is near.
    """

    rows: NDArray[np.int64]
    dense: Scores
    lexical: Scores
    name: Scores
    reads: float = 1.0
    lift: Scores | None = None
    odds: Scores | None = None
    usage: Scores | None = None

    def taken(self, places: NDArray[np.intp]) -> Channels:
        """The same for the rows at `places`, in that order."""
        return replace(
            self,
            rows=self.rows[places],
            dense=self.dense[places],
            lexical=self.lexical[places],
            name=self.name[places],
            lift=None if self.lift is None else self.lift[places],
            odds=None if self.odds is None else self.odds[places],
            usage=None if self.usage is None else self.usage[places],
        )

    def content(self) -> Scores:
        """The score of what the tools say, names and a reranker aside."""
        content = dense_weight(self.reads) * self.dense + LEXICAL_WEIGHT * self.lexical
        return content if self.lift is None else content + self.lift

    def learned(self) -> Scores:
        """The content score with what past requests add."""
        content = self.content()
        return content if self.usage is None else content + self.usage

    def fused(self) -> Scores:
        """``w(reads) * cosine + 0.03 * bm25 + 10 * name``, and lift, usage and odds where there are any."""
        fused = self.learned() + NAME_WEIGHT * self.name
        return fused if self.odds is None else fused + ODDS_WEIGHT * self.odds
