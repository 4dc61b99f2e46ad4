"""Distinct vectors as nodes, in the order of their first row, and the rows that share each of them."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Vectors
from toolsearch.index.flat import RowMatrix, Rows, Scores

NODES_FILE = "vectors.nodes.npy"


class Nodes:
    """Which node stands for each row. Equal rows share a node, and a node may have lost its last row.

    Attributes:
        of_row: (n,) the node of each row.
        live: (m,) whether a node has a row.
    """

    def __init__(self, of_row: Rows, n_nodes: int) -> None:
        self.of_row = of_row
        self._by_node = np.argsort(of_row, kind="stable")
        self._starts = np.searchsorted(of_row[self._by_node], np.arange(n_nodes + 1))
        self.live: NDArray[np.bool_] = np.diff(self._starts) > 0

    @classmethod
    def read(cls, folder: Path, n_nodes: int) -> Nodes:
        """Those that `write` left in `folder`.

        Raises:
            ValueError: the file holds no nodes, or others than these.
        """
        of_row = np.load(folder / NODES_FILE, allow_pickle=False)
        if of_row.ndim != 1 or of_row.dtype != np.int64:
            raise ValueError(f"{of_row.dtype} {of_row.shape} is no node of each row")
        if len(of_row) and not 0 <= of_row.min() <= of_row.max() < n_nodes:
            raise ValueError(f"nodes from {of_row.min()} to {of_row.max()} where there are {n_nodes}")
        return cls(of_row, n_nodes)

    def write(self, folder: Path) -> None:
        np.save(folder / NODES_FILE, self.of_row, allow_pickle=False)

    def __len__(self) -> int:
        return len(self.live)

    def of(self, rows: Rows | None) -> NDArray[np.bool_]:
        """(m,) which nodes stand for some of `rows`, or for any."""
        if rows is None:
            return self.live
        some = np.zeros_like(self.live)
        some[self.of_row[rows]] = True
        return some

    def rows(self, nodes: Rows, among: Rows | None) -> Rows:
        """The rows of `nodes` that are `among` these, or all of them, ascending."""
        parts = [self._by_node[self._starts[node] : self._starts[node + 1]] for node in nodes]
        found = np.sort(np.concatenate([*parts, np.empty(0, np.int64)]))
        if among is None:
            return found
        if not len(among):
            return among
        places = np.minimum(np.searchsorted(among, found), len(among) - 1)
        wanted: Rows = found[among[places] == found]
        return wanted


class NodeRows:
    """The vector of each node, under the rows that share it.

    Attributes:
        dim: Length of each vector.
    """

    def __init__(self, matrix: RowMatrix, nodes: Nodes) -> None:
        """Row i of `matrix` is the vector of node i."""
        self._matrix = matrix
        self._nodes = nodes
        self.dim = matrix.dim

    def __len__(self) -> int:
        return len(self._nodes.of_row)

    def take(self, rows: Rows) -> Vectors:
        """A copy of `rows` (m,) as (m, dim)."""
        return self._matrix.take(self._nodes.of_row[rows])

    def scores(self, query: Scores, rows: Rows | None = None) -> Scores:
        """As `RowMatrix.scores`, of rows."""
        if rows is None:
            return self._matrix.scores(query)[self._nodes.of_row]
        return self._matrix.scores(query, self._nodes.of_row[rows])


def digests(vectors: Vectors) -> Iterator[bytes]:
    """What tells vectors apart, in 16 bytes each."""
    return (blake2b(vector.tobytes(), digest_size=16).digest() for vector in vectors)


def numbered(vectors: Vectors, known: dict[bytes, int]) -> tuple[Rows, Rows]:
    """The node of each vector, new ones counted on from `known`, and the first position of each new one."""
    nodes: list[int] = []
    first: list[int] = []
    for position, digest in enumerate(digests(vectors)):
        if digest not in known:
            known[digest] = len(known)
            first.append(position)
        nodes.append(known[digest])
    return np.array(nodes, dtype=np.int64), np.array(first, dtype=np.int64)
