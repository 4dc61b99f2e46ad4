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

    def updated(self, source_rows: Rows, vectors: Vectors) -> FlatRows:
        fresh = source_rows < 0
        merged = np.empty((len(source_rows), self.dim), dtype=np.float32)
        merged[~fresh] = self.take(source_rows[~fresh])
        merged[fresh] = vectors
        return FlatRows.build(merged)
