"""What tuning gained on queries that were held out, by the search that a user runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolsearch.embedders.base import Embedder
from toolsearch.evaluation.bootstrap import paired_difference
from toolsearch.evaluation.datasets import Dataset
from toolsearch.evaluation.report import EvaluationReport
from toolsearch.evaluation.retrievers import make_retriever
from toolsearch.evaluation.runner import evaluate

MEASURES = ("hit_rate@1", "recall@5", "completeness@10", "ndcg@10")
RETRIEVERS = ("dense", "hybrid")


@dataclass(frozen=True)
class Gain:
    """One measure of one retriever, before and after; `low` and `high` bound the gain at 95 %."""

    retriever: str
    measure: str
    before: float
    after: float
    low: float
    high: float


def compare(
    dataset: Dataset, before: Embedder, after: Embedder, *, retrievers: Sequence[str] = RETRIEVERS
) -> tuple[Gain, ...]:
    """`MEASURES` of each retriever over the data set, with either embedder.

    The intervals are of a paired bootstrap over the queries.

    Raises:
        EvaluationError: there are no queries with relevant tools.
    """
    gains = []
    for name in retrievers:
        old, new = (_report(name, dataset, embedder) for embedder in (before, after))
        for measure in MEASURES:
            between = paired_difference(_of(new, measure), _of(old, measure))
            means = (old.means[measure], new.means[measure])
            gains.append(Gain(name, measure, *means, between.low, between.high))
    return tuple(gains)


def _report(retriever: str, dataset: Dataset, embedder: Embedder) -> EvaluationReport:
    return evaluate(make_retriever(retriever, dataset.catalog, embedder), dataset, strict=True)


def _of(report: EvaluationReport, measure: str) -> Mapping[str, float]:
    return report.scores[measure]
