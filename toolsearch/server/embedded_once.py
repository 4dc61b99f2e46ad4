"""`BatchedEmbedder`: the queries of several searches embedded together, while the first are searched for."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, Progress, Vectors

_CHUNK = 16
"""Measured: a text of ten tokens costs as much among 16 as among 64: two fifths of what it costs alone."""

_EMBEDDING = 2
"""Chunks that are embedded at once; an embedder may have threads of its own beside."""
_log = logging.getLogger("toolsearch.server")


@dataclass(frozen=True)
class _Coming:
    """A row of vectors that are being embedded."""

    rows: Future[Vectors]
    place: int


_ahead: ContextVar[Mapping[str, _Coming] | None] = ContextVar("_ahead", default=None)


class BatchedEmbedder(EmbedderAround):
    """Another embedder, which within `ahead` embeds given queries together and answers from that.

    Nothing is kept beyond it: how long a search takes must not tell what others have searched for.
    """

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        ahead = _ahead.get() or {}
        if not texts or any(text not in ahead for text in texts):
            return self._embedder.embed_queries(texts)
        try:
            return np.stack([ahead[text].rows.result()[ahead[text].place] for text in texts])
        except Exception as exc:  # noqa: BLE001 - an embedder may be anybody's
            _log.warning("Queries of a batch could not be embedded together: %s", type(exc).__name__)
            # Asked again for this search alone, which says what became of that.
            return self._embedder.embed_queries(texts)

    @contextmanager
    def ahead(self, texts: Sequence[str]) -> Iterator[None]:
        """Begin to embed `texts` in their order, for the searches of this thread within."""
        distinct = list(dict.fromkeys(texts))
        executor = ThreadPoolExecutor(_EMBEDDING, thread_name_prefix="toolsearch-ahead")
        coming: dict[str, _Coming] = {}
        for begin in range(0, len(distinct), _CHUNK):
            chunk = distinct[begin : begin + _CHUNK]
            rows = executor.submit(_embedded, self._embedder, chunk)
            coming.update({text: _Coming(rows, place) for place, text in enumerate(chunk)})
        token = _ahead.set(coming)
        try:
            yield
        finally:
            _ahead.reset(token)
            executor.shutdown(cancel_futures=True)


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


def _embedded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    rows = embedder.embed_queries(texts)
    if len(rows) != len(texts):
        raise ValueError(f"{len(rows)} rows for {len(texts)} texts")
    return rows
