"""Embedders by name, with every vector kept on disk: the same texts are embedded for many retrievers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.data import REPOSITORY
from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, Progress, Vectors
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.embedders.cache import CachedEmbedder
from toolsearch.embedders.load import load_embedder
from toolsearch.exceptions import EvaluationError

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "bundled": BundledEmbedder,
    "minilm": lambda: load_embedder("minilm"),
}

VECTORS = REPOSITORY / ".cache" / "benchmarks" / "vectors.sqlite"


class RememberingEmbedder(EmbedderAround):
    """An embedder that asks another one for each document and each query once.

    For quality alone: its times say nothing.
    """

    def __init__(self, inner: Embedder, path: Path = VECTORS) -> None:
        super().__init__(inner)
        self._documents = CachedEmbedder(inner, path)
        self._queries = CachedEmbedder(_QuerySide(inner), path)

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        return self._documents.embed_documents(texts, progress=progress)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._queries.embed_documents(texts)


class DocumentsRemembered(EmbedderAround):
    """An embedder that asks another one for each document once, and for a query each time: for times.

    Attributes:
        queries_cpu_ms: Processor time that all queries so far took.
    """

    def __init__(self, inner: Embedder, path: Path = VECTORS) -> None:
        super().__init__(inner)
        self._documents = CachedEmbedder(inner, path)
        self.queries_cpu_ms = 0.0

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        return self._documents.embed_documents(texts, progress=progress)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        started = time.process_time()
        vectors = super().embed_queries(texts)
        self.queries_cpu_ms += (time.process_time() - started) * 1000
        return vectors


class _QuerySide(EmbedderAround):
    """The queries of an embedder in the place of its documents, under an id of their own."""

    @property
    def id(self) -> str:
        return f"{super().id} (queries)"

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        del progress
        return self.embed_queries(texts)


def make_embedder(name: str) -> RememberingEmbedder:
    """The embedder that conditions call `name`.

    Raises:
        EvaluationError: an unknown name.
    """
    if name not in EMBEDDERS:
        raise EvaluationError(f"There is no embedder {name!r}; known are {', '.join(map(repr, EMBEDDERS))}.")
    return RememberingEmbedder(EMBEDDERS[name]())
