"""Unit rows in inverted lists: approximate, for many rows; quick to build, and cheap to change."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import faiss
import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Vectors
from toolsearch.index.flat import VECTORS_FILE, RowMatrix, Rows, Scores, one_thread, write_index
from toolsearch.index.nodes import NodeRows, Nodes, digests, numbered
from toolsearch.index.recall import measured_recall

LISTS_FILE = "vectors.lists.faiss"

COMPARED = 24_000
COMPARED_SHARE = 0.08
"""Vectors that a search compares in the lists nearest to the query: this number, or this share of those that
the filter lets through, whichever is more. Among 100,000 tools, 16,000 found .988 of the ten nearest to a
request, in 1.3 ms, and 8,000 found .960."""

SCAN_UP_TO = 4_000
"""Rows up to which comparing them all, exactly, takes no longer than a search of the lists."""

SCANNED_PER_K = 4
"""Rows for each one wanted, up to which all are compared too: so few lists would hardly hold enough."""

# The lists hold a byte for each value, so more rows are asked for than wanted, and then scored exactly.
_SLACK = 32

# For k-means; more of either gains less than a point of recall.
_ITERATIONS = 8
_SAMPLE_PER_LIST = 40


class InvertedRows(NodeRows):
    """Rows in a FAISS `IndexIVFScalarQuantizer`, and as they are beside it. Equal rows are held once.

    A search orders the lists by the query's cosine with their centres and goes through them until it has
    compared enough vectors that count; the best are scored again from the vectors themselves. So a filter
    that leaves few rows, or rows far from the query, has it go through more lists and not find less.

    Attributes:
        recall_at_10: Share of the exact ten nearest that a search finds, a mean over sampled rows.
    """

    kind: Literal["ivf"] = "ivf"

    def __init__(self, flat: Any, lists: Any, nodes: Nodes, *, recall_at_10: float | None = None) -> None:
        """`flat` holds the vector of each of `nodes`, and `lists` its code."""
        super().__init__(RowMatrix(flat), nodes)
        self._flat = flat
        self._lists = lists
        self._centres = RowMatrix(faiss.downcast_index(lists.quantizer), owner=lists)
        self._list_of = _list_of_each(lists)
        self._sizes = np.bincount(self._list_of, minlength=len(self._centres))
        if recall_at_10 is None:
            recall_at_10 = measured_recall(self._matrix, nodes.live, self._nearest)
        self.recall_at_10 = recall_at_10

    @classmethod
    def build(cls, vectors: Vectors, *, seed: int) -> InvertedRows:
        of_row, first = numbered(vectors, {})
        distinct = vectors if len(first) == len(vectors) else vectors[first]
        lists = _trained(distinct, seed=seed)
        return cls(_flat(distinct), _filled(lists, distinct), Nodes(of_row, len(distinct)))

    @classmethod
    def read(cls, folder: Path, *, mmap: bool, recall_at_10: float | None) -> InvertedRows:
        """Those that `write` left in `folder`.

        Raises:
            ValueError: the files do not belong together.
        """
        flags = faiss.IO_FLAG_MMAP_IFC if mmap else 0
        flat = faiss.read_index(str(folder / VECTORS_FILE), flags)
        lists = faiss.read_index(str(folder / LISTS_FILE), flags)
        if (lists.d, lists.ntotal) != (flat.d, flat.ntotal):
            raise ValueError(f"lists of {lists.ntotal} x {lists.d} values for {flat.ntotal} x {flat.d}")
        return cls(flat, lists, Nodes.read(folder, int(flat.ntotal)), recall_at_10=recall_at_10)

    def write(self, folder: Path) -> None:
        write_index(self._flat, folder / VECTORS_FILE)
        write_index(self._lists, folder / LISTS_FILE)
        self._nodes.write(folder)

    def near(self, query: Scores, k: int, rows: Rows | None) -> Rows | None:
        """At least `k` of `rows`, or of all, that the lists hold near, ascending.

        None where comparing all of them takes no longer, as it does under narrow filters.
        """
        if (len(self) if rows is None else len(rows)) <= max(SCAN_UP_TO, SCANNED_PER_K * k):
            return None
        found = self._nodes.rows(self._nearest(query, k, self._nodes.of(rows)), rows)
        return found if len(found) >= k else None

    def _nearest(self, query: Scores, k: int, live: NDArray[np.bool_]) -> Rows:
        """`k` `live` nodes and a few more, near the query."""
        all_live = live.all()
        sizes = self._sizes if all_live else np.bincount(self._list_of[live], minlength=len(self._sizes))
        nearest = np.argsort(-self._centres.scores(query), kind="stable")
        within = np.cumsum(sizes[nearest])
        wanted = max(COMPARED, int(COMPARED_SHARE * within[-1]), SCANNED_PER_K * k)
        n = int(np.searchsorted(within, wanted)) + 1
        probed = nearest[:n][sizes[nearest[:n]] > 0]
        parameters = faiss.SearchParametersIVF(nprobe=len(probed))
        if not all_live:
            parameters.sel = faiss.IDSelectorBitmap(np.packbits(live, bitorder="little"))
        return _searched(self._lists, query, k + _SLACK, probed, parameters)

    def updated(self, source_rows: Rows, vectors: Vectors) -> InvertedRows:
        """As `VectorIndex.updated`: new vectors join the nearest lists, vectors without a row leave theirs.

        The centres stay, until there are twice or half as many vectors as they were found for.
        """
        fresh = source_rows < 0
        kept, of_kept = np.unique(self._nodes.of_row[source_rows[~fresh]], return_inverse=True)
        old = self._matrix.take(kept)
        of_row = np.empty(len(source_rows), dtype=np.int64)
        of_row[~fresh] = of_kept
        of_row[fresh], first = numbered(vectors, {digest: i for i, digest in enumerate(digests(old))})
        distinct = np.concatenate([old, vectors[first]])
        if n_lists(len(distinct)) != len(self._centres):
            return InvertedRows.build(distinct[of_row], seed=0)
        lists = _emptied(self._lists)
        places = np.concatenate([self._list_of[kept], _nearest_lists(lists, vectors[first])])
        return InvertedRows(_flat(distinct), _filled(lists, distinct, places), Nodes(of_row, len(distinct)))


def n_lists(n: int) -> int:
    """How many lists there are for `n` vectors: the power of two next to four times the root of n."""
    return min(2 ** round(math.log2(4 * math.sqrt(n))), n) if n else 1


def _flat(vectors: Vectors) -> Any:
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


def _trained(vectors: Vectors, *, seed: int) -> Any:
    """Empty lists with centres found by k-means over `vectors`."""
    n, dim = vectors.shape
    lists = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(dim),
        dim,
        n_lists(n),
        faiss.ScalarQuantizer.QT_8bit,
        faiss.METRIC_INNER_PRODUCT,
        False,
    )
    lists.cp.seed = seed
    lists.cp.niter = _ITERATIONS
    lists.cp.spherical = True
    lists.cp.min_points_per_centroid = 1
    lists.cp.max_points_per_centroid = _SAMPLE_PER_LIST
    with one_thread():
        lists.train(vectors if n else np.zeros((1, dim), dtype=np.float32))
    return lists


def _filled(lists: Any, vectors: Vectors, places: Rows | None = None) -> Any:
    """The same lists, with each of `vectors` under its position; `places` are their lists, where known."""
    if places is None:
        places = _nearest_lists(lists, vectors)
    ids = np.arange(len(vectors), dtype=np.int64)
    places = np.ascontiguousarray(places, dtype=np.int64)
    if len(vectors):
        with one_thread():
            lists.add_core(
                len(vectors),
                faiss.swig_ptr(np.ascontiguousarray(vectors)),
                faiss.swig_ptr(ids),
                faiss.swig_ptr(places),
            )
    return lists


def _nearest_lists(lists: Any, vectors: Vectors) -> Rows:
    if not len(vectors):
        return np.empty(0, dtype=np.int64)
    with one_thread():
        _, places = lists.quantizer.search(np.ascontiguousarray(vectors), 1)
    return np.asarray(places[:, 0], dtype=np.int64)


def _emptied(lists: Any) -> Any:
    """Lists with the same centres and codes, and nothing in them. Those given may be mapped from a file."""
    centres = faiss.IndexFlatIP(lists.d)
    centres.add(RowMatrix(faiss.downcast_index(lists.quantizer), owner=lists).take())
    empty = faiss.IndexIVFScalarQuantizer(
        centres, lists.d, lists.nlist, lists.sq.qtype, lists.metric_type, lists.by_residual
    )
    faiss.copy_array_to_vector(faiss.vector_to_array(lists.sq.trained), empty.sq.trained)
    empty.is_trained = True
    return empty


def _list_of_each(lists: Any) -> NDArray[np.int32]:
    """The list of each vector."""
    places = np.empty(int(lists.ntotal), dtype=np.int32)
    for number in range(int(lists.nlist)):
        size = int(lists.invlists.list_size(number))
        if size:
            places[faiss.rev_swig_ptr(lists.invlists.get_ids(number), size)] = number
    return places


def _searched(lists: Any, query: Scores, k: int, probed: Rows, parameters: Any) -> Rows:
    """The positions of the `k` best vectors in the lists `probed`; fewer where these hold fewer."""
    scores, labels = np.empty(k, dtype=np.float32), np.empty(k, dtype=np.int64)
    probed = np.ascontiguousarray(probed, dtype=np.int64)
    centre_scores = np.zeros(len(probed), dtype=np.float32)
    pointers = map(faiss.swig_ptr, (probed, centre_scores, scores, labels))
    if len(probed):
        lists.search_preassigned_c(1, faiss.swig_ptr(query), k, *pointers, False, parameters)
    else:
        labels[:] = -1
    # FAISS pads short results with -1, which would read as the last vector.
    return labels[labels >= 0]
