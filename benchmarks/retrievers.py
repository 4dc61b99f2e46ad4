"""Every retriever that conditions can name."""

from __future__ import annotations

from benchmarks.baselines import PlainBM25, PlainDense, PlainRRF
from benchmarks.fusions import FUSIONS, FusedRetriever
from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.evaluation.retrievers import RETRIEVERS, make_retriever
from toolsearch.exceptions import EvaluationError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import Retriever

BASELINES = ("plain-bm25", "plain-dense", "plain-rrf")
NAMES = (*RETRIEVERS, *FUSIONS, *BASELINES)

BY_WORDS_ALONE = frozenset({"lexical", "plain-bm25"})
"""Those that embed no query."""


def make_named(name: str, catalog: Catalog, embedder: Embedder) -> Retriever:
    """The retriever called `name` over `catalog`.

    Raises:
        EvaluationError: an unknown name.
        EmbeddingError: the catalog could not be embedded.
    """
    if name in RETRIEVERS:
        return make_retriever(name, catalog, embedder)
    if name in FUSIONS:
        return FusedRetriever(ToolIndex.build(catalog, embedder), embedder, FUSIONS[name])
    match name:
        case "plain-bm25":
            return PlainBM25(catalog)
        case "plain-dense":
            return PlainDense(catalog, embedder)
        case "plain-rrf":
            return PlainRRF(catalog, embedder)
    raise EvaluationError(f"There is no retriever {name!r}; known are {', '.join(map(repr, NAMES))}.")
