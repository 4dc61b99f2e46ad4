from __future__ import annotations

import itertools
import math
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.evaluation.metrics import (
    as_groups,
    auroc,
    completeness_at_k,
    hit_rate_at_k,
    mean,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)
from toolsearch.exceptions import EvaluationError


def test_a_tool_listed_twice_counts_once() -> None:
    """(E187)"""
    assert recall_at_k(["a", "a"], {"a"}, 2) == 1.0
    assert precision_at_k(["a", "a"], {"a"}, 2) == 0.5
    assert recall_at_k(["a", "a"], {"a", "b"}, 2) == 0.5


def test_a_repetition_takes_up_its_rank() -> None:
    assert recall_at_k(["a", "a", "b"], {"a", "b"}, 2) == 0.5
    assert recall_at_k(["a", "a", "b"], {"a", "b"}, 3) == 1.0


def test_recall_divides_by_all_gold_tools_and_precision_by_k() -> None:
    """(E189)"""
    gold = {"r1", "r2", "r3", "r4"}
    assert recall_at_k(["r1", "r2"], gold, 2) == 0.5
    assert precision_at_k(["r1", "r2"], gold, 2) == 1.0


def test_precision_does_not_forgive_a_short_ranking() -> None:
    assert precision_at_k(["a"], {"a"}, 5) == 0.2


def test_hit_rate_is_any_and_completeness_is_every_gold_tool() -> None:
    ranking, gold = ["x", "a", "y", "b"], {"a", "b"}
    assert [hit_rate_at_k(ranking, gold, k) for k in (1, 2, 4)] == [0.0, 1.0, 1.0]
    assert [completeness_at_k(ranking, gold, k) for k in (1, 2, 3, 4)] == [0.0, 0.0, 0.0, 1.0]


def test_ndcg_of_a_hand_worked_ranking() -> None:
    """Hits at ranks 1 and 3 of three gold tools: (1 + 1/2) / (1 + 1/log2(3) + 1/2)."""
    expected = 1.5 / (1.5 + 1 / math.log2(3))
    assert ndcg_at_k(["a", "x", "b", "y", "c"], {"a", "b", "c"}, 3) == pytest.approx(expected, abs=1e-15)


def test_ndcg_of_more_gold_tools_than_k_can_reach_one() -> None:
    assert ndcg_at_k(["b", "a"], {"a", "b", "c"}, 2) == 1.0


def test_ndcg_gains_nothing_from_a_repetition() -> None:
    assert ndcg_at_k(["a", "a"], {"a", "b"}, 2) == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_reciprocal_rank_is_of_the_first_hit() -> None:
    assert reciprocal_rank(["x", "y", "b", "a"], {"a", "b"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x"], {"a"}) == 0.0
    assert reciprocal_rank([], {"a"}) == 0.0


class TestAlternatives:
    alternatives: ClassVar = {"a": ["a2", "a3"]}

    def test_an_alternative_finds_the_gold_tool(self) -> None:
        assert recall_at_k(["a2", "x"], {"a", "b"}, 2, alternatives=self.alternatives) == 0.5
        assert completeness_at_k(["a3", "b"], {"a", "b"}, 2, alternatives=self.alternatives) == 1.0
        assert reciprocal_rank(["x", "a3"], {"a"}, alternatives=self.alternatives) == 0.5

    def test_the_gold_tool_and_its_alternatives_are_found_once(self) -> None:
        ranking = ["a2", "a", "a3"]
        assert recall_at_k(ranking, {"a", "b"}, 3, alternatives=self.alternatives) == 0.5
        assert precision_at_k(ranking, {"a", "b"}, 3, alternatives=self.alternatives) == pytest.approx(1 / 3)

    def test_the_ideal_of_ndcg_is_the_same_as_without(self) -> None:
        found = ndcg_at_k(["a2", "a", "b"], {"a", "b"}, 3, alternatives=self.alternatives)
        assert found == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))

    def test_one_tool_may_find_two_gold_tools_and_is_one_hit(self) -> None:
        shared = {"a": ["c"], "b": ["c"]}
        assert recall_at_k(["c"], {"a", "b"}, 1, alternatives=shared) == 1.0
        assert precision_at_k(["c"], {"a", "b"}, 1, alternatives=shared) == 1.0
        assert ndcg_at_k(["c", "a"], {"a", "b"}, 2, alternatives=shared) == pytest.approx(
            1 / (1 + 1 / math.log2(3))
        )

    def test_an_alternative_of_no_gold_tool_finds_nothing(self) -> None:
        assert recall_at_k(["z"], {"a"}, 1, alternatives={"q": ["z"]}) == 0.0


