"""Weighted counts of terms by row: what BM25 is computed from, and what an update edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Postings:
    """Where each term occurs. A term is a token, or two tokens in a row.

    The rows of term i, ascending, and its counts there, are ``rows[starts[i]:starts[i + 1]]`` and the same
    slice of `counts`. Equal content means equal arrays, in whatever order it was collected.

    Attributes:
        vocabulary: The tokens, sorted; their positions are their ids.
        terms: (t,) ``first_id << 32 | second_id + 1`` of each term, ascending; a token by itself ends in 0.
        starts: (t + 1,) first posting of each term.
        rows: (p,) row of each posting.
        counts: (p,) weighted count of each posting.
        lengths: (n,) weighted length of each row.
    """

    vocabulary: list[str]
    terms: Longs
    starts: Longs
    rows: Ints
    counts: Floats
    lengths: Floats

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def frequencies(self) -> Longs:
        """(t,) how many rows hold each term."""
        return np.diff(self.starts)

    @cached_property
    def is_pair(self) -> NDArray[np.bool_]:
        """(t,) which terms are two tokens in a row."""
        return np.asarray(self.terms & _SECOND, dtype=bool)

    def frequency(self, position: int) -> int:
        """How many rows hold the term at `position`."""
        return int(self.starts[position + 1] - self.starts[position])

    def slice(self, position: int) -> tuple[Ints, Floats]:
        """The rows, ascending, that hold the term at `position`, and its counts there; not copied."""
        postings = slice(int(self.starts[position]), int(self.starts[position + 1]))
        return self.rows[postings], self.counts[postings]

    def find(self, tokens: Sequence[str]) -> tuple[Ints, Ints]:
        """Positions, ascending, of the terms that are one of `tokens`, and of those that are two in a row."""
        ids = [self._ids.get(token, -1) for token in tokens]
        pairs = {term(a, b) for a, b in pairwise(ids) if a >= 0 and b >= 0}
        return self._positions({term(i) for i in ids if i >= 0}), self._positions(pairs)

    def moved(self, destination: Ints, new: Postings, new_rows: Ints, n: int) -> Postings:
        """Postings of `n` rows, made of these and `new` ones.

        Old row i goes to ``destination[i]``, or is left out where that is -1; row i of `new` goes to
        ``new_rows[i]``.
        """
        lengths = np.zeros(n, dtype=np.float32)
        lengths[destination[destination >= 0]] = self.lengths[destination >= 0]
        lengths[new_rows] = new.lengths
        places = destination[destination >= 0]
        if (np.diff(places) > 0).all() and (np.diff(new_rows) > 0).all():
            return self._merged(destination, new, new_rows, lengths)
        rows = destination[self.rows]
        kept = rows >= 0
        return collect(
            [*self.vocabulary, *new.vocabulary],
            np.concatenate([self._term_of_each()[kept], new._term_of_each(offset=len(self.vocabulary))]),
            np.concatenate([rows[kept], new_rows[new.rows]]),
            np.concatenate([self.counts[kept], new.counts]),
            lengths,
        )

    def _merged(self, destination: Ints, new: Postings, new_rows: Ints, lengths: Floats) -> Postings:
        """As `moved`, where no row overtakes another: both postings stay in order and need no sorting."""
        rows = destination[self.rows]
        kept = rows >= 0
        # Where the kept postings of each term start.
        ends = np.concatenate([[0], np.cumsum(kept)])
        starts = ends[self.starts]
        held = np.flatnonzero(np.diff(starts) > 0)
        rows, counts = rows[kept], self.counts[kept]
        occurs = np.zeros(len(self.vocabulary), dtype=bool)
        occurs[self.terms[held] >> 32] = True
        names = [self.vocabulary[i] for i in np.flatnonzero(occurs)]
        vocabulary = sorted({*names, *new.vocabulary})
        ids = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        old_terms = _renamed(self.terms[held], self.vocabulary, ids)
        new_terms = _renamed(new.terms, new.vocabulary, ids)
        # Terms that are not there yet start where the next one that is does.
        beside = np.searchsorted(old_terms, new_terms)
        there = np.isin(new_terms, old_terms, assume_unique=True)
        firsts = np.append(starts[:-1][held], len(rows))[beside]
        lasts = np.append(starts[1:][held], len(rows))[np.minimum(beside, len(held))]
        arriving = new_rows[new.rows]
        places = np.repeat(firsts, new.frequencies)
        for i in np.flatnonzero(there).tolist():
            some = slice(int(new.starts[i]), int(new.starts[i + 1]))
            places[some] += np.searchsorted(rows[firsts[i] : lasts[i]], arriving[some])
        terms = np.union1d(old_terms, new_terms)
        frequencies = np.zeros(len(terms), dtype=np.int64)
        frequencies[np.searchsorted(terms, old_terms)] = np.diff(starts)[held]
        frequencies[np.searchsorted(terms, new_terms)] += new.frequencies
        return Postings(
            vocabulary=vocabulary,
            terms=terms,
            starts=np.concatenate([[0], np.cumsum(frequencies)]),
            rows=np.insert(rows, places, arriving),
            counts=np.insert(counts, places, new.counts),
            lengths=lengths,
        )

    @cached_property
    def _ids(self) -> dict[str, int]:
        return dict(zip(self.vocabulary, range(len(self.vocabulary)), strict=True))

    def _positions(self, terms: set[int]) -> Ints:
        wanted = np.array(sorted(terms), dtype=np.int64)
        places = np.searchsorted(self.terms, wanted)
        if len(places) and places[-1] == len(self.terms):
            wanted, places = wanted[places < len(self.terms)], places[places < len(self.terms)]
        known: Ints = places[self.terms[places] == wanted].astype(np.int32)
        return known

    def _term_of_each(self, *, offset: int = 0) -> Longs:
        """The term of each posting, with `offset` added to its ids."""
        shift = np.where(self.is_pair, term(offset, offset - 1), term(offset))
        return np.repeat(self.terms + shift, self.frequencies)


_SECOND = (1 << 32) - 1


def term(first: int, second: int = -1) -> int:
    """The term of one token, or of two in a row, by their ids."""
    return first << 32 | second + 1


def _renamed(terms: Longs, names: Sequence[str], ids: Mapping[str, int]) -> Longs:
    """`terms` over positions in `names` as terms over `ids`, in the same order."""
    # Position 0 stands for no second token.
    places = np.array([-1, *(ids.get(name, -1) for name in names)], dtype=np.int64)
    renamed: Longs = places[(terms >> 32) + 1] << 32 | places[terms & _SECOND] + 1
    return renamed


def collect(names: list[str], terms: Longs, rows: Ints, counts: Floats, lengths: Floats) -> Postings:
    """Postings of one count for each (term, row), in any order.

    The ids in `terms` are positions in `names`, which may repeat a token or hold some that do not occur.
    """
    occurs = np.zeros(len(names), dtype=bool)
    occurs[terms >> 32] = True
    vocabulary = sorted({names[i] for i in np.flatnonzero(occurs)})
    ids = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
    terms = _renamed(terms, names, ids)
    # Sorting by terms alone keeps rows that ascend, and takes half the time.
    in_order = len(rows) < 2 or bool((rows[1:] >= rows[:-1]).all())
    order = np.argsort(terms, kind="stable") if in_order else np.lexsort((rows, terms))
    ordered = terms[order]
    first_of_term = np.flatnonzero(np.diff(ordered, prepend=-1))
    return Postings(
        vocabulary=vocabulary,
        terms=ordered[first_of_term],
        starts=np.append(first_of_term, len(ordered)),
        rows=rows[order],
        counts=counts[order],
        lengths=lengths,
    )
