"""How sure a mean over queries is: percentile bootstrap intervals, for one run and for two compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toolsearch.exceptions import EvaluationError

RESAMPLES = 2000
LEVEL = 0.95

# Keeps the drawn rows of one step near 16 MB, whatever the number of queries.
_DRAWS_PER_STEP = 2_000_000


@dataclass(frozen=True)
class Interval:
    """A mean, and the bounds between which it falls at the level asked for."""

    mean: float
    low: float
    high: float


def bootstrap_means(
    values: ArrayLike, *, seed: int | np.random.SeedSequence = 0, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Means of `resamples` samples drawn with replacement from the rows, as (resamples, columns).

    A row is a query and a column a measure; the same queries are drawn for every column, so that the
    difference of two columns is a paired one. (n,) counts as one column. Same seed, same result.

    Raises:
        EvaluationError: no rows, or a value that is not finite.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[0] == 0:
        raise EvaluationError(f"The bootstrap needs at least one query; got values of shape {table.shape}.")
    if not np.isfinite(table).all():
        raise EvaluationError("The bootstrap of a value that is not finite is undefined.")
    rng = np.random.default_rng(seed)
    n = table.shape[0]
    means = np.empty((resamples, table.shape[1]))
    step = max(1, _DRAWS_PER_STEP // n)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = rng.integers(0, n, size=(rows, n)) + np.arange(rows)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
        # einsum, not a BLAS product: its sums do not depend on the number of threads.
        means[start : start + rows] = np.einsum("rn,nc->rc", counts, table) / n
    return means


def bootstrap_intervals(
    columns: Mapping[str, Sequence[float]], *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> dict[str, Interval]:
    """Percentile intervals of the means of several measures over the same queries.

    Raises:
        EvaluationError: the columns differ in length, are empty, or hold a value that is not finite.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3.
    """
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise EvaluationError(f"Measures of the same queries differ in length: {sorted(lengths)}.")
    if not columns:
        return {}
    table = np.array(list(columns.values()), dtype=np.float64).T
    low, high = _percentiles(bootstrap_means(table, seed=seed, resamples=resamples), level)
    middle = table.mean(axis=0)
    return {name: Interval(float(middle[i]), float(low[i]), float(high[i])) for i, name in enumerate(columns)}


def mean_over_sets(
    columns: Sequence[Sequence[float]],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """The mean of the sets' means, each set with the same weight, and its percentile interval.

    A column holds one measure over the queries of one set. Queries are drawn within their set; the sets
    themselves are taken as given, so the interval says nothing of sets that are not among them.

    Raises:
        EvaluationError: there are no sets, one is empty, or a value is not finite.
    """
    if not columns:
        raise EvaluationError("There is no set to average over.")
    seeds = np.random.SeedSequence(seed).spawn(len(columns))
    means = [
        bootstrap_means(column, seed=own, resamples=resamples)
        for column, own in zip(columns, seeds, strict=True)
    ]
    low, high = _percentiles(np.mean(means, axis=0), level)
    middle = np.mean([np.mean(column) for column in columns])
    return Interval(float(middle), float(low[0]), float(high[0]))


def paired_difference(
    first: Mapping[str, float],
    second: Mapping[str, float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """`first` minus `second`, by query id: the mean difference and its percentile interval.

    Only queries are drawn, so what makes a query hard for both runs cancels out. An interval that holds 0
    does not tell the runs apart.

    Raises:
        EvaluationError: the runs do not cover the same queries, or cover none; lists the ids that differ.

    Source: Sakai, Evaluating Evaluation Metrics based on the Bootstrap, SIGIR 2006.
    """
    unpaired = tuple(sorted(first.keys() ^ second.keys()))
    if unpaired:
        raise EvaluationError(
            f"Two runs are compared over the same queries; {len(unpaired)} are in one only "
            f"(such as {', '.join(map(repr, unpaired[:5]))}).",
            ids=unpaired,
        )
    differences = np.array([first[query_id] - second[query_id] for query_id in sorted(first)])
    low, high = _percentiles(bootstrap_means(differences, seed=seed, resamples=resamples), level)
    return Interval(float(differences.mean()), float(low[0]), float(high[0]))


def _percentiles(means: NDArray[np.float64], level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not 0 < level < 1:
        raise EvaluationError(f"The level of an interval lies between 0 and 1, not at {level}.")
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high
