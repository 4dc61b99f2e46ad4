"""Embedders without a model: real geometry, or failure as told."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, Progress, Vectors, as_unit_rows
from toolsearch.exceptions import EmbeddingError
from toolsearch.naming import split_words

_TRIGRAM_WEIGHT = 0.25


class HashingEmbedder:
    """Embeds by hashed words and character trigrams: texts that share words are near, others are not.

    The geometry is real and the same in every process: each feature adds or subtracts its weight at one
    of `dim` places, both chosen by its SHA-256, so unrelated texts have a cosine of about 0 +- 1/sqrt(dim).
    Words are cut as in identifiers and folded in case, so ``getUser`` and ``get user`` are one.
    A text without letters and digits gives a zero row.

    Source: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", ICML 2009.

    Attributes:
        document_calls, query_calls: The texts of each call, in order.
    """

    def __init__(self, dim: int = 256) -> None:
        self.dim = dim
        self.id = f"hashing-v1@{dim}"
        self.document_calls: list[tuple[str, ...]] = []
        self.query_calls: list[tuple[str, ...]] = []

    @property
    def embedded(self) -> list[str]:
        """Every document text that was embedded, in order, across calls."""
        return [text for call in self.document_calls for text in call]

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`."""
        self.document_calls.append(tuple(texts))
        rows = self._rows(texts)
        if progress is not None:
            progress(len(texts), len(texts))
        return rows

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, dim), float32; a text has the same vector as a query and as a document."""
        self.query_calls.append(tuple(texts))
        return self._rows(texts)

    def reads(self, text: str) -> float:
        """1.0: hashing knows every script."""
        del text
        return 1.0

    def _rows(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in split_words(text):
                for place, weight in _features(word.casefold(), self.dim):
                    row[place] += weight
        return as_unit_rows(rows, n=len(texts), dim=self.dim, embedder_id=self.id)


class FlakyEmbedder(EmbedderAround):
    """Another embedder that fails, or answers given rows, as told.

    Attributes:
        failures: What the next calls do, the first one first: raise this error, or answer for None. Each is
            taken off as it is used.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        failures: Iterable[BaseException | None] = (),
        rows: Mapping[str, Sequence[float]] | None = None,
        max_texts: int | None = None,
    ) -> None:
        """Wraps `embedder`.

        Args:
            failures: Each is for one call, of documents or queries.
            rows: Answers for these texts, handed out as they are: not of unit length, NaN, too short ...
            max_texts: A call with more raises `EmbeddingError`, as hosted models do.
        """
        super().__init__(embedder)
        self.failures = list(failures)
        self._given = dict(rows or {})
        self._max_texts = max_texts

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self._fail_if_told(texts)
        return self._with_given(texts, self._embedder.embed_documents(texts, progress=progress))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self._fail_if_told(texts)
        return self._with_given(texts, self._embedder.embed_queries(texts))

    def _fail_if_told(self, texts: Sequence[str]) -> None:
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        if self._max_texts is not None and len(texts) > self._max_texts:
            raise EmbeddingError(f"{len(texts)} texts in one call; at most {self._max_texts} are allowed.")

    def _with_given(self, texts: Sequence[str], rows: Vectors) -> Vectors:
        if not any(text in self._given for text in texts):
            return rows
        mixed = [self._given.get(text, row) for text, row in zip(texts, rows, strict=True)]
        return np.array(mixed, dtype=np.float32)


@lru_cache(maxsize=16_384)
def _features(word: str, dim: int) -> tuple[tuple[int, float], ...]:
    """Places and signed weights of a word: the word itself, and the trigrams of ``<word>``."""
    framed = f"<{word}>"
    trigrams = [framed[i : i + 3] for i in range(len(framed) - 2)]
    return (_place(word, 1.0, dim), *(_place(f"#{trigram}", _TRIGRAM_WEIGHT, dim) for trigram in trigrams))


def _place(feature: str, weight: float, dim: int) -> tuple[int, float]:
    digest = hashlib.sha256(feature.encode("utf-8", "surrogatepass")).digest()
    sign = 1.0 if digest[0] & 1 else -1.0
    return int.from_bytes(digest[1:9], "big") % dim, sign * weight
