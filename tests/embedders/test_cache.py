"""A cached embedder answers as the one it wraps, and asks it only for what is new."""

from pathlib import Path

import numpy as np
import pytest

from toolsearch.embedders.base import Embedder
from toolsearch.embedders.cache import QUERIES_KEPT, CachedEmbedder
from toolsearch.exceptions import DimensionMismatchError, EmbedderUnavailableError, EmbeddingError
from toolsearch.testing import FlakyEmbedder, HashingEmbedder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


def test_a_rebuild_embeds_only_what_changed(path: Path) -> None:
    CachedEmbedder(HashingEmbedder(), path).embed_documents(["one", "two", "three"])
    inner = HashingEmbedder()
    rows = CachedEmbedder(inner, path).embed_documents(["three", "zwei", "one"])
    assert inner.embedded == ["zwei"]
    assert (rows == HashingEmbedder().embed_documents(["three", "zwei", "one"])).all()


def test_rows_are_those_of_the_embedder_bit_for_bit_new_or_kept(path: Path) -> None:
    texts = [f"tool {i} does {i * i}" for i in range(50)]
    direct = HashingEmbedder().embed_documents(texts)
    assert (CachedEmbedder(HashingEmbedder(), path, batch_size=7).embed_documents(texts) == direct).all()
    assert (CachedEmbedder(HashingEmbedder(), path).embed_documents(texts[::-1]) == direct[::-1]).all()


def test_without_a_path_the_users_cache_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLSEARCH_CACHE_DIR", str(tmp_path))
    embedder = CachedEmbedder(HashingEmbedder())
    embedder.embed_documents(["one"])
    assert embedder.store.path == tmp_path / "embeddings.sqlite"
    assert embedder.store.path.exists()


def test_another_embedder_starts_anew(path: Path) -> None:
    CachedEmbedder(HashingEmbedder(64), path).embed_documents(["one"])
    other = HashingEmbedder(32)
    assert CachedEmbedder(other, path).embed_documents(["one"]).shape == (1, 32)
    assert other.embedded == ["one"]


def test_a_text_that_occurs_twice_is_embedded_once(path: Path) -> None:
    inner = HashingEmbedder()
    rows = CachedEmbedder(inner, path).embed_documents(["a", "b", "a"])
    assert sorted(inner.embedded) == ["a", "b"]
    assert (rows[0] == rows[2]).all()


def test_thousands_of_texts_reach_the_embedder_in_batches(path: Path) -> None:
    """5,000 tools and an embedder that refuses more than 512 texts a call (E148)."""
    inner = HashingEmbedder(8)
    texts = [f"{'very ' * (i % 5)}different tool {i}" for i in range(5_000)]
    rows = CachedEmbedder(FlakyEmbedder(inner, max_texts=512), path).embed_documents(texts)
    assert (rows == HashingEmbedder(8).embed_documents(texts)).all()
    lengths = [len(text) for text in inner.embedded]
    assert lengths == sorted(lengths)


def test_a_failed_batch_is_reported_and_the_others_are_kept(path: Path) -> None:
    """(E148)"""
    flaky = FlakyEmbedder(HashingEmbedder(), failures=[EmbeddingError("Batch refused.")])
    texts = ["a", "b", "cc", "dd", "eee"]
    with pytest.raises(EmbeddingError, match=r"2 of 5 texts.*Batch refused.*kept") as caught:
        CachedEmbedder(flaky, path, batch_size=2).embed_documents(texts)
    assert sorted(caught.value.embedded) == [2, 3, 4]
    inner = HashingEmbedder()
    CachedEmbedder(inner, path).embed_documents(texts)
    assert inner.embedded == ["a", "b"]


def test_what_succeeded_within_a_failed_batch_is_kept(path: Path) -> None:
    row = HashingEmbedder().embed_documents(["b"])[0]
    failure = EmbeddingError("One text refused.", embedded={1: row})
    with pytest.raises(EmbeddingError, match="1 of 2 texts"):
        CachedEmbedder(FlakyEmbedder(HashingEmbedder(), failures=[failure]), path).embed_documents(["a", "b"])
    inner = HashingEmbedder()
    assert (CachedEmbedder(inner, path).embed_documents(["b"])[0] == row).all()
    assert inner.embedded == []


def test_an_embedder_out_of_reach_is_not_asked_again_and_again(path: Path) -> None:
    inner = HashingEmbedder()
    failures = [EmbedderUnavailableError("No connection.")]
    with pytest.raises(EmbedderUnavailableError, match="No connection"):
        CachedEmbedder(FlakyEmbedder(inner, failures=failures), path, batch_size=1).embed_documents(
            ["a", "b"]
        )
    assert inner.embedded == []


