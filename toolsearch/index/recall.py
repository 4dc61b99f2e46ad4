"""What an approximate search misses, measured on the rows themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from toolsearch.index.flat import RowMatrix, Rows, Scores

SAMPLE = 100
_BLOCK = 65_536

Nearest = Callable[[Scores, int, NDArray[np.bool_]], Rows]
"""At least k live rows near a query: ``nearest(query, k, live)``."""


def measured_recall(matrix: RowMatrix, live: NDArray[np.bool_], nearest: Nearest, *, k: int = 10) -> float:
    """Share of the `k` nearest other live rows that a search with the vector of a row finds.

    A mean over `SAMPLE` live rows, the same ones each time; 1 where there is nothing to find.
    """
    rows = np.flatnonzero(live)
    k = min(k, len(rows) - 1)
    if k < 1:
        return 1.0
    sample = np.random.default_rng(len(rows)).permutation(rows)[:SAMPLE]
    queries = matrix.take(sample)
    best = np.full((len(sample), k), -np.inf, dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        scores = queries @ matrix.take(block).T
        scores[sample[:, None] == block[None, :]] = -np.inf
        best = np.partition(np.concatenate([best, scores], axis=1), -k, axis=1)[:, -k:]
    # Products of matrices round otherwise than those of single rows do.
    least = best.min(axis=1) - 1e-6
    shares = []
    for row, query, kth in zip(sample, queries, least, strict=True):
        found = nearest(query, k + 1, live)
        others = np.sort(matrix.scores(query, found[found != row]))[-k:]
        shares.append(float(np.count_nonzero(others >= kth) / k))
    return float(np.mean(shares))
