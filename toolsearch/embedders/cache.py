"""Vectors kept on disk, so that a rebuild embeds only what changed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, Progress, Vectors, as_unit_rows
from toolsearch.embedders.store import VectorStore, default_cache_path
from toolsearch.exceptions import DimensionMismatchError, EmbedderUnavailableError, EmbeddingError

__all__ = ["QUERIES_KEPT", "CachedEmbedder", "default_cache_path"]

QUERIES_KEPT = 1024
"""Vectors of so many different queries stay in memory."""


class CachedEmbedder(EmbedderAround):
    """Another embedder whose document vectors are kept in a file, and those of recent queries in memory.

    Documents are known by the embedder's id and the text's SHA-256. New ones are embedded in batches,
    like lengths together, and written batch by batch: what an interrupted or failed run has embedded
    is there for the next one. Several threads and processes may share the file.
    """

    def __init__(self, embedder: Embedder, path: Path | str | None = None, *, batch_size: int = 512) -> None:
        """Opens nothing yet; the file is made when it is first needed.

        Args:
            embedder: Embeds what the file does not have.
            path: The file, shared by any number of embedders; `default_cache_path` where none is given.
            batch_size: Texts in one call of `embedder`, and at most lost to an interrupt.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}, not at least 1.")
        super().__init__(embedder)
        self._store = VectorStore(default_cache_path() if path is None else path)
        self._batch_size = batch_size
        self._queries: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def store(self) -> VectorStore:
        """The file, to be counted or pruned."""
        return self._store

    def __repr__(self) -> str:
        return f"CachedEmbedder({self._embedder!r}, {str(self._store.path)!r})"

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`; only new texts reach the other embedder.

        A batch that fails does not keep the others from being embedded and kept, unless the embedder
        cannot be reached at all.

        Raises:
            EmbeddingCacheError: the file cannot be used.
            EmbeddingError: some texts could not be embedded; says how many. The others are kept.
        """
        unique = list(dict.fromkeys(texts))
        known = self._store.get(self.id, unique, dim=self.dim)
        missing = sorted((text for text in unique if text not in known), key=len)
        done = len(unique) - len(missing)
        failure: EmbeddingError | None = None

        def report(within_batch: int, _: int = 0) -> None:
            if progress is not None:
                progress(done + within_batch, len(unique))

        report(0)
        for start in range(0, len(missing), self._batch_size):
            batch = missing[start : start + self._batch_size]
            try:
                rows = self._embed_batch(batch, report)
            except EmbeddingError as exc:
                failure = exc
                rows = {position: np.asarray(row, np.float32) for position, row in exc.embedded.items()}
            new = {batch[position]: row for position, row in rows.items()}
            self._store.put(self.id, new)
            known |= new
            done += len(batch)
            if isinstance(failure, EmbedderUnavailableError | DimensionMismatchError):
                break
        if failure is not None:
            raise _with_what_is_kept(failure, unique, known) from failure
        return self._rows(known, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`; the last 1,024 queries are remembered."""
        with self._lock:
            known = {text: self._queries[text] for text in texts if text in self._queries}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            answer = self._embedder.embed_queries(missing)
            rows = as_unit_rows(answer, n=len(missing), dim=self.dim, embedder_id=self.id)
            known |= {text: row.copy() for text, row in zip(missing, rows, strict=True)}
        with self._lock:
            self._queries |= known
            for text in known:
                self._queries.move_to_end(text)
            while len(self._queries) > QUERIES_KEPT:
                self._queries.popitem(last=False)
        return self._rows(known, texts)

    def _rows(self, known: Mapping[str, Vectors], texts: Sequence[str]) -> Vectors:
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, self.dim), np.float32)

    def _embed_batch(self, batch: list[str], progress: Progress) -> dict[int, Vectors]:
        answer = self._embedder.embed_documents(batch, progress=progress)
        return dict(enumerate(as_unit_rows(answer, n=len(batch), dim=self.dim, embedder_id=self.id)))


def _with_what_is_kept(
    failure: EmbeddingError, texts: Sequence[str], known: Mapping[str, Vectors]
) -> EmbeddingError:
    if isinstance(failure, DimensionMismatchError):
        return failure
    lost = sum(text not in known for text in texts)
    kind = EmbedderUnavailableError if isinstance(failure, EmbedderUnavailableError) else EmbeddingError
    return kind(
        f"{lost} of {len(texts)} texts could not be embedded: {failure} "
        "The others are kept in the cache; run again for the rest.",
        embedded={position: known[text] for position, text in enumerate(texts) if text in known},
    )
