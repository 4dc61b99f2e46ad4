"""What the default is measured against: plain BM25, plain dense, and reciprocal rank fusion of the two.

They follow `Retriever` and answer one query for `k` tools; filters are none of their business.
"""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import numpy as np
from numpy.typing import NDArray

from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.evaluation.retrievers import RRF_DEPTH, RRF_K0
from toolsearch.exceptions import SearchRequestError
from toolsearch.naming import split_words
from toolsearch.retrieval.base import ScoredTool, SearchRequest, SearchResult
from toolsearch.tools import Tool


class PlainBM25:
    """BM25 (k1 1.5, b 0.75) over name, description, server and parameter names.

    Names are split into words; after that the text is cut as `bm25s` does by default: lower case, words of
    two letters or more, its English stopwords left out, no stemming. A tool that shares no word with the
    query is not found.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._tools = list(catalog.values())
        self._index = bm25s.BM25(k1=1.5, b=0.75)
        self._index.index(_words([_plain_text(tool) for tool in self._tools]), show_progress=False)

    def search(self, request: SearchRequest) -> SearchResult:
        scores = self.scores(plain_query(request))
        return ranked_result(self._tools, scores, request.k, found=scores > 0)

    def scores(self, query: str) -> NDArray[np.float64]:
        """The score of every tool, in catalog order."""
        (words,) = _words([_split(query)])
        if not words:
            return np.zeros(len(self._tools))
        scores: NDArray[np.float64] = np.asarray(self._index.get_scores(words), dtype=np.float64)
        return scores


class PlainDense:
    """Cosine of the query and ``name: description``, as most tool searches do it."""

    def __init__(self, catalog: Catalog, embedder: Embedder) -> None:
        self._tools = list(catalog.values())
        self._embedder = embedder
        self._vectors = embedder.embed_documents([plain_dense_text(tool) for tool in self._tools])

    def search(self, request: SearchRequest) -> SearchResult:
        return ranked_result(self._tools, self.scores(plain_query(request)), request.k)

    def scores(self, query: str) -> NDArray[np.float64]:
        """The score of every tool, in catalog order."""
        (vector,) = self._embedder.embed_queries([query])
        # einsum, not a BLAS product: it neither waits for other threads nor depends on their number.
        cosines: NDArray[np.float64] = np.einsum("nd,d->n", self._vectors, vector).astype(np.float64)
        return cosines


class PlainRRF:
    """Reciprocal rank fusion (k0 60) of the first 100 of each of the two.

    Source: Cormack, Clarke and Buettcher, SIGIR 2009.
    """

    def __init__(self, catalog: Catalog, embedder: Embedder) -> None:
        self._tools = list(catalog.values())
        self._lexical = PlainBM25(catalog)
        self._dense = PlainDense(catalog, embedder)

    def search(self, request: SearchRequest) -> SearchResult:
        query = plain_query(request)
        fused = np.zeros(len(self._tools))
        for channel, floor in ((self._lexical, 0.0), (self._dense, -np.inf)):
            scores = channel.scores(query)
            rows = [row for row in _ranked(scores, RRF_DEPTH) if scores[row] > floor]
            fused[rows] += 1 / (RRF_K0 + np.arange(1, len(rows) + 1))
        return ranked_result(self._tools, fused, request.k, found=fused > 0)


def plain_dense_text(tool: Tool) -> str:
    """What `PlainDense` embeds of a tool."""
    return f"{tool.raw_name}: {tool.description}"


def _plain_text(tool: Tool) -> str:
    parameters = tool.input_schema.get("properties", {})
    return " ".join(_split(part) for part in (tool.raw_name, tool.description, tool.source, *parameters))


def _split(text: str) -> str:
    return " ".join(split_words(text))


def _words(texts: Sequence[str]) -> list[list[str]]:
    tokens: list[list[str]] = bm25s.tokenize(
        list(texts), stopwords="en", return_ids=False, show_progress=False
    )
    return tokens


def plain_query(request: SearchRequest) -> str:
    """The one query of a request without filters.

    Raises:
        SearchRequestError: any other request.
    """
    if request != SearchRequest(queries=request.queries, k=request.k) or len(request.queries) != 1:
        raise SearchRequestError("A baseline answers one query and knows no filters.")
    return request.queries[0]


def _ranked(scores: NDArray[np.float64], k: int) -> list[int]:
    """The k best rows, best first; ties by row, which is by name, as catalogs are sorted."""
    rows: list[int] = np.argsort(-scores, kind="stable")[:k].tolist()
    return rows


def ranked_result(
    tools: Sequence[Tool], scores: NDArray[np.float64], k: int | None, found: NDArray[np.bool_] | None = None
) -> SearchResult:
    """The k best tools, ties by row; `found` is a mask of those that count, None for all."""
    rows = _ranked(scores, k or 10)
    return SearchResult(
        tuple(ScoredTool(tools[row], float(scores[row])) for row in rows if found is None or found[row])
    )
