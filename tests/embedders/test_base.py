"""Rows become unit rows, or an error says which are none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.embedders.base import as_unit_rows
from toolsearch.exceptions import DimensionMismatchError, EmbeddingError


def test_rows_are_scaled_to_length_one_and_zero_rows_stay() -> None:
    """Vectors of other lengths would win by length alone (E147), zero vectors must match nothing (E145)."""
    rows = as_unit_rows([[3, 4], [0, 0], [0, -2]], n=3, dim=2, embedder_id="m")
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0], [0.0, -1.0]])


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-9, 1.0, 1e9]))
def test_unit_rows_keep_every_bit(seed: int, scale: float) -> None:
    vectors = np.random.default_rng(seed).normal(scale=scale, size=(20, 48))
    once = as_unit_rows(vectors, n=20, dim=48, embedder_id="m")
    np.testing.assert_allclose(np.linalg.norm(once, axis=1), 1, atol=1e-6)
    assert (as_unit_rows(once, n=20, dim=48, embedder_id="m") == once).all()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e300])
def test_values_that_are_not_finite_are_an_error_that_says_where(bad: float) -> None:
    """One NaN of many is never turned into a number (E193)."""
    with pytest.raises(EmbeddingError, match=r"'m'.*1 of 3 texts.*position 1"):
        as_unit_rows([[1, 0], [bad, 0], [0, 1]], n=3, dim=2, embedder_id="m")


def test_another_dimension_is_named() -> None:
    """Both numbers are in the message (E135)."""
    with pytest.raises(DimensionMismatchError, match=r"768 dimensions where 384"):
        as_unit_rows(np.ones((1, 768)), n=1, dim=384, embedder_id="m")


@pytest.mark.parametrize("vectors", [np.ones((2, 4)), np.ones(4), []])
def test_another_number_of_rows_is_an_error(vectors: object) -> None:
    with pytest.raises(EmbeddingError, match="for 3 texts"):
        as_unit_rows(vectors, n=3, dim=4, embedder_id="m")


def test_no_texts_give_no_rows() -> None:
    assert as_unit_rows([], n=0, dim=4, embedder_id="m").shape == (0, 4)
