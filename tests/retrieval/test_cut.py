"""How many hits are kept, and how several rankings become one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.retrieval.cut import adaptive_k, in_turn

UNNAMED = np.zeros(8, dtype=bool)


@pytest.mark.parametrize(
    ("content", "max_k", "expected"),
    [
        ([1.0, 0.9, 0.61, 0.6, 0.59, 0.5], 10, 4),  # down to 0.6 of the best
        ([1.0, 0.1, 0.1, 0.1, 0.1], 10, 3),  # but never fewer than three
        ([1.0, 0.9, 0.9, 0.9, 0.9], 2, 2),  # nor more than asked for
        ([0.5], 10, 1),
        ([], 10, 0),
        ([-0.1, -0.2, -0.3, -0.4], 10, 3),
    ],
)
def test_only_what_stands_out_is_kept(content: list[float], max_k: int, expected: int) -> None:
    assert adaptive_k(np.array(content), UNNAMED[: len(content)], max_k) == expected


def test_named_tools_are_kept_whatever_their_content() -> None:
    content, named = np.array([0.1, 0.2, 0.9, 0.8, 0.3]), np.array([True, True, False, False, False])
    assert adaptive_k(content, named, 10) == 4


def test_rankings_take_turns_and_each_row_is_taken_once() -> None:
    assert in_turn([[1, 2, 3], [1, 4], [5]], 5) == [(1, 0), (4, 1), (5, 2), (2, 0), (3, 0)]


@given(st.lists(st.lists(st.integers(0, 30), unique=True), max_size=5), st.integers(1, 40))
def test_no_query_gets_far_more_than_another(rankings: list[list[int]], k: int) -> None:
    taken = in_turn(rankings, k)
    rows = [row for row, _ in taken]
    assert len(rows) == len(set(rows)) == min(k, len(set().union(*rankings)))
    counts = [sum(source == i for _, source in taken) for i in range(len(rankings))]
    for i, ranking in enumerate(rankings):
        served = set(ranking) <= set(rows)
        assert served or counts[i] >= max(counts) - 1
