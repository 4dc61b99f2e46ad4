"""`EmbedderAround`: what embedders that stand around another one share."""

from __future__ import annotations

from collections.abc import Sequence

from toolsearch.embedders.base import Embedder, Progress, Vectors, cosine_scale, warm_up


class EmbedderAround:
    """Answers in all as another embedder does: what stands around one overrides what it changes."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def id(self) -> str:
        """The other embedder's."""
        return self._embedder.id

    @property
    def dim(self) -> int:
        """The other embedder's."""
        return self._embedder.dim

    @property
    def cosine_scale(self) -> float:
        """That of the other embedder."""
        return cosine_scale(self._embedder)

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """The other embedder's rows."""
        return self._embedder.embed_documents(texts, progress=progress)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The other embedder's rows."""
        return self._embedder.embed_queries(texts)

    def warm_up(self) -> None:
        """Have the other embedder load now what it would load with its first text."""
        warm_up(self._embedder)

    def reads(self, text: str) -> float:
        """What the other embedder says."""
        return self._embedder.reads(text)
