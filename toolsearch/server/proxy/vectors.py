"""`RecentVectors`: vectors of the latest documents, so that a list that has changed is not embedded again."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, Progress, Vectors


class RecentVectors(EmbedderAround):
    """Another embedder, whose vectors of documents are kept by the digest of the text. Safe to share."""

    def __init__(self, embedder: Embedder, max_documents: int = 8192) -> None:
        super().__init__(embedder)
        self._max = max_documents
        self._kept: OrderedDict[bytes, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`; only those not kept reach the embedder."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        with self._lock:
            known = {key: self._kept[key] for key in keys if key in self._kept}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            rows = self._embedder.embed_documents(list(missing.values()), progress=progress)
            # Copies: a row would keep all others of its batch in memory.
            known |= {key: row.copy() for key, row in zip(missing, rows, strict=True)}
        with self._lock:
            for key in keys:
                self._kept[key] = known[key]
                self._kept.move_to_end(key)
            while len(self._kept) > self._max:
                self._kept.popitem(last=False)
        return np.stack([known[key] for key in keys]) if keys else np.zeros((0, self.dim), np.float32)
