"""Embedders by name, and one that remembers: the same queries are asked of many retrievers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from toolsearch.embedders.base import Embedder, Progress, Vectors
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.exceptions import EvaluationError

EMBEDDERS: dict[str, Callable[[], Embedder]] = {"bundled": BundledEmbedder}


class RememberingEmbedder:
    """An embedder that asks another one for each text once; for quality only, never for times."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.id = inner.id
        self.dim = inner.dim
        self._documents: dict[str, Vectors] = {}
        self._queries: dict[str, Vectors] = {}

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        def embed(new: Sequence[str]) -> Vectors:
            return self._inner.embed_documents(new, progress=progress)

        return self._remembered(texts, self._documents, embed)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._remembered(texts, self._queries, self._inner.embed_queries)

    def reads(self, text: str) -> float:
        return self._inner.reads(text)

    def _remembered(
        self, texts: Sequence[str], known: dict[str, Vectors], embed: Callable[[Sequence[str]], Vectors]
    ) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, embed(new), strict=True))
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, self.dim), np.float32)


def make_embedder(name: str) -> RememberingEmbedder:
    """The embedder that conditions call `name`.

    Raises:
        EvaluationError: an unknown name.
    """
    if name not in EMBEDDERS:
        raise EvaluationError(f"There is no embedder {name!r}; known are {', '.join(map(repr, EMBEDDERS))}.")
    return RememberingEmbedder(EMBEDDERS[name]())
