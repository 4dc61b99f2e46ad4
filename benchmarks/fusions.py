"""Other ways to fuse the same dense and lexical channel by value, to compare the searcher's with.

Each reads the same index as `ToolSearcher`; names take no part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines import plain_query, ranked_result
from toolsearch.embedders.base import Embedder
from toolsearch.index.lexical import LexicalScores
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import SearchRequest, SearchResult

Scores: TypeAlias = NDArray[np.float64]
Fusion: TypeAlias = Callable[[Scores, LexicalScores], Scores]
"""From the cosine and the lexical score of every tool (n,) to one score each."""


class FusedRetriever:
    """Ranks every tool of an index by a `Fusion` of its cosine and its lexical score."""

    def __init__(self, index: ToolIndex, embedder: Embedder, fusion: Fusion) -> None:
        self._index = index
        self._embedder = embedder
        self._fusion = fusion
        self._tools = list(index.tools.values())
        self._rows = np.arange(len(index))

    def search(self, request: SearchRequest) -> SearchResult:
        query = plain_query(request)
        (vector,) = self._embedder.embed_queries([query])
        cosines = self._index.vectors.similarity(vector, self._rows).astype(np.float64)
        return ranked_result(self._tools, self._fusion(cosines, self._index.lexicon.scores(query)), request.k)


def min_max(cosines: Scores, lexical: LexicalScores) -> Scores:
    """0.65 of the cosine and 0.35 of BM25, both stretched to 0..1 over the catalog for each query."""
    return 0.65 * _stretched(cosines) + 0.35 * _stretched(lexical.raw.astype(np.float64))


def share_of_ceiling(cosines: Scores, lexical: LexicalScores) -> Scores:
    """The cosine, and a quarter of BM25 as a share of the most that the query could reach."""
    return cosines + 0.25 * lexical.coverage.astype(np.float64)


FUSIONS: Mapping[str, Fusion] = {"min-max": min_max, "share": share_of_ceiling}


def _stretched(scores: Scores) -> Scores:
    span = scores.max() - scores.min()
    return (scores - scores.min()) / span if span else np.zeros(len(scores))
