"""Fusion adds the channels by value."""

import numpy as np
import pytest

from toolsearch.retrieval.fusion import DENSE_FLOOR, LEXICAL_WEIGHT, Channels, dense_weight


def channels(dense: float, lexical: float, name: float, reads: float = 1.0) -> Channels:
    def one(value: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array([value])

    return Channels(np.array([0]), one(dense), one(lexical), one(name), reads)


def test_the_score_is_the_weighted_sum_of_the_channels() -> None:
    assert channels(0.5, 2.0, 0.0).fused()[0] == pytest.approx(0.5 + LEXICAL_WEIGHT * 2.0)
    assert channels(0.5, 2.0, 1.0).fused()[0] == pytest.approx(0.5 + LEXICAL_WEIGHT * 2.0 + 10.0)


def test_a_named_tool_beats_the_best_content() -> None:
    """A word that only one of 50,000 tools has makes at most 11.5; here are ten of them."""
    named, other = channels(0.0, 0.0, 0.75).fused()[0], channels(1.0, 115.0, 0.0).fused()[0]
    assert named > other


def test_the_cosine_counts_less_where_the_encoder_cannot_read() -> None:
    assert dense_weight(1.0) == 1.0
    assert dense_weight(0.0) == DENSE_FLOOR
    assert channels(0.5, 1.0, 0.0, reads=0.0).content()[0] == pytest.approx(
        DENSE_FLOOR * 0.5 + LEXICAL_WEIGHT
    )
