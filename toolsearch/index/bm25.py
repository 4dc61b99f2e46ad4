"""`Bm25`: sums over postings, of every row, of given rows, or of the best without looking at most others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolsearch.index.postings import Floats, Ints, Postings

Rows: TypeAlias = NDArray[np.int64]

PAIR_WEIGHT = 0.5
"""What two words in a row add, as a share of what a word of the same rarity would."""

# Sums of the same weights in another order differ by less than this share.
_ROUNDING = 1e-5
# Promising rows that are scored in full to learn early what the best reach.
_POOL = 1024
# Up to so many rows that count, looking each of them up costs less than going through the postings.
_FEW = 2000
_BOUND_KEPT_FROM = 1024
# Measured over 1,000 to 100,000 tools with 3 to 44 terms: adding so many postings takes as long as looking a
# term up in the pool.
_POSTINGS_PER_LOOK_UP = 1000


@dataclass(frozen=True)
class Term:
    """A term of a query: `position` in the postings, and its idf, weighted for a pair."""

    position: int
    idf: float


class Bm25:
    """BM25 over postings: ``idf * count / (count + k1 * (1 - b + b * length / mean length))``, summed.

    A sum is the same to the last bit whichever method gives it. Weights are computed for a query, where they
    are needed: kept for all postings they would take as much memory as these.
    """

    def __init__(
        self, postings: Postings, *, k1: float, b: float, counted: NDArray[np.bool_] | None = None
    ) -> None:
        """`counted` (n,) says of which rows frequencies and the mean length are; None for all."""
        self._postings = postings
        self._counted = counted
        lengths = postings.lengths if counted is None else postings.lengths[counted]
        self._n = len(lengths)
        self._k1, self._b = k1, b
        self._mean = (float(lengths.mean(dtype=np.float64)) if self._n else 0.0) or 1.0
        # For all rows only once: of each part of a catalog that somebody may see they would fill the memory.
        self._norms = self._norms_of(lengths) if counted is None else None
        self._bounds: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._postings)

    def _norms_of(self, lengths: Floats) -> Floats:
        norms = self._k1 * (1 - self._b + self._b * lengths.astype(np.float64) / self._mean)
        return norms.astype(np.float32)

    @property
    def absent_idf(self) -> float:
        """What a token counts that no row holds."""
        return self._idf(0)

    def terms(self, positions: Ints, *, pairs: bool = False) -> list[Term]:
        """The terms at these positions, pairs or single tokens, as far as a row that counts holds them."""
        share = PAIR_WEIGHT if pairs else 1.0
        counted = ((int(i), self._frequency(i)) for i in positions)
        return [Term(i, share * self._idf(frequency)) for i, frequency in counted if frequency]

    def _frequency(self, position: int) -> int:
        if self._counted is None:
            return self._postings.frequency(position)
        return int(np.count_nonzero(self._counted[self._postings.slice(position)[0]]))

    def _idf(self, frequency: int) -> float:
        return float(np.log(1 + (self._n - frequency + 0.5) / (frequency + 0.5)))

    def of_all(self, terms: Sequence[Term]) -> Floats:
        """(n,) the sum of each row."""
        sums = np.zeros(len(self), dtype=np.float32)
        for term in terms:
            rows, weights = self._weighed(term)
            sums[rows] += weights
        return sums

    def summed_sooner(self, terms: Sequence[Term]) -> bool:
        """Whether `of_all` and `top` take less time than `best` and `of_rows`.

        `of_all` goes through every posting and every row, `best` looks every term up for each one that it
        has taken: with many terms it is slow among any number of rows, with few the best among very many.
        """
        n_postings = sum(self._postings.frequency(term.position) for term in terms)
        return len(self) / 2 + n_postings <= _POSTINGS_PER_LOOK_UP * len(terms) * (len(terms) + 4)

    def of_rows(self, terms: Sequence[Term], rows: Rows) -> Floats:
        """(m,) the sum of each of `rows`, which ascend."""
        sums = np.zeros(len(rows), dtype=np.float32)
        for term in terms:
            places, weights = self._looked_up(term, rows)
            sums[places] += weights
        return sums

    def best(self, terms: Sequence[Term], k: int, allowed: NDArray[np.bool_] | None = None) -> Rows:
        """The rows of the best `k` sums above 0, and all that tie with the last of them, ascending.

        `allowed` (n,) says which rows count. Terms are taken by rarity. Once the others together weigh less
        than the `k`-th best row is known to have, a row that holds none of those taken cannot be among the
        best: the others are looked up in the rows that can.

        Source: Turtle and Flood, Information Processing and Management 1995 (MaxScore, term at a time).
        """
        if allowed is not None and np.count_nonzero(allowed) <= _FEW:
            found = np.flatnonzero(allowed)
            return top(found, self.of_rows(terms, found), k)
        ordered = sorted(terms, key=lambda term: (self._postings.frequency(term.position), term.position))
        # What the terms from each on can add, and a little more for rounding.
        bounds = [(1 + _ROUNDING) * self._bound(term) for term in ordered]
        rest = [*np.cumsum(bounds[::-1])[::-1], 0.0]
        found, values, taken, floor = self._gathered(ordered, rest, k, allowed)
        for i in range(taken, len(ordered)):
            kept = values + np.float32(rest[i]) >= floor
            found, values = found[kept], values[kept]
            if i == taken:
                order = np.argsort(found)
                found, values = found[order], values[order]
            places, weights = self._looked_up(ordered[i], found)
            values[places] += weights
            floor = max(floor, (1 - _ROUNDING) * _kth(values, k))
        found = np.sort(found[values >= (1 - _ROUNDING) * _kth(values, k)])
        return top(found, self.of_rows(terms, found), k)

    def _gathered(
        self, ordered: Sequence[Term], rest: Sequence[float], k: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[Rows, Floats, int, float]:
        """The rows that may be among the best, what the terms taken add to each, and how many these are.

        Last, the least that the `k`-th best row has, or 0 where that is not known.
        """
        sums = np.zeros(len(self), dtype=np.float32)
        found = np.empty(0, dtype=np.int32)
        floor = 0.0
        for i, term in enumerate(ordered):
            if floor > rest[i]:
                return found.astype(np.int64), sums[found], i, floor
            rows, weights = self._weighed(term)
            if allowed is not None:
                counts = allowed[rows]
                rows, weights = rows[counts], weights[counts]
            new = rows[sums[rows] == 0] if i else rows
            sums[rows] += weights
            found = np.concatenate([found, new]) if i else new
            if len(found) >= k and len(new) and i + 1 < len(ordered):
                pool = np.sort(_largest(found, sums, max(k, _POOL))).astype(np.int64)
                reached = sums[pool]
                for other in ordered[i + 1 :]:
                    places, added = self._looked_up(other, pool)
                    reached[places] += added
                floor = max(floor, (1 - _ROUNDING) * _kth(reached, k))
        return found.astype(np.int64), sums[found], len(ordered), floor

    def _weighed(self, term: Term) -> tuple[Ints, Floats]:
        rows, counts = self._postings.slice(term.position)
        return rows, self._weights(term, rows, counts)

    def _weights(self, term: Term, rows: Ints, counts: Floats) -> Floats:
        norms = self._norms_of(self._postings.lengths[rows]) if self._norms is None else self._norms[rows]
        weights: Floats = counts / (counts + norms) * np.float32(term.idf)
        return weights

    def _looked_up(self, term: Term, rows: Rows) -> tuple[NDArray[np.intp], Floats]:
        """Which of `rows`, by their places, hold the term, and what it weighs there."""
        held, counts = self._postings.slice(term.position)
        places = np.minimum(np.searchsorted(held, rows.astype(np.int32)), len(held) - 1)
        hits = np.flatnonzero(held[places] == rows)
        places = places[hits]
        return hits, self._weights(term, held[places], counts[places])

    def _bound(self, term: Term) -> float:
        """The most that a term weighs in any row."""
        bound = self._bounds.get(term.position)
        if bound is None:
            bound = float(self._weighed(term)[1].max())
            if self._postings.frequency(term.position) >= _BOUND_KEPT_FROM:
                self._bounds[term.position] = bound
        return bound


def _largest(rows: Ints, sums: Floats, n: int) -> Ints:
    return rows[np.argpartition(sums[rows], -n)[-n:]] if len(rows) > n else rows


def _kth(values: Floats, k: int) -> float:
    """The `k`-th largest of `values`; 0 where there are fewer."""
    return float(np.partition(values, -k)[-k]) if len(values) >= k else 0.0


def top(rows: Rows, sums: Floats, k: int) -> Rows:
    """The `rows` (m,) of the best `k` of `sums` (m,) above 0, and all that tie with the last of them."""
    positive = sums > 0
    rows, sums = rows[positive], sums[positive]
    return rows[sums >= _kth(sums, k)]
