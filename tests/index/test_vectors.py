"""`VectorIndex` against numpy in float64."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Literal

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from toolsearch.embedders.base import Vectors, as_unit_rows
from toolsearch.exceptions import DimensionMismatchError
from toolsearch.index import flat, graph, inverted, vectors
from toolsearch.index.flat import FlatRows
from toolsearch.index.vectors import Kind, RowScores, VectorIndex

KINDS: tuple[Kind, ...] = ("flat", "ivf", "hnsw")


def unit(rows: NDArray[np.floating]) -> Vectors:
    return as_unit_rows(rows, n=len(rows), dim=rows.shape[1], embedder_id="test")


def random_rows(n: int, dim: int, seed: int) -> Vectors:
    return unit(np.random.default_rng(seed).standard_normal((n, dim)))


def clustered_rows(n: int, dim: int, seed: int) -> Vectors:
    """Rows around n / 50 centres, as tools are around their servers."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(1, n // 50), dim))
    return unit(centres[rng.integers(len(centres), size=n)] + 0.5 * rng.standard_normal((n, dim)))


def exact_order(rows: Vectors, query: Vectors) -> list[int]:
    scores = rows.astype(np.float64) @ query[0].astype(np.float64)
    return [int(row) for row in np.argsort(-scores, kind="stable")]


def same(first: RowScores, second: RowScores) -> bool:
    return np.array_equal(first.rows, second.rows) and np.array_equal(first.scores, second.scores)