def test_an_interrupt_loses_one_batch_at_most(path: Path) -> None:
    def interrupt(done: int, _: int) -> None:
        if done > 4:
            raise KeyboardInterrupt

    texts = ["a", "b", "cc", "dd", "eee", "fff"]
    with pytest.raises(KeyboardInterrupt):
        CachedEmbedder(HashingEmbedder(), path, batch_size=2).embed_documents(texts, progress=interrupt)
    inner = HashingEmbedder()
    CachedEmbedder(inner, path).embed_documents(texts)
    assert inner.embedded == ["eee", "fff"]


def test_nonsense_is_an_error_and_never_kept(path: Path) -> None:
    """(E193)"""
    broken = FlakyEmbedder(HashingEmbedder(2), rows={"b": [float("nan"), 1]})
    with pytest.raises(EmbeddingError, match="not finite"):
        CachedEmbedder(broken, path).embed_documents(["a", "b"])
    with pytest.raises(EmbeddingError, match="not finite"):
        CachedEmbedder(broken, path).embed_queries(["b"])
    inner = HashingEmbedder(2)
    assert np.isfinite(CachedEmbedder(inner, path).embed_documents(["b"])).all()
    assert inner.embedded == ["b"]


def test_another_dimension_than_promised_is_an_error(path: Path) -> None:
    """(E135)"""
    broken = FlakyEmbedder(HashingEmbedder(2), rows={"a": [1, 0, 0]})
    with pytest.raises(DimensionMismatchError, match="3 dimensions where 2"):
        CachedEmbedder(broken, path).embed_documents(["a"])


def test_rows_of_other_lengths_become_unit_rows(path: Path) -> None:
    """(E147)"""
    broken = FlakyEmbedder(HashingEmbedder(2), rows={"a": [10, 10], "q": [0, 3]})
    cached = CachedEmbedder(broken, path)
    for _ in range(2):
        np.testing.assert_allclose(cached.embed_documents(["a"]), [[0.5**0.5, 0.5**0.5]], rtol=1e-6)
        np.testing.assert_allclose(cached.embed_queries(["q"]), [[0.0, 1.0]])


def test_progress_counts_kept_and_new_texts(path: Path) -> None:
    CachedEmbedder(HashingEmbedder(), path).embed_documents(["a", "b"])
    seen: list[tuple[int, int]] = []
    CachedEmbedder(HashingEmbedder(), path, batch_size=2).embed_documents(
        ["a", "b", "cc", "dd", "ee"], progress=lambda done, total: seen.append((done, total))
    )
    assert seen[0] == (2, 5)
    assert seen[-1] == (5, 5)
    assert seen == sorted(seen)


def test_recent_queries_are_remembered_in_memory_alone(path: Path) -> None:
    inner = HashingEmbedder()
    cached = CachedEmbedder(inner, path)
    rows = cached.embed_queries(["a", "b", "a"])
    again = cached.embed_queries(["b", "c"])
    assert inner.query_calls == [("a", "b"), ("c",)]
    assert (rows[[0, 1, 2]] == HashingEmbedder().embed_queries(["a", "b", "a"])).all()
    assert (again == HashingEmbedder().embed_queries(["b", "c"])).all()
    assert not path.exists()


def test_the_oldest_queries_are_forgotten(path: Path) -> None:
    inner = HashingEmbedder(2)
    cached = CachedEmbedder(inner, path)
    cached.embed_queries(["first", "second"])
    cached.embed_queries([f"query {i}" for i in range(QUERIES_KEPT - 1)])
    cached.embed_queries(["second", "first"])
    assert inner.query_calls[-1] == ("first",)


def test_no_texts_give_no_rows_and_no_file(path: Path) -> None:
    cached = CachedEmbedder(HashingEmbedder(8), path)
    assert cached.embed_documents([]).shape == (0, 8)
    assert cached.embed_queries([]).shape == (0, 8)
    assert not path.exists()


def test_it_is_the_embedder_it_wraps(path: Path) -> None:
    cached = CachedEmbedder(HashingEmbedder(8), path)
    assert isinstance(cached, Embedder)
    assert (cached.id, cached.dim) == ("hashing-v1@8", 8)
    assert cached.reads("数据") == 1.0
    cached.embed_documents(["a"])
    assert cached.store.counts() == {"hashing-v1@8": 1}
