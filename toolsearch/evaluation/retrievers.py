"""The retrievers that an evaluation can compare, by name."""

from __future__ import annotations

from collections.abc import Callable

from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import EvaluationError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.rerankers.base import Reranker
from toolsearch.retrieval.base import Retriever, ScoredTool, SearchRequest, SearchResult
from toolsearch.retrieval.searcher import Channel, ToolSearcher

RRF_K0 = 60
RRF_DEPTH = 100
_WITH_RERANKER = ("hybrid", "whole")


def make_retriever(
    name: str, catalog: Catalog, embedder: Embedder, *, reranker: Reranker | None = None
) -> Retriever:
    """The retriever of that name over `catalog`.

    ``hybrid`` is what a search uses, and ``whole`` the same without splitting requests into steps. ``dense``,
    ``lexical`` and ``names`` are its channels alone, and ``rrf`` the ranks of the first two, fused: all of
    whole requests. A failing encoder raises, as scores of the other channels would stand
    in for it in silence.

    Args:
        reranker: Reads the best tools of ``hybrid`` or ``whole`` once more.

    Raises:
        EvaluationError: there is no such retriever, or it takes no reranker.
    """
    if name not in RETRIEVERS:
        raise EvaluationError(f"Unknown retriever {name!r}. Choose one of {', '.join(RETRIEVERS)}.")
    if reranker is not None and name not in _WITH_RERANKER:
        raise EvaluationError(
            f"The retriever {name!r} takes no reranker. Choose {' or '.join(_WITH_RERANKER)}."
        )
    return RETRIEVERS[name](ToolIndex.build(catalog, embedder), embedder, reranker)


class WholeRequests:
    """A retriever that searches for each query as one, however much it asks for."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever

    def search(self, request: SearchRequest) -> SearchResult:
        return self._retriever.search(request.model_copy(update={"steps": False}))


class RankFusion:
    """Dense and lexical rankings fused by reciprocal rank: what most tool search does, kept to compare with.

    A tool scores the sum of 1 / (k0 + rank) over the two rankings of depth 100, ranks from 1.

    Source: Cormack, Clarke and Buettcher, SIGIR 2009, which also sets k0 = 60.
    """

    def __init__(self, index: ToolIndex, embedder: Embedder, *, k0: int = RRF_K0) -> None:
        self._channels = (_whole(index, embedder, "dense"), _whole(index, None, "lexical"))
        self._k0 = k0

    def search(self, request: SearchRequest) -> SearchResult:
        """The `request.k` (or `max_k`) best of the fused ranking, ties by name."""
        fused: dict[str, float] = {}
        tools = {}
        for channel in self._channels:
            result = channel.search(request.model_copy(update={"k": RRF_DEPTH}))
            for rank, hit in enumerate(result.hits, start=1):
                fused[hit.name] = fused.get(hit.name, 0.0) + 1 / (self._k0 + rank)
                tools[hit.name] = hit.tool
        best = sorted(fused, key=lambda name: (-fused[name], name))[: request.k or request.max_k]
        return SearchResult(hits=tuple(ScoredTool(tools[name], fused[name]) for name in best))


def _hybrid(index: ToolIndex, embedder: Embedder, reranker: Reranker | None) -> ToolSearcher:
    return ToolSearcher(index, embedder, on_embedder_failure="raise", reranker=reranker)


def _whole(index: ToolIndex, embedder: Embedder | None, channel: Channel) -> WholeRequests:
    return WholeRequests(ToolSearcher(index, embedder, channels=(channel,), on_embedder_failure="raise"))


RETRIEVERS: dict[str, Callable[[ToolIndex, Embedder, Reranker | None], Retriever]] = {
    "hybrid": _hybrid,
    "whole": lambda index, embedder, reranker: WholeRequests(_hybrid(index, embedder, reranker)),
    "dense": lambda index, embedder, _: _whole(index, embedder, "dense"),
    "lexical": lambda index, *_: _whole(index, None, "lexical"),
    "names": lambda index, *_: _whole(index, None, "name"),
    "rrf": lambda index, embedder, _: RankFusion(index, embedder),
}