@pytest.fixture
def never_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sets take the graph or the lists as well, where a scan would be faster."""
    monkeypatch.setattr(graph, "COMPARED_PER_EF", 0)
    monkeypatch.setattr(inverted, "SCANNED_PER_K", 0)
    monkeypatch.setattr(inverted, "SCAN_UP_TO", 0)
    monkeypatch.setattr(inverted, "COMPARED", 1000)


@pytest.mark.parametrize("n", [1, 7, 1000, 25_000])
def test_flat_search_ranks_like_exact_cosine(n: int) -> None:
    rows, query = random_rows(n, 48, seed=n), random_rows(1, 48, seed=5)
    (found,) = VectorIndex.build(rows, kind="flat").search(query, k=20)
    assert found.rows.tolist() == exact_order(rows, query)[:20]
    np.testing.assert_allclose(found.scores, (rows @ query[0])[found.rows], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_k_beyond_the_rows_gives_each_row_once(kind: Kind) -> None:
    """Never the padding id -1, never a score that is not finite (E133)."""
    rows = random_rows(3, 8, seed=1)
    (found,) = VectorIndex.build(rows, kind=kind).search(random_rows(1, 8, seed=2), k=10)
    assert sorted(found.rows.tolist()) == [0, 1, 2]
    assert np.isfinite(found.scores).all()


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_index_finds_nothing(kind: Kind) -> None:
    (found,) = VectorIndex.build(np.zeros((0, 8), np.float32), kind=kind).search(random_rows(1, 8, 0), k=3)
    assert len(found) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3, 6, 8, 40])
def test_equal_rows_rank_by_row_also_where_k_cuts_through_them(
    kind: Kind, k: int, never_scanned: None
) -> None:
    """(E129)"""
    rows = random_rows(60, 16, seed=3)
    equal = np.array([58, 4, 31, 30, 17, 9])
    rows[equal] = rows[equal[0]]
    query = unit(rows[[4]] + 0.05 * random_rows(1, 16, seed=4))
    (found,) = VectorIndex.build(rows, kind=kind).search(query, k=k)
    rest = [row for row in exact_order(rows, query) if row not in equal]
    assert found.rows.tolist() == (sorted(equal.tolist()) + rest)[:k]
    assert len(set(found.scores[:6].tolist())) == 1


def test_equal_rows_have_equal_scores_wherever_they_are() -> None:
    rows = np.repeat(random_rows(1, 384, seed=1), 10_007, axis=0)
    (found,) = VectorIndex.build(rows, kind="flat").search(random_rows(1, 384, seed=2), k=10_007)
    assert found.rows.tolist() == list(range(10_007))


@pytest.mark.parametrize("kind", KINDS)
def test_a_zero_row_never_ranks_above_a_positive_one(kind: Kind) -> None:
    """(E145)"""
    rows = unit(np.array([[0.0, 0.0], [0.1, 1.0], [-1.0, 0.2]]))
    (found,) = VectorIndex.build(rows, kind=kind).search(unit(np.array([[1.0, 0.0]])), k=3)
    assert found.rows.tolist() == [1, 0, 2]
    assert found.scores[1] == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_zero_query_matches_nothing(kind: Kind) -> None:
    """(E145)"""
    index = VectorIndex.build(random_rows(5, 8, seed=1), kind=kind)
    zero, other = index.search(np.stack([np.zeros(8, np.float32), index.vector(2)]), k=3)
    assert len(zero) == 0
    assert other.rows[0] == 2


@pytest.mark.parametrize("kind", KINDS)
def test_scores_stay_within_cosine(kind: Kind) -> None:
    rows = random_rows(500, 384, seed=8)
    for found in VectorIndex.build(np.concatenate([rows, -rows]), kind=kind).search(rows, k=1000):
        assert found.scores.max() <= 1.0
        assert found.scores.min() >= -1.0


def test_rows_that_are_not_unit_are_refused() -> None:
    """(E147)"""
    with pytest.raises(ValueError, match=r"Row 1 has the length 14\.14"):
        VectorIndex.build(np.array([[1, 0], [10, 10]], np.float32))
    with pytest.raises(ValueError, match="unit rows"):
        VectorIndex.build(np.array([[1, 0]], np.float32)).search(np.array([[np.nan, 0]], np.float32), k=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 0.6, 1.0])
def test_a_mask_gives_the_best_of_the_allowed_rows(kind: Kind, share: float) -> None:
    rows = clustered_rows(4000, 32, seed=1)
    allowed = np.random.default_rng(2).random(4000) < share
    index = VectorIndex.build(rows, kind=kind)
    for query in random_rows(5, 32, seed=3):
        (found,) = index.search(query[None, :], k=10, allowed=allowed)
        expected = [row for row in exact_order(rows, query[None, :]) if allowed[row]][:10]
        assert len(set(expected) & set(found.rows.tolist())) >= (10 if kind == "flat" else 9) * bool(expected)
        assert allowed[found.rows].all()


def test_a_narrow_mask_over_hnsw_is_exact() -> None:
    rows = clustered_rows(6000, 32, seed=1)
    allowed = np.zeros(6000, np.bool_)
    allowed[np.random.default_rng(2).permutation(6000)[:100]] = True
    index = VectorIndex.build(rows, kind="hnsw")
    for query in random_rows(20, 32, seed=3):
        (found,) = index.search(query[None, :], k=10, allowed=allowed)
        assert found.rows.tolist() == [r for r in exact_order(rows, query[None, :]) if allowed[r]][:10]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_do_not_depend_on_batch_mask_or_threads(kind: Kind, never_scanned: None) -> None:
    rows, queries = clustered_rows(3000, 100, seed=1), random_rows(40, 100, seed=2)
    index = VectorIndex.build(rows, kind=kind)
    threads = faiss.omp_get_max_threads()
    together = index.search(queries, k=25)
    masked = index.search(queries, k=25, allowed=np.ones(3000, np.bool_))
    try:
        faiss.omp_set_num_threads(1)
        alone = [index.search(query[None, :], k=25)[0] for query in queries]
    finally:
        faiss.omp_set_num_threads(threads)
    for query, first, second, third in zip(queries, together, alone, masked, strict=True):
        assert same(first, second)
        assert same(first, third)
        assert np.array_equal(index.similarity(query, first.rows), first.scores)


@pytest.mark.parametrize("share", [None, 0.5, 0.02])
@pytest.mark.parametrize("most", [2**23, 8 * 2000])
def test_many_queries_together_find_what_each_finds_alone(
    share: float | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that differ by less than sums do that are rounded in another order, and rows that are equal."""
    monkeypatch.setattr(flat, "_MOST_PRODUCTS", most)
    rng = np.random.default_rng(7)
    near = random_rows(40, 96, seed=1).repeat(50, axis=0)
    rows = unit(near + rng.choice([0, 1e-7, 3e-7], size=near.shape) * rng.standard_normal(near.shape))
    queries = unit(near[::50][:24] + 0.3 * rng.standard_normal((24, 96)))
    queries[3] = 0
    allowed = None if share is None else rng.random(len(rows)) < share
    index = VectorIndex.build(rows, kind="flat")
    scans: list[bool] = []
    scores = FlatRows.scores

    def counted(self: FlatRows, query: Vectors, some: NDArray[np.int64] | None = None) -> Vectors:
        scans.append(some is None)
        return scores(self, query, some)

    monkeypatch.setattr(FlatRows, "scores", counted)
    together = index.search(queries, k=25, allowed=allowed)
    assert not any(scans)
    for query, found in zip(queries, together, strict=True):
        assert same(found, index.search(query[None, :], k=25, allowed=allowed)[0])


