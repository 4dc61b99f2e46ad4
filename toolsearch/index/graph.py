"""Unit rows behind a nearest-neighbour graph: approximate, and faster than a scan of many rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import faiss
import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Vectors
from toolsearch.index.flat import VECTORS_FILE, RowMatrix, Rows, Scores, write_index

NODES_FILE = "vectors.nodes.npy"

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

_RECALL_SAMPLE = 100


class GraphRows:
    """Rows in a FAISS `IndexHNSWFlat`. Its nodes are the distinct vectors, in the order of their first row.

    Equal rows share a node: as nodes of their own they would fill each other's neighbour lists, cut the
    graph in pieces, and leave it to chance which of them is found. Nodes that lost their last row stay
    in the graph as waypoints.

    Attributes:
        recall_at_10: Share of the exact ten nearest that a search finds, a mean over sampled rows.
    """

    kind: Literal["hnsw"] = "hnsw"

    def __init__(self, index: Any, nodes: Rows, *, recall_at_10: float | None = None) -> None:
        """`nodes` (n,) gives the node of each row."""
        self._index = index
        self._matrix = RowMatrix(faiss.downcast_index(index.storage), owner=index)
        self.dim = self._matrix.dim
        self._nodes = nodes
        self._by_node = np.argsort(nodes, kind="stable")
        self._starts = np.searchsorted(nodes[self._by_node], np.arange(len(self._matrix) + 1))
        self._live = np.diff(self._starts) > 0
        self.recall_at_10 = self._measured_recall() if recall_at_10 is None else recall_at_10

    @classmethod
    def build(cls, vectors: Vectors, *, seed: int) -> GraphRows:
        nodes, first = _numbered(_digests(vectors), {})
        index = faiss.IndexHNSWFlat(vectors.shape[1], NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = EF_CONSTRUCTION
        _link(index, vectors[first], seed=seed)
        return cls(index, nodes)

    @classmethod
    def read(cls, folder: Path, *, mmap: bool, recall_at_10: float | None) -> GraphRows:
        index = faiss.read_index(str(folder / VECTORS_FILE), faiss.IO_FLAG_MMAP_IFC if mmap else 0)
        return cls(index, np.load(folder / NODES_FILE, allow_pickle=False), recall_at_10=recall_at_10)

    def write(self, folder: Path) -> None:
        write_index(self._index, folder / VECTORS_FILE)
        np.save(folder / NODES_FILE, self._nodes, allow_pickle=False)

    def __len__(self) -> int:
        return len(self._nodes)

    def take(self, rows: Rows) -> Vectors:
        return self._matrix.take(self._nodes[rows])

    def scores(self, query: Scores, rows: Rows | None = None) -> Scores:
        if rows is None:
            return self._matrix.scores(query)[self._nodes]
        return self._matrix.scores(query, self._nodes[rows])

    def near(self, query: Scores, k: int, rows: Rows | None) -> Rows | None:
        """At least `k` of `rows`, or of all, that the graph finds near, ascending.

        None where a scan compares fewer vectors, as it does under narrow filters, or where the graph does
        not reach so many.
        """
        live = self._live
        if rows is not None:
            live = np.zeros_like(self._live)
            live[self._nodes[rows]] = True
        n_live = int(np.count_nonzero(live))
        # Nodes that are not live are walked through as well, and take their share of the beam.
        ef = max(EF_SEARCH, 2 * (k + _SLACK)) * len(live) // max(n_live, 1)
        if ef * COMPARED_PER_EF > n_live:
            return None
        found = self._rows_of(self._nearest(query, k + _SLACK, live, ef=ef))
        if rows is not None:
            places = np.minimum(np.searchsorted(rows, found), len(rows) - 1)
            found = found[rows[places] == found]
        return found if len(found) >= k else None

    def _nearest(self, query: Scores, k: int, live: NDArray[np.bool_], *, ef: int) -> Rows:
        parameters = faiss.SearchParametersHNSW(efSearch=ef)
        if not live.all():
            parameters.sel = faiss.IDSelectorBitmap(np.packbits(live, bitorder="little"))
        _, labels = self._index.search(query[None, :], k, params=parameters)
        # FAISS pads short results with -1, which would read as the last node.
        return np.asarray(labels[0][labels[0] >= 0], dtype=np.int64)

    def _rows_of(self, nodes: Rows) -> Rows:
        rows = [self._by_node[self._starts[node] : self._starts[node + 1]] for node in nodes]
        return np.sort(np.concatenate([*rows, np.empty(0, np.int64)]))

    def updated(self, source_rows: Rows, vectors: Vectors) -> GraphRows:
        """As `VectorIndex.updated`: links the vectors that it does not have, or builds anew."""
        fresh = source_rows < 0
        known = {digest: node for node, digest in enumerate(_digests(self._matrix.take()))}
        nodes = np.empty(len(source_rows), dtype=np.int64)
        nodes[~fresh] = self._nodes[source_rows[~fresh]]
        nodes[fresh], first = _numbered(_digests(vectors), known)
        if len(np.unique(nodes)) < (1 - DEAD_SHARE) * (len(self._matrix) + len(first)):
            merged = np.empty((len(source_rows), self.dim), dtype=np.float32)
            merged[~fresh] = self.take(source_rows[~fresh])
            merged[fresh] = vectors
            return GraphRows.build(merged, seed=len(merged))
        # FAISS aborts the process when an index grows that it maps from a file, or a clone of one.
        index = faiss.deserialize_index(faiss.serialize_index(self._index))
        _link(index, vectors[first], seed=len(self._matrix))
        return GraphRows(index, nodes)

    def _measured_recall(self) -> float:
        live = np.flatnonzero(self._live)
        k = min(10, len(live) - 1)
        if k < 1:
            return 1.0
        sample = np.random.default_rng(len(live)).permutation(live)[:_RECALL_SAMPLE]
        return float(np.mean([self._recall(int(node), k) for node in sample]))

    def _recall(self, node: int, k: int) -> float:
        """Share of the `k` nearest other live nodes that a search with the vector of `node` finds."""
        (query,) = self._matrix.take(np.array([node]))
        exact = np.where(self._live, self._matrix.scores(query), -np.inf)
        exact[node] = -np.inf
        kth = np.partition(exact, -k)[-k]
        found = self._nearest(query, k + 1, self._live, ef=EF_SEARCH)
        return float(np.count_nonzero(exact[found[found != node][:k]] >= kth) / k)


def _digests(vectors: Vectors) -> Iterator[bytes]:
    return (blake2b(vector.tobytes(), digest_size=16).digest() for vector in vectors)


def _numbered(digests: Iterable[bytes], known: dict[bytes, int]) -> tuple[Rows, Rows]:
    """The node of each digest, new ones counted on from `known`, and the first position of each new one."""
    nodes: list[int] = []
    first: list[int] = []
    for position, digest in enumerate(digests):
        if digest not in known:
            known[digest] = len(known)
            first.append(position)
        nodes.append(known[digest])
    return np.array(nodes, dtype=np.int64), np.array(first, dtype=np.int64)


def _link(index: Any, vectors: Vectors, *, seed: int) -> None:
    # With several threads the links depend on who comes first.
    index.hnsw.rng = faiss.RandomGenerator(seed)
    with _one_thread():
        index.add(vectors)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
