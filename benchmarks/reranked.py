"""What a reranker says of the best tools of each query, with the relevant ones there and taken out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.absent import others
from benchmarks.embedding import RememberingEmbedder
from benchmarks.scored import DEPTH, ScoredSet, Scores, score_set
from toolsearch.document import render_document
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.rerankers.base import Reranker
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT
from toolsearch.retrieval.reranking import RERANKED


@dataclass(frozen=True)
class Head:
    """Of each query the best tools by the fused score, best first; all arrays (queries, at most 20).

    Attributes:
        rows: Rows of the catalog.
        odds: What the reranker says of them.
    """

    rows: NDArray[np.int64]
    fused: Scores
    cosines: Scores
    odds: Scores


@dataclass(frozen=True)
class RerankedSet:
    """A data set's queries with their heads.

    Attributes:
        kept: Which queries have any tool besides those that serve them (queries,).
        present, absent: With the tools that serve a query in its catalog, and without them and their
            near-duplicates.
    """

    name: str
    queries: tuple[BenchQuery, ...]
    ids: tuple[str, ...]
    kept: NDArray[np.bool_]
    present: Head
    absent: Head

    def rankings(self, weight: float, *, alone: bool = False) -> Iterator[list[str]]:
        """The ids of the ten best by the fused score plus `weight` times the odds, or by the odds alone."""
        scores = self.present.odds if alone else self.present.fused + weight * self.present.odds
        order = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
        for rows in np.take_along_axis(self.present.rows, order, axis=1):
            yield [self.ids[row] for row in rows]


def rerank_set(dataset: Dataset, embedder: RememberingEmbedder, reranker: Reranker) -> RerankedSet:
    """The heads of every query of a data set that some tool serves."""
    scored = score_set(dataset, embedder)
    documents = [render_document(tool) for tool in dataset.catalog.values()]
    fused = scored.fused(LEXICAL_WEIGHT, 0.0)
    left = others(dataset, scored)
    return RerankedSet(
        dataset.name,
        scored.queries,
        scored.ids,
        np.asarray(left.any(axis=1)),
        _head(scored, fused, documents, reranker),
        _head(scored, np.where(left, fused, -np.inf), documents, reranker),
    )


def _head(scored: ScoredSet, fused: Scores, documents: list[str], reranker: Reranker) -> Head:
    rows = np.argsort(-fused, axis=1, kind="stable")[:, :RERANKED]
    odds = [
        reranker.scores(query.text, [documents[row] for row in best])
        for query, best in zip(scored.queries, rows, strict=True)
    ]
    return Head(
        rows,
        np.take_along_axis(fused, rows, axis=1),
        np.take_along_axis(scored.cosines, rows, axis=1),
        np.array(odds),
    )
