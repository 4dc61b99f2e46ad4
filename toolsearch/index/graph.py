"""Unit rows behind a nearest-neighbour graph: approximate, and faster than a scan of many rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import faiss
import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Vectors
from toolsearch.index.flat import VECTORS_FILE, RowMatrix, Rows, Scores, one_thread, write_index
from toolsearch.index.nodes import NodeRows, Nodes, digests, numbered
from toolsearch.index.recall import measured_recall

NEIGHBOURS = 32
EF_CONSTRUCTION = 128
EF_SEARCH = 128
"""Over 24,000 tools under MiniLM these find .997 of the ten nearest to a request; 64 and 64 find .982."""

DEAD_SHARE = 0.25
"""Share of nodes without a row past which an update builds the graph anew."""

COMPARED_PER_EF = 16
"""Vectors that a search compares for each unit of efSearch (FAISS counts 15 to 17 in the same catalog).
Decides between the graph and a scan."""

# The graph scores in other roundings than `RowMatrix`, so the last places are asked for with a margin.
_SLACK = 16


class GraphRows(NodeRows):
    """Rows in a FAISS `IndexHNSWFlat`, equal ones as one node.

    As nodes of their own they would fill each other's neighbour lists, cut the graph in pieces, and leave it
    to chance which of them is found. Nodes that lost their last row stay in the graph as waypoints.

    Attributes:
        recall_at_10: Share of the exact ten nearest that a search finds, a mean over sampled rows.
    """

    kind: Literal["hnsw"] = "hnsw"

    def __init__(self, index: Any, nodes: Nodes, *, recall_at_10: float | None = None) -> None:
        """`index` holds the vector of each of `nodes`."""
        super().__init__(RowMatrix(faiss.downcast_index(index.storage), owner=index), nodes)
        self._index = index
        if recall_at_10 is None:
            recall_at_10 = measured_recall(self._matrix, nodes.live, self._nearest)
        self.recall_at_10 = recall_at_10

    @classmethod
    def build(cls, vectors: Vectors, *, seed: int) -> GraphRows:
        of_row, first = numbered(vectors, {})
        index = faiss.IndexHNSWFlat(vectors.shape[1], NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = EF_CONSTRUCTION
        _link(index, vectors[first], seed=seed)
        return cls(index, Nodes(of_row, len(first)))

    @classmethod
    def read(cls, folder: Path, *, mmap: bool, recall_at_10: float | None) -> GraphRows:
        """Those that `write` left in `folder`.

        Raises:
            ValueError: the files do not belong together.
        """
        index = faiss.read_index(str(folder / VECTORS_FILE), faiss.IO_FLAG_MMAP_IFC if mmap else 0)
        return cls(index, Nodes.read(folder, int(index.ntotal)), recall_at_10=recall_at_10)

    def write(self, folder: Path) -> None:
        write_index(self._index, folder / VECTORS_FILE)
        self._nodes.write(folder)

    def near(self, query: Scores, k: int, rows: Rows | None) -> Rows | None:
        """At least `k` of `rows`, or of all, that the graph finds near, ascending.

        None where a scan compares fewer vectors, as it does under narrow filters, or where the graph does
        not reach so many.
        """
        live = self._nodes.of(rows)
        n_live = int(np.count_nonzero(live))
        # Nodes that are not live are walked through as well, and take their share of the beam.
        ef = max(EF_SEARCH, 2 * (k + _SLACK)) * len(live) // max(n_live, 1)
        if ef * COMPARED_PER_EF > n_live:
            return None
        found = self._nodes.rows(self._nearest(query, k + _SLACK, live, ef=ef), rows)
        return found if len(found) >= k else None

    def _nearest(self, query: Scores, k: int, live: NDArray[np.bool_], *, ef: int | None = None) -> Rows:
        parameters = faiss.SearchParametersHNSW(efSearch=EF_SEARCH if ef is None else ef)
        if not live.all():
            parameters.sel = faiss.IDSelectorBitmap(np.packbits(live, bitorder="little"))
        _, labels = self._index.search(query[None, :], k, params=parameters)
        # FAISS pads short results with -1, which would read as the last node.
        return np.asarray(labels[0][labels[0] >= 0], dtype=np.int64)

    def updated(self, source_rows: Rows, vectors: Vectors) -> GraphRows:
        """As `VectorIndex.updated`: links the vectors that it does not have, or builds anew."""
        fresh = source_rows < 0
        known = {digest: node for node, digest in enumerate(digests(self._matrix.take()))}
        of_row = np.empty(len(source_rows), dtype=np.int64)
        of_row[~fresh] = self._nodes.of_row[source_rows[~fresh]]
        of_row[fresh], first = numbered(vectors, known)
        n_nodes = len(self._matrix) + len(first)
        if len(np.unique(of_row)) < (1 - DEAD_SHARE) * n_nodes:
            merged = np.empty((len(source_rows), self.dim), dtype=np.float32)
            merged[~fresh] = self.take(source_rows[~fresh])
            merged[fresh] = vectors
            return GraphRows.build(merged, seed=len(merged))
        # FAISS aborts the process when an index grows that it maps from a file, or a clone of one.
        index = faiss.deserialize_index(faiss.serialize_index(self._index))
        _link(index, vectors[first], seed=len(self._matrix))
        return GraphRows(index, Nodes(of_row, n_nodes))


def _link(index: Any, vectors: Vectors, *, seed: int) -> None:
    index.hnsw.rng = faiss.RandomGenerator(seed)
    with one_thread():
        index.add(vectors)
