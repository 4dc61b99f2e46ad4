"""The stand-ins for embedders have real geometry and fail only as told."""

import subprocess
import sys

import numpy as np
import pytest

from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import EmbeddingError
from toolsearch.testing import FlakyEmbedder, HashingEmbedder


def test_hashing_is_the_same_in_every_process() -> None:
    """No salt of this process decides a place (E191)."""
    script = (
        "from toolsearch.testing import HashingEmbedder; "
        "print(HashingEmbedder(8).embed_queries(['refund a payment']).tobytes().hex())"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout.decode()
        for seed in ("0", "1")
    }
    assert answers == {HashingEmbedder(8).embed_queries(["refund a payment"]).tobytes().hex() + "\n"}


def test_hashing_brings_shared_words_near_and_keeps_others_apart() -> None:
    embedder = HashingEmbedder()
    query = embedder.embed_queries(["refund a payment"])[0]
    documents = embedder.embed_documents(
        ["refundPayment", "list_payments of a customer", "weather forecast tomorrow"]
    )
    refund, payments, weather = documents @ query
    assert refund > 0.7
    assert refund > payments > weather
    assert abs(weather) < 0.2


def test_hashing_counts_its_calls_and_gives_unit_or_zero_rows() -> None:
    embedder = HashingEmbedder(dim=64)
    rows = embedder.embed_documents(["one two", "", "😀"])
    embedder.embed_documents(["three"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 0], atol=1e-6)
    assert embedder.document_calls == [("one two", "", "😀"), ("three",)]
    assert embedder.embedded == ["one two", "", "😀", "three"]
    assert embedder.query_calls == []


def test_flaky_fails_as_often_as_told_and_then_answers() -> None:
    embedder = FlakyEmbedder(HashingEmbedder(), failures=[ConnectionError("down"), TimeoutError("slow")])
    with pytest.raises(ConnectionError, match="down"):
        embedder.embed_queries(["a"])
    with pytest.raises(TimeoutError, match="slow"):
        embedder.embed_documents(["a"])
    assert (embedder.embed_queries(["a"]) == HashingEmbedder().embed_queries(["a"])).all()


def test_flaky_hands_out_the_given_rows_as_they_are() -> None:
    embedder = FlakyEmbedder(HashingEmbedder(2), rows={"a": [10, 10], "b": [float("nan"), 0]})
    rows = embedder.embed_documents(["a", "c", "b"])
    assert rows[0].tolist() == [10, 10]
    assert np.isclose(np.linalg.norm(rows[1]), 1)
    assert np.isnan(rows[2, 0])


def test_flaky_refuses_calls_that_are_too_large() -> None:
    embedder = FlakyEmbedder(HashingEmbedder(), max_texts=2)
    with pytest.raises(EmbeddingError, match="3 texts"):
        embedder.embed_documents(["a", "b", "c"])


def test_both_are_embedders() -> None:
    assert isinstance(HashingEmbedder(), Embedder)
    assert isinstance(FlakyEmbedder(HashingEmbedder()), Embedder)
