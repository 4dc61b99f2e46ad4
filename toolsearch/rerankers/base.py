"""`Reranker`: what reads a query and a tool's text together, where an embedder reads each alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from toolsearch.exceptions import RerankerError

LogOdds: TypeAlias = NDArray[np.float64]


@runtime_checkable
class Reranker(Protocol):
    """Says of each of a few documents how likely it serves a query; synchronous, safe in several threads."""

    @property
    def id(self) -> str:
        """Names the model and all that changes its scores."""

    def scores(self, query: str, documents: Sequence[str]) -> LogOdds:
        """Log odds (n,) that each document serves the query, in the order of `documents`; 0 is even.

        Raises:
            RerankerError: the model failed, or answered something that is no score.
        """


def as_log_odds(scores: object, *, n: int, reranker_id: str) -> LogOdds:
    """`scores` as (n,) float64.

    Raises:
        RerankerError: another number of scores than `n`, or a value that is not finite.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (n,):
        raise RerankerError(f"Reranker {reranker_id!r} answered shape {values.shape} for {n} documents.")
    if not np.isfinite(values).all():
        raise RerankerError(f"Reranker {reranker_id!r} answered values that are not finite.")
    return values
