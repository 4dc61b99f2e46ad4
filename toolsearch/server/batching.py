"""`BatchedEmbedder`: the queries of several searches embedded in one go."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, Progress, Vectors

_log = logging.getLogger("toolsearch.server")
_ahead: ContextVar[Mapping[str, Vectors] | None] = ContextVar("_ahead", default=None)


class BatchedEmbedder(EmbedderAround):
    """Another embedder, which within `ahead` embeds given queries at once and answers from that.

    Nothing is kept beyond it: how long a search takes must not tell what others have searched for.
    """

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        ahead = _ahead.get() or {}
        if not texts or any(text not in ahead for text in texts):
            return self._embedder.embed_queries(texts)
        return np.stack([ahead[text] for text in texts])

    @contextmanager
    def ahead(self, texts: Sequence[str]) -> Iterator[None]:
        """Embed `texts` now, for the searches of this thread within."""
        distinct = list(dict.fromkeys(texts))
        rows: Mapping[str, Vectors] = {}
        try:
            rows = (
                dict(zip(distinct, self._embedder.embed_queries(distinct), strict=True)) if distinct else {}
            )
        except Exception as exc:  # noqa: BLE001 - an embedder may be anybody's
            # Each search asks it again, and says what became of that.
            _log.warning("The queries of a batch could not be embedded at once: %s", type(exc).__name__)
        token = _ahead.set(rows)
        try:
            yield
        finally:
            _ahead.reset(token)


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
