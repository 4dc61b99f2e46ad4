"""Two encoders side by side: each query is embedded by the one that reads it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolsearch.embedders.base import Embedder, Progress, Vectors, as_unit_rows

READS_ENOUGH = 0.75
"""What the first encoder must read of a query to be asked; a Chinese word has few letters."""

# A half, so that the first encoder's cosines keep every bit when they are scaled back. Of a row's squared
# length three quarters are left to the second, whose cosines then come out 1.7 times as large: as those of
# an encoder for many languages run lower, about as large as the first's. See docs/languages.md.
_FIRST = 0.5
_SECOND = 0.75**0.5


class JoinedEmbedder:
    """Embeds documents with both of two encoders, and each query with the one that reads it.

    A row holds a part for each encoder. A query has only the part of its own, the other is zero, so its
    products with documents are cosines of this encoder alone. A query that the first encoder reads has the
    same scores, to the last bit, as with the first encoder by itself.

    Rows are as long as those of both together, and so are the time and the space that they take.

    Attributes:
        cosine_scale: See `toolsearch.embedders.base.cosine_scale`.
    """

    cosine_scale = 1 / _FIRST

    def __init__(self, first: Embedder, second: Embedder) -> None:
        """Loads nothing that the two do not load.

        Args:
            first: For the queries that it reads: mostly English.
            second: For those that it reads better than `first`.
        """
        self.first = first
        self.second = second

    def __repr__(self) -> str:
        return f"JoinedEmbedder({self.first!r}, {self.second!r})"

    @property
    def id(self) -> str:
        """The ids of both, joined by a plus sign."""
        return f"{self.first.id}+{self.second.id}"

    @property
    def dim(self) -> int:
        """The dimensions of both."""
        return self.first.dim + self.second.dim

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`.

        A document that only one encoder can embed at all has that part alone, at full length.

        Raises:
            EmbeddingError: one of the two failed.
        """
        n = len(texts)

        def half(done: int, total: int) -> None:
            if progress is not None:
                progress(done // 2, total)

        def other_half(done: int, total: int) -> None:
            if progress is not None:
                progress((total + done) // 2, total)

        rows = np.zeros((n, self.dim), dtype=np.float32)
        rows[:, : self.first.dim] = _FIRST * self.first.embed_documents(texts, progress=half)
        rows[:, self.first.dim :] = _SECOND * self.second.embed_documents(texts, progress=other_half)
        return as_unit_rows(rows, n=n, dim=self.dim, embedder_id=self.id)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`: each with the part of one encoder."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for_second = np.array([self._second_reads_better(text) for text in texts], dtype=bool)
        for chosen, embedder, columns in (
            (np.flatnonzero(~for_second), self.first, slice(None, self.first.dim)),
            (np.flatnonzero(for_second), self.second, slice(self.first.dim, None)),
        ):
            if len(chosen):
                rows[chosen, columns] = embedder.embed_queries([texts[i] for i in chosen.tolist()])
        return rows

    def reads(self, text: str) -> float:
        """What the first encoder reads of it; half of what the second does where that one is asked.

        Half, for how large its cosines are where nothing fits is not known: see `Embedder.reads`.
        """
        if self._second_reads_better(text):
            return 0.5 * self.second.reads(text)
        return self.first.reads(text)

    def _second_reads_better(self, text: str) -> bool:
        read = self.first.reads(text)
        return read < READS_ENOUGH and self.second.reads(text) > read
