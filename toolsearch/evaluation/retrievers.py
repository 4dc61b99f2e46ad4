"""The retrievers that an evaluation can name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import EvaluationError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import Retriever
from toolsearch.retrieval.searcher import CHANNELS, Channel, ToolSearcher

Channels: TypeAlias = tuple[Channel, ...]

RETRIEVERS: Mapping[str, Channels] = {"hybrid": CHANNELS, "dense": ("dense",), "lexical": ("lexical",)}
"""The channels of each: ``hybrid`` is what `ToolSearcher` does by default, the others one channel alone."""


def make_retriever(name: str, catalog: Catalog, embedder: Embedder) -> Retriever:
    """The retriever called `name` over `catalog`; see `RETRIEVERS`.

    A failing encoder raises here, as scores of the other channels would stand in for it in silence.

    Raises:
        EvaluationError: an unknown name.
        EmbeddingError: the catalog could not be embedded.
    """
    return searcher_over(ToolIndex.build(catalog, embedder), name, embedder)


def searcher_over(index: ToolIndex, name: str, embedder: Embedder) -> ToolSearcher:
    """The retriever called `name` over an index that is there already; see `make_retriever`.

    Raises:
        EvaluationError: an unknown name.
        IndexMismatchError: the index was built by another embedder.
    """
    if name not in RETRIEVERS:
        known = ", ".join(map(repr, RETRIEVERS))
        raise EvaluationError(f"There is no retriever {name!r}; known are {known}.")
    return ToolSearcher(index, embedder, channels=RETRIEVERS[name], on_embedder_failure="raise")