@pytest.mark.parametrize(
    "measure", [recall_at_k, precision_at_k, hit_rate_at_k, completeness_at_k, ndcg_at_k]
)
def test_no_gold_tools_and_no_ranks_are_errors(measure: object) -> None:
    assert callable(measure)
    with pytest.raises(EvaluationError, match="without gold"):
        measure(["a"], [], 5)
    with pytest.raises(EvaluationError, match="at least 1"):
        measure(["a"], ["a"], 0)


tools = st.sampled_from("abcdef")
rankings = st.lists(tools, max_size=8)
golds = st.sets(tools, min_size=1, max_size=4)
alternatives = st.dictionaries(tools, st.sets(tools, max_size=3), max_size=3)


@given(rankings, golds, alternatives, st.integers(1, 9))
def test_measures_equal_those_of_definitions_spelt_out(
    ranking: list[str], gold: set[str], others: dict[str, set[str]], k: int
) -> None:
    """Oracle: for each gold tool the first rank that serves it, by trying them all."""
    first = {}
    for tool in gold:
        served_by = {tool} | others.get(tool, set())
        first[tool] = min((r for r, t in enumerate(ranking, 1) if t in served_by), default=math.inf)
    within = [rank for rank in first.values() if rank <= k]
    hit_ranks = set(within)
    best = max(
        sum(1 / math.log2(r + 1) for r in ranks)
        for ranks in itertools.combinations(range(1, k + 1), min(k, len(gold)))
    )
    assert recall_at_k(ranking, gold, k, alternatives=others) == len(within) / len(gold)
    assert precision_at_k(ranking, gold, k, alternatives=others) == len(hit_ranks) / k
    assert hit_rate_at_k(ranking, gold, k, alternatives=others) == bool(within)
    assert completeness_at_k(ranking, gold, k, alternatives=others) == (len(within) == len(gold))
    assert ndcg_at_k(ranking, gold, k, alternatives=others) == pytest.approx(
        sum(1 / math.log2(r + 1) for r in hit_ranks) / best
    )
    assert reciprocal_rank(ranking, gold, alternatives=others) == 1 / min(first.values())


def test_mean_refuses_what_is_not_a_number() -> None:
    assert mean([1, 2, 6]) == 3.0
    with pytest.raises(EvaluationError, match=r"2 of 3 values .* nan at position 1"):
        mean([0.5, math.nan, math.inf])
    with pytest.raises(EvaluationError, match="no value"):
        mean([])


def test_auroc_of_hand_worked_confidences() -> None:
    """Of six pairs, four are in order and one is tied."""
    assert auroc([0.9, 0.5, 0.2], [0.5, 0.1]) == pytest.approx(4.5 / 6)
    assert auroc([1.0], [0.0]) == 1.0
    assert auroc([0.0], [1.0]) == 0.0
    assert auroc([0.3, 0.3], [0.3]) == 0.5


scores = st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12)


@given(scores, scores)
def test_auroc_is_the_share_of_pairs_in_order(answerable: list[float], unanswerable: list[float]) -> None:
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in answerable for b in unanswerable]
    assert auroc(answerable, unanswerable) == pytest.approx(sum(pairs) / len(pairs))


def test_auroc_refuses_nan_and_one_sided_data() -> None:
    with pytest.raises(EvaluationError, match="NaN"):
        auroc([math.nan, 1.0], [0.0])
    with pytest.raises(EvaluationError, match="both kinds"):
        auroc([1.0], [])


def test_groups_are_joined_at_their_first_place() -> None:
    group_of = {"a": "a", "a~2": "a", "a~3": "a"}
    assert as_groups(["x", "a~2", "b", "a", "x"], group_of) == ["x", "a", "b"]
