"""How well a search knows that nothing fits: queries whose relevant tools were taken out of the catalog."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, load_named
from benchmarks.embedding import RememberingEmbedder
from benchmarks.peers.comparison import sampled
from benchmarks.scored import Scores, score_set
from benchmarks.train_encoder import QUERIED
from toolsearch.evaluation import metrics
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT
from toolsearch.tools import JsonObject

QUERIES_PER_SET = 1000
FALSE_ALARMS = 0.05


def absent(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """The best score with the relevant tools in the catalog against that without them, set by set."""
    rows: list[list[object]] = []
    figures: dict[str, list[tuple[float, float]]] = {"trained on": [], "never trained on": []}
    for dataset in (*datasets, load_named("demo", DEFAULT_DATA)):
        name = dataset.name.removeprefix(BENCH_PREFIX)
        kind = "trained on" if name in QUERIED else "never trained on"
        present, without = best_scores(sampled(dataset, QUERIES_PER_SET), embedder)
        caught = float((without < np.quantile(present, FALSE_ALARMS)).mean())
        auroc = metrics.auroc(present, without)
        figures[kind].append((auroc, caught))
        rows.append([name, kind, len(present), round(auroc, 4), round(caught, 4)])
    every = [pair for pairs in figures.values() for pair in pairs]
    for kind, pairs in (("all", every), *figures.items()):
        auroc, caught = np.mean(pairs, axis=0)
        rows.append(["mean", kind, len(pairs), round(float(auroc), 4), round(float(caught), 4)])
    return {
        "title": "Requests whose tools are absent",
        "text": (
            f"At most {QUERIES_PER_SET:,} requests a set, each asked of its catalog and of the catalog "
            "without its relevant tools, those that serve as well, and their near-duplicates. AUROC: how "
            "well the best score, which decides whether anything fits, tells one from the other. The last "
            f"column is the share of absent ones below the score that {FALSE_ALARMS:.0%} of the present ones "
            "stay under. Where the encoder was trained on a set's queries, its figures are too good."
        ),
        "columns": ["set", "encoder", "requests", "AUROC", "absent noticed"],
        "rows": rows,
    }


def best_scores(dataset: Dataset, embedder: RememberingEmbedder) -> tuple[Scores, Scores]:
    """For each query the best content score with its relevant tools in the catalog, and without them.

    A query all of whose catalog is relevant is left out.
    """
    scored = score_set(dataset, embedder)
    fused = scored.fused(LEXICAL_WEIGHT, 0.0)
    row_of = {tool_id: row for row, tool_id in enumerate(scored.ids)}
    group_of = dataset.group_of
    groups = np.array([row_of.get(group_of.get(tool_id, tool_id), -1) for tool_id in scored.ids])
    others = np.array([_others(query, row_of, groups) for query in scored.queries])
    kept = others.any(axis=1)
    without = np.where(others, fused, -np.inf).max(axis=1)
    return fused.max(axis=1)[kept], without[kept]


def _others(query: BenchQuery, row_of: dict[str, int], groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows (n,) are neither relevant nor near-duplicates of what is."""
    rows = [row_of[tool_id] for tool_id in query.served_by if tool_id in row_of]
    mask: NDArray[np.bool_] = ~np.isin(groups, groups[rows])
    return mask
