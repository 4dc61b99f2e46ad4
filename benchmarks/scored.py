"""Every tool of a data set scored for every query, by channel: what tables of alternatives are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolsearch.document import render_document
from toolsearch.embedders.base import Embedder
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.index.lexical import LexicalIndex
from toolsearch.retrieval.fusion import dense_weight
from toolsearch.tools import Tool

DEPTH = 10
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class ScoredSet:
    """The two channels of every query and tool of a data set; arrays are (queries, tools) or (queries,).

    Attributes:
        cosines: Already weighed by what the encoder reads of the query.
        ceilings: The most that BM25 could reach for the query.
    """

    queries: tuple[BenchQuery, ...]
    ids: tuple[str, ...]
    cosines: Scores
    bm25: Scores
    ceilings: Scores

    def fused(self, weight: float, exponent: float) -> Scores:
        """Cosine plus `weight` times BM25 over a power of its ceiling."""
        scale = np.where(self.ceilings > 0, self.ceilings, 1.0) ** exponent
        return self.cosines + weight * self.bm25 / scale[:, None]

    def rankings(self, scores: Scores) -> Iterator[tuple[BenchQuery, list[str], Scores]]:
        """For each query the ids and scores of the ten best tools, ties by name."""
        order = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
        for query, rows, row_scores in zip(self.queries, order, scores, strict=True):
            yield query, [self.ids[row] for row in rows], row_scores[rows]


def score_set(
    dataset: Dataset, embedder: Embedder, document: Callable[[Tool], str] = render_document
) -> ScoredSet:
    """Both channels of every query with gold tools and every tool of a data set."""
    tools = list(dataset.catalog.values())
    queries = tuple(query for query in dataset.queries if query.gold)
    lexicon = LexicalIndex.build(tools)
    lexical = [lexicon.scores(query.text) for query in queries]
    vectors = embedder.embed_documents([document(tool) for tool in tools])
    cosines = np.einsum("qd,nd->qn", embedder.embed_queries([query.text for query in queries]), vectors)
    reads = np.array([dense_weight(embedder.reads(query.text)) for query in queries])
    return ScoredSet(
        queries=queries,
        ids=tuple(dataset.id_of[tool.name] for tool in tools),
        cosines=cosines.astype(np.float64) * reads[:, None],
        bm25=np.array([scores.raw for scores in lexical], dtype=np.float64),
        ceilings=np.array([scores.ceiling for scores in lexical], dtype=np.float64),
    )
