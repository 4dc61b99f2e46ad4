"""`EmbedderOnce`: an embedder that is given each document once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, Progress, Vectors


class EmbedderOnce(EmbedderAround):
    """Another embedder, which is given each document once."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._rows: dict[str, Vectors] = {}

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if len(new) == len(texts):
            rows = self._embedder.embed_documents(texts, progress=progress)
            self._rows.update(zip(texts, rows, strict=True))
            return rows
        if new:
            rows = self._embedder.embed_documents(new, progress=progress)
            self._rows.update(zip(new, rows, strict=True))
        return np.stack([self._rows[text] for text in texts])
