"""`VectorIndex`: the rows most like a query, in an order that is part of the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toolsearch.checks import check_choice
from toolsearch.embedders.base import Vectors
from toolsearch.exceptions import DimensionMismatchError
from toolsearch.index.flat import FlatRows, Rows, Scores
from toolsearch.index.graph import GraphRows
from toolsearch.index.inverted import InvertedRows

Kind: TypeAlias = Literal["flat", "ivf", "hnsw"]
BuildKind: TypeAlias = Literal[Kind, "auto"]

FLAT_UP_TO_VALUES = 20_000 * 384
"""Rows times dimensions up to which ``auto`` scans, as what is exact may take a third of the time that the
bundled embedder takes for a query: 2.5 ms on two cores."""

_LENGTH_TOLERANCE = 1e-3


@dataclass(frozen=True)
class RowScores:
    """Rows (m,) int64 and their scores (m,) float32 in [-1, 1], best first, ties by row."""

    rows: Rows
    scores: Scores

    def __len__(self) -> int:
        return len(self.rows)


class VectorIndex:
    """Unit rows and their cosine with a query. Immutable; safe to search from several threads."""

    def __init__(self, rows: FlatRows | InvertedRows | GraphRows) -> None:
        """Use `build` or `read`."""
        self._rows = rows

    @classmethod
    def build(cls, vectors: Vectors, *, kind: BuildKind = "auto", seed: int = 0) -> VectorIndex:
        """An index of `vectors` (n, dim), unit rows or zero rows; a zero row is like nothing.

        `kind` is ``flat`` (exact), ``ivf`` or ``hnsw`` (approximate, faster over many rows) or ``auto``: flat
        up to `FLAT_UP_TO_VALUES`, then ``ivf``. The same vectors, kind and seed give the same index, byte for
        byte.

        Raises:
            ValueError: a row is neither of length 1 nor zero.
        """
        vectors = _unit_rows(vectors)
        check_choice("kind", kind, BuildKind)
        if kind == "auto":
            kind = "flat" if vectors.size <= FLAT_UP_TO_VALUES else "ivf"
        if kind == "flat":
            return cls(FlatRows.build(vectors))
        if kind == "ivf":
            return cls(InvertedRows.build(vectors, seed=seed))
        return cls(GraphRows.build(vectors, seed=seed))

    @classmethod
    def read(
        cls, folder: Path, *, kind: Kind, recall_at_10: float | None = None, mmap: bool = True
    ) -> VectorIndex:
        """The index that `write` left in `folder`, by default mapped into memory and not copied.

        `recall_at_10` is what was measured for an approximate index; without it, it is measured again.

        Raises:
            ValueError: the files do not belong together.
        """
        if kind == "flat":
            return cls(FlatRows.read(folder, mmap=mmap))
        if kind == "ivf":
            return cls(InvertedRows.read(folder, mmap=mmap, recall_at_10=recall_at_10))
        return cls(GraphRows.read(folder, mmap=mmap, recall_at_10=recall_at_10))

    def write(self, folder: Path) -> None:
        """Write ``vectors.faiss`` and, unless it is flat, which rows are equal, and the lists of ``ivf``."""
        self._rows.write(folder)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def dim(self) -> int:
        return self._rows.dim

    @property
    def kind(self) -> Kind:
        return self._rows.kind

    @property
    def recall_at_10(self) -> float:
        """Share of the exact ten nearest rows that a search finds: 1 for ``flat``, else measured."""
        return 1.0 if isinstance(self._rows, FlatRows) else self._rows.recall_at_10

    def search(
        self, queries: Vectors, k: int, allowed: NDArray[np.bool_] | None = None, *, exact: bool = False
    ) -> list[RowScores]:
        """For each of `queries` (q, dim), unit rows, its `k` most similar rows; fewer where there are fewer.

        `allowed` (n,) says which rows count; under a narrow filter the answer is exact for every kind.
        `exact` compares all of them in any case, to see what an approximate index misses.
        Of several equally similar rows the first ones take the last places. A zero query matches nothing.

        Raises:
            DimensionMismatchError: the queries have another length than the rows.
            ValueError: `k` below 1, a mask of another shape, or a query that is no unit row.
        """
        if k < 1:
            raise ValueError(f"k is {k}; ask for at least 1.")
        if allowed is not None and (allowed.dtype != np.bool_ or allowed.shape != (len(self),)):
            raise ValueError(f"The mask is {allowed.dtype} {allowed.shape}; expected bool ({len(self)},).")
        queries = _unit_rows(queries, dim=self.dim)
        rows = None if allowed is None else np.flatnonzero(allowed)
        return [
            self._compared(query, k, rows if near is None else near)
            for query, near in zip(queries, self._near(queries, k, rows, exact=exact), strict=True)
        ]

    def _near(self, queries: Vectors, k: int, rows: Rows | None, *, exact: bool) -> Iterable[Rows | None]:
        """For each query the rows that may be its best, or None for all of `rows`."""
        if isinstance(self._rows, FlatRows):
            return self._rows.near_each(queries, k, rows)
        if exact:
            return [None] * len(queries)
        return (self._rows.near(query, k, rows) if query.any() else None for query in queries)

    def _compared(self, query: Scores, k: int, rows: Rows | None) -> RowScores:
        if not query.any():
            return RowScores(np.empty(0, np.int64), np.empty(0, np.float32))
        scores = self._rows.scores(query, rows)
        return _best(np.arange(len(scores)) if rows is None else rows, scores, k)

    def similarity(self, query: Scores, rows: ArrayLike) -> Scores:
        """The cosine of `query` (dim,), a unit row, with each of `rows` (m,): the scores that `search` gives.

        Raises:
            DimensionMismatchError: the query has another length than the rows.
        """
        (query,) = _unit_rows(query[None, :], dim=self.dim)
        return self._rows.scores(query, np.asarray(rows, dtype=np.int64))

    def vector(self, row: int) -> Scores:
        """A copy of the vector (dim,) of a row."""
        vector: Scores = self._rows.take(np.array([row]))[0]
        return vector

    def check(self) -> None:
        """Look at every vector.

        Raises:
            ValueError: one is neither of length 1 nor zero.
        """
        _unit_rows(self._rows.take(np.arange(len(self))))

    def updated(self, source_rows: ArrayLike, vectors: Vectors) -> VectorIndex:
        """A new index whose row i is row ``source_rows[i]`` of this one, or the next of `vectors` for -1.

        A flat index equals one that is built from the same rows. An ``ivf`` index keeps its centres until the
        rows have doubled or halved; an ``hnsw`` index links only the vectors that are new, until a quarter of
        its nodes have lost their rows. Then it is built anew.

        Raises:
            DimensionMismatchError: `vectors` have another length than the rows.
            ValueError: more or fewer vectors than rows marked -1, or one that is no unit row.
        """
        source = np.asarray(source_rows, dtype=np.int64)
        vectors = _unit_rows(vectors, dim=self.dim)
        n_fresh = int(np.count_nonzero(source < 0))
        if n_fresh != len(vectors):
            raise ValueError(f"{n_fresh} rows are marked -1, but there are {len(vectors)} new vectors.")
        return VectorIndex(self._rows.updated(source, vectors))


def _best(rows: Rows, scores: Scores, k: int) -> RowScores:
    """The `k` best of `rows`, which ascend; all that tie with the k-th place stand for it, by row."""
    if k < len(scores):
        kth = np.partition(scores, len(scores) - k)[len(scores) - k]
        keep = np.flatnonzero(scores >= kth)
        rows, scores = rows[keep], scores[keep]
    order = np.argsort(-scores, kind="stable")[:k]
    return RowScores(rows[order], scores[order])


def _unit_rows(vectors: Vectors, *, dim: int | None = None) -> Vectors:
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.ndim != 2:
        raise ValueError(f"Vectors of shape {rows.shape}; expected (n, dim).")
    if dim is not None and rows.shape[1] != dim:
        raise DimensionMismatchError(expected=dim, got=rows.shape[1])
    squares = np.einsum("ij,ij->i", rows, rows)
    good = (squares == 0) | (np.abs(squares - 1) <= 2 * _LENGTH_TOLERANCE)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise ValueError(f"Row {row} has the length {np.sqrt(squares[row]):.4g}; expected unit rows.")
    return rows
