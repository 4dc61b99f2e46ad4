from __future__ import annotations

import math

import numpy as np
import pytest

from toolsearch.evaluation.bootstrap import (
    bootstrap_intervals,
    bootstrap_means,
    mean_over_sets,
    paired_difference,
)
from toolsearch.exceptions import EvaluationError


def test_means_equal_those_of_a_loop_over_the_same_draws() -> None:
    values = np.random.default_rng(7).random((23, 3))
    drawn = np.random.default_rng(5).integers(0, 23, size=(40, 23))
    expected = [values[rows].mean(axis=0) for rows in drawn]
    assert bootstrap_means(values, seed=5, resamples=40) == pytest.approx(np.array(expected))


def test_means_do_not_depend_on_how_the_work_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(7).random(50)
    whole = bootstrap_means(values, seed=1, resamples=30)
    monkeypatch.setattr("toolsearch.evaluation.bootstrap._DRAWS_PER_STEP", 120)
    assert (bootstrap_means(values, seed=1, resamples=30) == whole).all()


def test_spread_of_the_means_is_the_standard_error() -> None:
    values = np.random.default_rng(3).normal(size=400)
    spread = bootstrap_means(values, seed=0, resamples=4000).std()
    assert spread == pytest.approx(values.std() / math.sqrt(400), rel=0.05)


def test_interval_of_coin_flips_is_the_binomial_one() -> None:
    """60 of 100: the 2.5 % and 97.5 % points of Binomial(100, 0.6) are 50 and 69."""
    interval = bootstrap_intervals({"hit": [1.0] * 60 + [0.0] * 40}, seed=0)["hit"]
    assert interval.mean == pytest.approx(0.6)
    assert interval.low == pytest.approx(0.50, abs=0.011)
    assert interval.high == pytest.approx(0.69, abs=0.011)


def test_interval_of_equal_values_is_a_point() -> None:
    interval = bootstrap_intervals({"x": [0.25] * 9})["x"]
    assert (interval.low, interval.mean, interval.high) == (0.25, 0.25, 0.25)


def test_same_seed_same_interval_and_another_seed_another() -> None:
    column = {"x": np.random.default_rng(0).random(31).tolist()}
    assert bootstrap_intervals(column, seed=4) == bootstrap_intervals(column, seed=4)
    assert bootstrap_intervals(column, seed=4) != bootstrap_intervals(column, seed=5)


def test_sets_weigh_the_same_whatever_their_size() -> None:
    assert mean_over_sets([[1.0] * 1000, [0.0, 0.5]]).mean == pytest.approx(0.625)


def test_interval_over_sets_has_the_standard_error_of_independent_sets() -> None:
    """Half of the root of the sum of squared standard errors, 1.96 of it to each side."""
    rng = np.random.default_rng(1)
    small, large = rng.normal(size=100), rng.normal(size=900)
    error = math.sqrt(small.var() / 100 + large.var() / 900) / 2
    interval = mean_over_sets([small.tolist(), large.tolist()], resamples=8000)
    assert (interval.high - interval.low) / 2 == pytest.approx(1.96 * error, rel=0.05)


def test_pairing_sees_a_small_steady_gain_that_two_intervals_hide() -> None:
    hard = np.random.default_rng(0).random(60)
    second = {f"q{i}": float(value) for i, value in enumerate(hard)}
    first = {query: value + 0.01 + 0.002 * (i % 3) for i, (query, value) in enumerate(second.items())}
    difference = paired_difference(first, dict(reversed(second.items())))
    assert difference.mean == pytest.approx(0.012)
    assert 0.011 < difference.low < 0.012 < difference.high < 0.013
    apart = bootstrap_intervals({"first": list(first.values()), "second": list(second.values())})
    assert apart["first"].low < apart["second"].high


def test_pairing_needs_the_same_queries() -> None:
    with pytest.raises(EvaluationError, match="same queries") as caught:
        paired_difference({"a": 1.0, "b": 0.0}, {"a": 1.0, "c": 0.0})
    assert caught.value.ids == ("b", "c")


def test_values_that_are_not_finite_are_refused() -> None:
    with pytest.raises(EvaluationError, match="finite"):
        bootstrap_intervals({"x": [1.0, math.nan]})
    with pytest.raises(EvaluationError, match="at least one query"):
        bootstrap_means([])
    with pytest.raises(EvaluationError, match="differ in length"):
        bootstrap_intervals({"x": [1.0], "y": [1.0, 2.0]})
