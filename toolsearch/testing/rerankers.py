"""A reranker without a model: shared words count, or it fails as told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from toolsearch.naming import split_words
from toolsearch.rerankers.base import LogOdds


class WordReranker:
    """Scores by words: the log odds are log((shared + 0.5) / (missing + 0.5)) over the query's words.

    Attributes:
        failures: What the next calls do, the first one first: raise this error, or answer for None. Each is
            taken off as it is used.
        calls: The query and the documents of each call, in order.
    """

    id = "words-v1"

    def __init__(self, *, failures: Iterable[BaseException | None] = ()) -> None:
        self.failures = list(failures)
        self.calls: list[tuple[str, tuple[str, ...]]] = []

    def scores(self, query: str, documents: Sequence[str]) -> LogOdds:
        """Log odds (n,) that each document serves the query."""
        self.calls.append((query, tuple(documents)))
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        asked = _words(query)
        shared = np.array([len(asked & _words(document)) for document in documents], dtype=np.float64)
        return np.log((shared + 0.5) / (len(asked) - shared + 0.5))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in split_words(text)}
