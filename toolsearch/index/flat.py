"""Unit rows that are compared one by one with a query: exact, and the same to the last bit on every path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import faiss
import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Vectors

Rows: TypeAlias = NDArray[np.int64]
Scores: TypeAlias = NDArray[np.float32]

VECTORS_FILE = "vectors.faiss"

TOGETHER_FROM = 8
"""So many queries are compared with all rows in less time together than one by one."""

# OpenBLAS multiplies matrices on one thread where no more than so many products of numbers are added up.
# Its other threads would go on spinning after the work, and take the processor from what comes next.
_ONE_THREAD = 2**18
_QUERIES = 16
# 32 MB of products.
_MOST_PRODUCTS = 2**23


class RowMatrix:
    """The rows of a FAISS `IndexFlat`, read where FAISS keeps them.

    Each score comes from one FAISS kernel that sees one row at a time, so it does not depend on the other
    rows, the batch, or the number of threads. `IndexFlat.search` and BLAS both round differently by the
    size of the problem, which would tear equal tools apart and let a filter change a score.
    """

    def __init__(self, index: Any, *, owner: Any = None) -> None:
        """View the rows of `index`, and keep `owner`, which frees them, alive."""
        self._index = index
        self._owner = owner
        self._n = int(index.ntotal)
        self.dim = int(index.d)
        # Bytes, because rows that are mapped from a file need not be aligned as floats.
        rows = (
            faiss.rev_swig_ptr(index.codes.data(), index.codes.size()) if self._n else np.empty(0, np.uint8)
        )
        self._rows: NDArray[np.uint8] = rows.reshape(self._n, 4 * self.dim)
        self._rows.flags.writeable = False

    def __len__(self) -> int:
        return self._n

    def take(self, rows: Rows | None = None) -> Vectors:
        """A copy of `rows` (m,), or of all, as (m, dim)."""
        some = self._rows.copy() if rows is None else np.take(self._rows, rows, axis=0)
        return some.view(np.float32)

    def scores(self, query: Scores, rows: Rows | None = None) -> Scores:
        """Inner products of `query` (dim,) with `rows` (m,), or with all, cut to [-1, 1]."""
        if rows is None:
            return _inner_products(query, self._index.get_xb(), self._n)
        some = self.take(rows)
        return _inner_products(query, faiss.swig_ptr(some), len(some))

    def candidates(self, queries: Vectors, k: int, rows: Rows | None = None) -> list[Rows]:
        """For each of `queries` (q, dim), unit rows, the few of `rows` that may be its `k` best, ascending.

        `rows` ascend; None stands for all. Every row is among them whose score is at least the `k`-th best.
        One product of matrices takes a tenth of the time of a scan for each query. It rounds otherwise, so
        that rows within the rounding error of the `k`-th best are candidates as well.
        """
        n = self._n if rows is None else len(rows)
        if k >= n:
            return [np.arange(n) if rows is None else rows] * len(queries)
        products = np.empty((len(queries), n), dtype=np.float32)
        size = max(1, _ONE_THREAD // (_QUERIES * self.dim))
        for start in range(0, n, size):
            some = np.arange(start, min(start + size, n)) if rows is None else rows[start : start + size]
            block = self.take(some).T
            for i in range(0, len(queries), _QUERIES):
                part = products[i : i + _QUERIES, start : start + len(some)]
                np.matmul(queries[i : i + _QUERIES], block, out=part)
        # A sum of dim products of unit rows is off by at most dim * 2**-24, whatever its order, so two sums
        # differ by twice that: the k-th best, and a row that is better than it. (Higham, Accuracy and
        # Stability of Numerical Algorithms, 2002, section 3.1)
        margin = np.float32(4 * self.dim * 2.0**-24)
        found = (np.flatnonzero(some >= _kth_best(some, k) - margin) for some in products)
        return [places if rows is None else rows[places] for places in found]


def _kth_best(scores: Scores, k: int) -> np.float32:
    best: np.float32 = np.partition(scores, len(scores) - k)[len(scores) - k]
    return best


def _inner_products(query: Scores, matrix: Any, n: int) -> Scores:
    scores = np.empty(n, dtype=np.float32)
    if n:
        faiss.fvec_inner_products_ny(faiss.swig_ptr(scores), faiss.swig_ptr(query), matrix, len(query), n)
    return np.clip(scores, -1.0, 1.0, out=scores)


def write_index(index: Any, path: Path) -> None:
    """Write a FAISS index as FAISS would.

    Raises:
        OSError: it could not be written to the last byte, which FAISS itself may keep to itself.
    """
    failures: list[OSError] = []

    def write(content: bytes) -> None:
        try:
            file.write(content)
        except OSError as exc:
            failures.append(exc)
            raise

    with path.open("wb") as file:
        try:
            faiss.write_index(index, faiss.PyCallbackIOWriter(write))
        except RuntimeError:
            if failures:
                raise failures[0] from None
            raise


@contextmanager
def one_thread() -> Iterator[None]:
    """FAISS works on one thread: with several, what it builds may depend on which of them is first."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


class FlatRows:
    """Every row, in a FAISS `IndexFlatIP`."""

    kind: Literal["flat"] = "flat"

    def __init__(self, index: Any) -> None:
        self._index = index
        self._matrix = RowMatrix(index)
        self.dim = self._matrix.dim

    @classmethod
    def build(cls, vectors: Vectors) -> FlatRows:
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        return cls(index)

    @classmethod
    def read(cls, folder: Path, *, mmap: bool) -> FlatRows:
        return cls(faiss.read_index(str(folder / VECTORS_FILE), faiss.IO_FLAG_MMAP_IFC if mmap else 0))

    def write(self, folder: Path) -> None:
        write_index(self._index, folder / VECTORS_FILE)

    def __len__(self) -> int:
        return len(self._matrix)

    def take(self, rows: Rows) -> Vectors:
        return self._matrix.take(rows)

    def scores(self, query: Scores, rows: Rows | None = None) -> Scores:
        return self._matrix.scores(query, rows)

    def near(self, query: Scores, k: int, rows: Rows | None) -> None:
        """None: there is no shorter way than to compare all."""

    def near_each(self, queries: Vectors, k: int, rows: Rows | None) -> list[Rows | None]:
        """For each query the rows to compare exactly; None where that is all of them, as for few queries."""
        together = _MOST_PRODUCTS // max(len(self) if rows is None else len(rows), 1)
        found: list[Rows | None] = []
        for start in range(0, len(queries), max(together, 1)):
            some = queries[start : start + max(together, 1)]
            alone = len(some) < TOGETHER_FROM
            found += [None] * len(some) if alone else self._matrix.candidates(some, k, rows)
        return found

    def updated(self, source_rows: Rows, vectors: Vectors) -> FlatRows:
        fresh = source_rows < 0
        merged = np.empty((len(source_rows), self.dim), dtype=np.float32)
        merged[~fresh] = self.take(source_rows[~fresh])
        merged[fresh] = vectors
        return FlatRows.build(merged)
