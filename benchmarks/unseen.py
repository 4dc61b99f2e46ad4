"""Sets of which the encoder saw neither a request nor a tool: what was tried with it is judged on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, load_named
from benchmarks.encoder_card import UNSEEN
from benchmarks.peers.comparison import sampled
from benchmarks.scored import DEPTH, ScoredSet, Scores
from toolsearch.evaluation import metrics
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT

QUERIES_PER_SET = 600
NAMES = tuple(name.removeprefix(BENCH_PREFIX) for name in UNSEEN)
DENSE = tuple(f"dense, {name}" for name in (*NAMES, "mean"))
FUSED = tuple(f"fused, {name}" for name in (*NAMES, "mean"))
"""Columns of NDCG@10: with the cosine alone, and with BM25."""


def about(at_most: int = QUERIES_PER_SET) -> str:
    """What the figures are of, a sentence."""
    return (
        f"NDCG@10 on sets of which the encoder saw no request and no tool ({', '.join(NAMES)}): at most "
        f"{at_most} dev requests each, among all tools."
    )


def unseen_sets(datasets: Iterable[Dataset], *, at_most: int = QUERIES_PER_SET) -> list[Dataset]:
    """Those of the sets, and the demo set, with `at_most` of their requests."""
    found = [dataset for dataset in datasets if dataset.name in UNSEEN]
    return [sampled(dataset, at_most) for dataset in (*found, load_named("demo", DEFAULT_DATA))]


def dense_and_fused(scored: Sequence[ScoredSet]) -> list[float]:
    """NDCG@10 in the order of `DENSE` and `FUSED`."""
    return [figure for weight in (0.0, LEXICAL_WEIGHT) for figure in _with_mean(scored, weight)]


def ndcg(queries: Sequence[BenchQuery], rankings: Iterable[Sequence[str]]) -> float:
    """The mean over the queries of NDCG@10 of the ids that were ranked for each."""
    return metrics.mean(
        metrics.ndcg_at_k(ids, query.gold, DEPTH, alternatives=query.alternatives)
        for query, ids in zip(queries, rankings, strict=True)
    )


def with_mean(figures: Sequence[float]) -> list[float]:
    """The figures of the sets and their mean, rounded."""
    return [round(figure, 4) for figure in (*figures, metrics.mean(figures))]


def _with_mean(scored: Sequence[ScoredSet], weight: float) -> list[float]:
    return with_mean([ndcg(one.queries, _ids(one, one.fused(weight, 0.0))) for one in scored])


def _ids(scored: ScoredSet, scores: Scores) -> Iterable[Sequence[str]]:
    return (ids for _, ids, _ in scored.rankings(scores))
