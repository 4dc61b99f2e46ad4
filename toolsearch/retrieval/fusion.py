"""Fusion: one score from the cosine, the lexical score and the name match of a tool.

Scores are added by value. Ranks are not used: the distance between scores says how sure a channel is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolsearch.index.lexical import LexicalScores

Scores = NDArray[np.float64]

FUSION_VERSION = 1
"""Raised whenever a score changes: what was calibrated with another version does not hold."""

LEXICAL_WEIGHT = 0.43
NAME_WEIGHT = 3.0
"""More than the other channels reach together, so that a tool that is called by its name comes first."""

DENSE_FLOOR = 0.3
"""What the cosine still counts where the encoder can read nothing of the query."""


def lexical_score(scores: LexicalScores) -> Scores:
    """BM25 over the square root of the most that the query could reach, for every row; 0 or more.

    The root keeps what both extremes lose. Raw BM25 grows with every word of the query and drowns the
    cosine of a long request; its share of the most possible makes one matched word of two worth as much
    as ten of twenty. On the dev sets the exponent is flat between 0.3 and 0.6: see docs/benchmarks.md.
    """
    if not scores.ceiling:
        return np.zeros(len(scores.raw))
    return scores.raw / np.float64(scores.ceiling**0.5)


def dense_weight(reads: float) -> float:
    """What the cosine counts, from the share of the query that the encoder reads (0 to 1)."""
    return DENSE_FLOOR + (1 - DENSE_FLOOR) * reads


@dataclass(frozen=True)
class Channels:
    """The parts of the scores of some rows; all arrays (m,) float64, parallel to `rows`.

    Attributes:
        rows: Rows of the index.
        dense: Cosine with the query, -1 to 1.
        lexical: As `lexical_score` gives it.
        name: Confidence that the query calls the tool by its name, 0 to 1.
        reads: Share of the query that the encoder reads.
    """

    rows: NDArray[np.int64]
    dense: Scores
    lexical: Scores
    name: Scores
    reads: float = 1.0

    def taken(self, places: NDArray[np.intp]) -> Channels:
        """The same for the rows at `places`, in that order."""
        return replace(
            self,
            rows=self.rows[places],
            dense=self.dense[places],
            lexical=self.lexical[places],
            name=self.name[places],
        )

    def content(self) -> Scores:
        """The score of what the tools say, names aside."""
        return dense_weight(self.reads) * self.dense + LEXICAL_WEIGHT * self.lexical

    def fused(self) -> Scores:
        """``w(reads) * cosine + 0.43 * bm25 / sqrt(ceiling) + 3 * name``."""
        return self.content() + NAME_WEIGHT * self.name