def test_hnsw_reports_the_recall_that_its_searches_have(never_scanned: None) -> None:
    rows = clustered_rows(5000, 32, seed=1)
    index = VectorIndex.build(rows, kind="hnsw")
    queries = rows[np.random.default_rng(9).permutation(5000)[:200]]
    shares = [
        len(set(found.rows.tolist()) & set(exact_order(rows, query[None, :])[:10])) / 10
        for query, found in zip(queries, index.search(queries, k=10), strict=True)
    ]
    assert index.recall_at_10 == pytest.approx(np.mean(shares), abs=0.03)
    assert 0.9 < index.recall_at_10 <= 1.0
    assert VectorIndex.build(rows, kind="flat").recall_at_10 == 1.0


def test_a_poor_graph_reports_a_poor_recall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "EF_SEARCH", 1)
    monkeypatch.setattr(graph, "EF_CONSTRUCTION", 2)
    monkeypatch.setattr(graph, "NEIGHBOURS", 2)
    assert VectorIndex.build(random_rows(3000, 64, seed=1), kind="hnsw").recall_at_10 < 0.5


def test_auto_is_flat_up_to_the_measured_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "FLAT_UP_TO_VALUES", 400)
    assert VectorIndex.build(random_rows(50, 8, seed=1)).kind == "flat"
    assert VectorIndex.build(random_rows(51, 8, seed=1)).kind == "ivf"


@settings(max_examples=60, deadline=None)
@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_an_update_answers_like_a_fresh_index(data: st.DataObject, kind: Kind) -> None:
    n_old, n_new = data.draw(st.integers(0, 30)), data.draw(st.integers(0, 30))
    # Few different rows, so that new ones often equal old ones.
    pool = random_rows(12, 6, seed=data.draw(st.integers(0, 3)))
    old = pool[data.draw(st.lists(st.integers(0, 11), min_size=n_old, max_size=n_old))].reshape(-1, 6)
    source = np.array(
        data.draw(st.lists(st.integers(-1, n_old - 1), min_size=n_new, max_size=n_new)), dtype=np.int64
    )
    n_fresh = int((source < 0).sum())
    fresh = pool[data.draw(st.lists(st.integers(0, 11), min_size=n_fresh, max_size=n_fresh))].reshape(-1, 6)
    whole = np.zeros((n_new, 6), np.float32)
    whole[source >= 0], whole[source < 0] = old[source[source >= 0]], fresh

    updated = VectorIndex.build(old, kind=kind).updated(source, fresh)
    again = VectorIndex.build(whole, kind=kind)
    assert updated.kind == kind
    assert len(updated) == n_new
    queries = random_rows(3, 6, seed=7)
    for first, second in zip(updated.search(queries, k=9), again.search(queries, k=9), strict=True):
        assert same(first, second)
    for row in range(n_new):
        assert np.array_equal(updated.vector(row), whole[row])


def test_an_hnsw_update_keeps_rows_in_order_and_drops_removed_ones(never_scanned: None) -> None:
    rows = clustered_rows(2000, 32, seed=1)
    index = VectorIndex.build(rows, kind="hnsw")
    new = clustered_rows(30, 32, seed=2)
    source = np.insert(np.delete(np.arange(2000), slice(100, 300)), 50, np.full(30, -1))
    updated = index.updated(source, new)
    whole = np.insert(np.delete(rows, slice(100, 300), axis=0), 50, new, axis=0)
    again = VectorIndex.build(whole, kind="flat")
    agreement = [
        len(set(first.rows.tolist()) & set(second.rows.tolist()))
        for first, second in zip(updated.search(whole, k=10), again.search(whole, k=10), strict=True)
    ]
    assert np.mean(agreement) > 9.8
    assert updated.recall_at_10 > 0.95
    assert len(index) == 2000


