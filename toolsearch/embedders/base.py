"""`Embedder`: what the index and the searcher need of an embedding model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from toolsearch.exceptions import DimensionMismatchError, EmbeddingError

Vectors: TypeAlias = NDArray[np.float32]
Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total) texts while a long embedding runs."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors; synchronous and safe to call from several threads."""

    @property
    def id(self) -> str:
        """Names the model and all that changes its vectors; equal ids give equal vectors."""

    @property
    def dim(self) -> int:
        """Length of each vector."""

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`; (0, dim) for no texts.

        A text that the model cannot embed at all gives a zero row, which matches nothing.

        Raises:
            EmbeddingError: the model failed, or answered something that is no embedding.
        """

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`, for the other side of a search."""

    def reads(self, text: str) -> float:
        """How much of `text` the model can make sense of, from 0 to 1; 1.0 for a text without letters.

        Less for scripts and languages that it was not trained on. Fusion leans on the lexical channel as
        this falls, and a search of a text that it reads half or less never says that nothing fits.
        """


def cosine_scale(embedder: Embedder | None) -> float:
    """What the product of a query's row and a document's row is multiplied by to be the cosine.

    1.0, unless the embedder has an attribute of this name. One that sets the rows of several encoders side by
    side has it: a query's row then meets only a part of each document's row, which is shorter than 1.
    """
    return float(getattr(embedder, "cosine_scale", 1.0))


def warm_up(embedder: Embedder | None) -> None:
    """Have the embedder load now what it would load with its first text, where it has such a method.

    Raises:
        EmbeddingError: it cannot be loaded.
    """
    load = getattr(embedder, "warm_up", None)
    if load is not None:
        load()


def as_unit_rows(vectors: object, *, n: int, dim: int, embedder_id: str) -> Vectors:
    """`vectors` as (n, dim) float32 rows of length 1; a zero row stays zero.

    A row that is of length 1 already, as far as float32 can say, keeps every bit: doing this twice is
    the same as doing it once.

    Raises:
        DimensionMismatchError: the rows have another length than `dim`.
        EmbeddingError: another number of rows than `n`, or a value that is not finite; says which rows.
    """
    # A value beyond float32 becomes infinite and is refused below.
    with np.errstate(over="ignore"):
        rows = np.asarray(vectors, dtype=np.float32)
    if n == 0 and rows.size == 0:
        return np.zeros((0, dim), dtype=np.float32)
    if rows.ndim != 2 or rows.shape[0] != n:
        raise EmbeddingError(f"Embedder {embedder_id!r} answered shape {rows.shape} for {n} texts.")
    if rows.shape[1] != dim:
        raise DimensionMismatchError(expected=dim, got=rows.shape[1], embedder_id=embedder_id)
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        raise EmbeddingError(
            f"Embedder {embedder_id!r} answered values that are not finite for {bad.size} of {n} texts "
            f"(first at position {bad[0]})."
        )
    # A subnormal row squares to zero in float32 and would divide into garbage.
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    lengths[np.abs(lengths - 1) < _ROUNDING] = 1
    unit = np.zeros_like(rows)
    np.divide(rows, lengths, out=unit, where=lengths > 1e-12, casting="same_kind")
    return unit


# Rounding each value to float32 changes a row's length by at most 2**-24 of it.
_ROUNDING = 2.0**-22
