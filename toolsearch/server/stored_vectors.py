"""`StoredVectors`: vectors that are known already, in the place of the embedder that made them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolsearch.document import render_document
from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, Progress, Vectors
from toolsearch.exceptions import EmbeddingError
from toolsearch.tools import Tool


class StoredVectors(EmbedderAround):
    """Another embedder, which is asked for no document: those of `tools` have `vectors`, one each."""

    def __init__(self, embedder: Embedder, tools: Sequence[Tool], vectors: Sequence[Vectors]) -> None:
        super().__init__(embedder)
        self._vectors = {render_document(tool): vector for tool, vector in zip(tools, vectors, strict=True)}

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """The rows (n, dim) that are known.

        Raises:
            EmbeddingError: one is not.
        """
        missing = [text for text in texts if text not in self._vectors]
        if missing:
            raise EmbeddingError(f"{len(missing)} of {len(texts)} texts have no stored vector.")
        if progress is not None:
            progress(len(texts), len(texts))
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        return np.stack([self._vectors[text] for text in texts])