def test_an_hnsw_update_builds_anew_past_a_quarter_of_dead_nodes() -> None:
    rows = clustered_rows(400, 16, seed=1)
    index = VectorIndex.build(rows, kind="hnsw")
    none = np.zeros((0, 16), np.float32)
    kept, rebuilt = index.updated(np.arange(300), none), index.updated(np.arange(299), none)
    assert stored_vectors(kept) == 400
    assert stored_vectors(rebuilt) == 299


def stored_vectors(index: VectorIndex) -> int:
    rows = index._rows
    assert isinstance(rows, graph.GraphRows)
    return len(rows._matrix)


def test_lists_find_what_an_exact_search_finds(never_scanned: None) -> None:
    rows, queries = clustered_rows(5000, 32, seed=1), clustered_rows(200, 32, seed=1)[::-1]
    index, exact = VectorIndex.build(rows, kind="ivf"), VectorIndex.build(rows, kind="flat")
    shares = [
        len(set(first.rows.tolist()) & set(second.rows.tolist())) / 10
        for first, second in zip(index.search(queries, 10), exact.search(queries, 10), strict=True)
    ]
    assert np.mean(shares) >= 0.98
    assert index.recall_at_10 >= 0.98


def test_lists_that_are_all_compared_are_exact(never_scanned: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inverted, "COMPARED", 3000)
    rows, queries = clustered_rows(3000, 32, seed=4), random_rows(30, 32, seed=5)
    index, exact = VectorIndex.build(rows, kind="ivf"), VectorIndex.build(rows, kind="flat")
    allowed = np.random.default_rng(6).random(3000) < 0.3
    for mask in (None, allowed):
        for first, second in zip(
            index.search(queries, 15, mask), exact.search(queries, 15, mask), strict=True
        ):
            assert same(first, second)


def test_a_filter_on_rows_far_from_the_query_finds_the_best_of_them(never_scanned: None) -> None:
    """Such as a search among the tools of one server for what another one does."""
    rows = clustered_rows(6000, 32, seed=1)
    order = exact_order(rows, rows[:1])
    allowed = np.zeros(6000, np.bool_)
    allowed[order[:2000]] = True
    queries, index = rows[order[-20:]], VectorIndex.build(rows, kind="ivf")
    agreement = [
        len(set(found.rows.tolist()) & set([r for r in exact_order(rows, query[None, :]) if allowed[r]][:10]))
        for query, found in zip(queries, index.search(queries, 10, allowed), strict=True)
    ]
    assert np.mean(agreement) > 9


def test_an_ivf_update_moves_vectors_in_and_out_of_lists_that_stay(never_scanned: None) -> None:
    rows, new = clustered_rows(3000, 24, seed=1), clustered_rows(40, 24, seed=2)
    index = VectorIndex.build(rows, kind="ivf")
    source = np.insert(np.delete(np.arange(3000), slice(500, 900)), 20, np.full(40, -1))
    updated = index.updated(source, new)
    lists = inverted_rows(updated)
    assert lists._lists.ntotal == len(updated) == 2640
    assert np.array_equal(lists._centres.take(), inverted_rows(index)._centres.take())
    whole = np.insert(np.delete(rows, slice(500, 900), axis=0), 20, new, axis=0)
    exact = VectorIndex.build(whole, kind="flat")
    agreement = [
        len(set(first.rows.tolist()) & set(second.rows.tolist()))
        for first, second in zip(updated.search(whole, 10), exact.search(whole, 10), strict=True)
    ]
    assert np.mean(agreement) > 9.8
    assert updated.search(new[:1], 1)[0].rows.tolist() == [20]


