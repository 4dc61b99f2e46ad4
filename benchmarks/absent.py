"""How well a search knows that nothing fits: queries whose relevant tools were taken out of the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, load_named
from benchmarks.embedding import RememberingEmbedder
from benchmarks.peers.comparison import sampled
from benchmarks.scored import ScoredSet, Scores, score_set
from benchmarks.train_encoder import QUERIED
from toolsearch.evaluation import metrics
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT
from toolsearch.tools import JsonObject

QUERIES_PER_SET = 1000
FALSE_ALARMS = 0.05
SHARE = 0.25
"""Of `benchmarks.fusions.share_of_ceiling`."""
CONDITIONS = ("whole", "dense", "lexical", "share")
"""Those of `benchmarks/conditions.yaml` whose best scores are compared; the first decides by default."""

_KINDS = {True: "trained on", False: "never trained on"}


def absent(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """The best score with the relevant tools in the catalog against that without them, set by set."""
    rows: list[list[object]] = []
    figures: dict[str, list[list[float]]] = {"all": [], **{kind: [] for kind in _KINDS.values()}}
    for dataset in (*datasets, load_named("demo", DEFAULT_DATA)):
        name = dataset.name.removeprefix(BENCH_PREFIX)
        kind = _KINDS[name in QUERIED]
        asked = sampled(dataset, QUERIES_PER_SET)
        best = _by_condition(asked, embedder)
        present, without = best[CONDITIONS[0]]
        caught = float((without < np.quantile(present, FALSE_ALARMS)).mean())
        found = [*(metrics.auroc(*best[condition]) for condition in CONDITIONS), caught]
        figures["all"].append(found)
        figures[kind].append(found)
        rows.append([name, kind, len(present), *(round(value, 4) for value in found)])
    for kind, values in figures.items():
        means = np.mean(values, axis=0)
        rows.append(["mean", kind, len(values), *(round(float(value), 4) for value in means)])
    return {
        "title": "Requests whose tools are absent",
        "text": (
            f"At most {QUERIES_PER_SET:,} requests a set, each asked of its catalog and of the catalog "
            "without its relevant tools, those that serve as well, and their near-duplicates. AUROC: how "
            "well the best score of a retriever, which decides whether anything fits, tells one from the "
            f"other. The last column is the share of absent ones below the score that {FALSE_ALARMS:.0%} of "
            "the present ones stay under, by the default, which searches requests whole for this. Where the "
            "encoder was trained on a set's queries, its figures are too good."
        ),
        "columns": [
            "set",
            "encoder",
            "requests",
            *(f"AUROC, {each}" for each in CONDITIONS),
            "absent noticed",
        ],
        "rows": rows,
    }


def best_scores(
    dataset: Dataset, scored: ScoredSet, scores: Scores
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each query the best of its `scores` with its relevant tools in the catalog, and without them.

    A query all of whose catalog is relevant is left out.
    """
    left = others(dataset, scored)
    kept = left.any(axis=1)
    without = np.where(left, scores, -np.inf).max(axis=1)
    return scores.max(axis=1)[kept], without[kept]


def others(dataset: Dataset, scored: ScoredSet) -> NDArray[np.bool_]:
    """For each query (queries, tools) what neither serves it nor is a near-duplicate of what does."""
    row_of = {tool_id: row for row, tool_id in enumerate(scored.ids)}
    group_of = dataset.group_of
    groups = np.array([row_of.get(group_of.get(tool_id, tool_id), -1) for tool_id in scored.ids])
    return np.array([_others(query, row_of, groups) for query in scored.queries])


def _by_condition(dataset: Dataset, embedder: RememberingEmbedder) -> Mapping[str, tuple[Scores, Scores]]:
    scored = score_set(dataset, embedder)
    scores = {
        "whole": scored.fused(LEXICAL_WEIGHT, 0.0),
        "dense": scored.cosines,
        "lexical": scored.bm25,
        "share": scored.fused(SHARE, 1.0),
    }
    return {name: best_scores(dataset, scored, scores[name]) for name in CONDITIONS}


def _others(query: BenchQuery, row_of: dict[str, int], groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows (n,) are neither relevant nor near-duplicates of what is."""
    rows = [row_of[tool_id] for tool_id in query.served_by if tool_id in row_of]
    mask: NDArray[np.bool_] = ~np.isin(groups, groups[rows])
    return mask