def test_an_ivf_update_finds_new_centres_where_the_rows_have_become_many() -> None:
    rows = clustered_rows(4000, 16, seed=1)
    index = VectorIndex.build(rows[:500], kind="ivf")
    grown = index.updated(np.append(np.arange(500), np.full(3500, -1)), rows[500:])
    built = VectorIndex.build(rows, kind="ivf")
    assert len(inverted_rows(index)._centres) < len(inverted_rows(grown)._centres)
    assert np.array_equal(inverted_rows(grown)._centres.take(), inverted_rows(built)._centres.take())


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_files_that_do_not_belong_together_are_refused(kind: Literal["ivf", "hnsw"], tmp_path: Path) -> None:
    for name, n in (("a", 900), ("b", 700)):
        (tmp_path / name).mkdir()
        VectorIndex.build(clustered_rows(n, 16, seed=1), kind=kind).write(tmp_path / name)
    (tmp_path / "b" / "vectors.faiss").replace(tmp_path / "a" / "vectors.faiss")
    with pytest.raises(ValueError, match="700"):
        VectorIndex.read(tmp_path / "a", kind=kind, recall_at_10=1.0)
    np.save(tmp_path / "a" / "vectors.nodes.npy", np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"\(2, 2\)|700"):
        VectorIndex.read(tmp_path / "a", kind=kind, recall_at_10=1.0)


def inverted_rows(index: VectorIndex) -> inverted.InvertedRows:
    rows = index._rows
    assert isinstance(rows, inverted.InvertedRows)
    return rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mmap", [True, False])
def test_a_written_index_reads_back_the_same(kind: Kind, mmap: bool, tmp_path: Path) -> None:
    rows = clustered_rows(1500, 24, seed=1)
    rows[700] = rows[20]
    index = VectorIndex.build(rows, kind=kind)
    index.write(tmp_path)
    read = VectorIndex.read(tmp_path, kind=kind, recall_at_10=index.recall_at_10, mmap=mmap)
    queries = random_rows(5, 24, seed=2)
    assert (len(read), read.dim, read.kind, read.recall_at_10) == (1500, 24, kind, index.recall_at_10)
    for first, second in zip(index.search(queries, 10), read.search(queries, 10), strict=True):
        assert same(first, second)
    # What is mapped cannot grow in place: FAISS would abort the process.
    grown = read.updated(np.append(np.arange(1500), -1), queries[:1])
    assert grown.search(queries[:1], 1)[0].rows.tolist() == [1500]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_input_writes_the_same_bytes(kind: Kind, tmp_path: Path) -> None:
    rows = clustered_rows(1500, 24, seed=1)
    written = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        VectorIndex.build(rows, kind=kind, seed=3).write(tmp_path / name)
        written.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert written[0] == written[1]


@pytest.mark.parametrize("flags", [[], ["-O"]])
def test_other_dimensions_are_a_named_error_also_without_asserts(flags: list[str]) -> None:
    """(E135)"""
    script = """
import numpy as np
from toolsearch.exceptions import DimensionMismatchError
from toolsearch.index.vectors import VectorIndex
index = VectorIndex.build(np.eye(3, 384, dtype=np.float32))
wide = np.eye(1, 768, dtype=np.float32)
for call in (
    lambda: index.search(wide, 1),
    lambda: index.similarity(wide[0], [0]),
    lambda: index.updated([-1], wide),
):
    try:
        call()
    except DimensionMismatchError as error:
        print(error.expected, error.got)
"""
    done = subprocess.run([sys.executable, *flags, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["384 768"] * 3


def test_wrong_calls_are_refused() -> None:
    index = VectorIndex.build(np.eye(3, dtype=np.float32))
    query = np.eye(1, 3, dtype=np.float32)
    with pytest.raises(ValueError, match="k is 0"):
        index.search(query, k=0)
    with pytest.raises(ValueError, match=r"bool \(3,\)"):
        index.search(query, k=1, allowed=np.ones(4, np.bool_))
    with pytest.raises(ValueError, match=r"\(n, dim\)"):
        index.search(query[0], k=1)
    with pytest.raises(ValueError, match="1 rows are marked -1, but there are 0"):
        index.updated([0, -1], np.zeros((0, 3), np.float32))
    with pytest.raises(DimensionMismatchError, match="4 dimensions where 3"):
        index.search(np.eye(1, 4, dtype=np.float32), k=1)
