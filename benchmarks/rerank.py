"""The default search with and without a reranker over its best tools, on sets that neither of them saw."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.data import BENCH_PREFIX
from benchmarks.embedding import RememberingEmbedder
from benchmarks.pair_reranker import WEIGHTS, PairReranker
from benchmarks.peers.comparison import sampled
from benchmarks.reranked import Head, RerankedSet, rerank_set
from benchmarks.reranker_data import MOST_QUERIES
from benchmarks.scored import Scores
from benchmarks.train_encoder import QUERIED
from benchmarks.train_reranker import RECORD
from benchmarks.unseen import NAMES, about, ndcg, unseen_sets, with_mean
from toolsearch.document import render_document
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.evaluation import metrics
from toolsearch.evaluation.datasets import Dataset
from toolsearch.retrieval.fusion import ODDS_WEIGHT
from toolsearch.retrieval.reranking import RERANKED
from toolsearch.tools import JsonObject

QUERIES_PER_SET = 340
FITTED_PER_SET = 25
TIMED = 20
KNOWN = f"{BENCH_PREFIX}metatool"
"""A set with more requests than were trained on."""
KNOWN_QUERIES = 250
WEIGHTS_TRIED = (0.01, ODDS_WEIGHT, 0.05)

Best = Callable[[Head], Scores]


def rerank(datasets: Sequence[Dataset], embedder: RememberingEmbedder, *, folder: Path) -> JsonObject:
    """What the reranker in `folder` gains in rank and in AUROC of abstention, and the time that it takes."""
    reranker = PairReranker(folder)
    learned = [each for each in datasets if each.name.removeprefix(BENCH_PREFIX) in QUERIED]
    fitted = fit_logistic([rerank_set(sampled(each, FITTED_PER_SET), embedder, reranker) for each in learned])
    unseen = unseen_sets(datasets, at_most=QUERIES_PER_SET)
    sets = [rerank_set(each, embedder, reranker) for each in unseen]
    rows = [["the default", *_figures(sets, 0.0), *_aurocs(sets, _weighed(0.0))]]
    rows += [
        [f"and {weight} of the log odds", *_figures(sets, weight), *_aurocs(sets, _weighed(weight))]
        for weight in WEIGHTS_TRIED
    ]
    rows.append(
        ["the log odds alone", *_figures(sets, None), *_aurocs(sets, lambda head: head.odds.max(axis=1))]
    )
    told = _told_of_known([each for each in datasets if each.name == KNOWN], embedder, reranker)
    cosine = _aurocs(sets, lambda head: head.cosines.max(axis=1))[-1]
    both = _aurocs(sets, fitted)[-1]
    return {
        "title": "A cross-encoder over the best hits",
        "text": (
            f"The best {RERANKED} of the default search, searched whole, read once more by a reranker of "
            f"{(folder / WEIGHTS).stat().st_size / 1e6:.1f} MB: two layers in which the request's tokens "
            "attend to the tool's, int8, trained on requests and tools of the other sets, a quarter of them "
            f"without their tools. It gains nothing on sets that it never saw, so none ships. "
            f"{about(QUERIES_PER_SET)} AUROC: requests with their tools in the catalog "
            "against the same without, by the best score. By the best cosine it is "
            f"{cosine:.3f} in the mean, by a logistic of best score and best log odds, fitted on the sets "
            f"that were trained on, {both:.3f}. {told}{_times(unseen[0], sets[0], folder)}"
        ),
        "columns": [
            "score",
            *(f"NDCG@10, {name}" for name in (*NAMES, "mean")),
            "hit rate@1, mean",
            *(f"AUROC, {name}" for name in (*NAMES, "mean")),
        ],
        "rows": rows,
        "training": training_record(folder),
    }


def training_record(folder: Path) -> JsonObject:
    """How the reranker was trained, without the loss of each step."""
    record: JsonObject = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    return {key: value for key, value in record.items() if key != "losses"}


def _told_of_known(datasets: Sequence[Dataset], embedder: RememberingEmbedder, reranker: PairReranker) -> str:
    """What it gains for new requests over a catalog that it learned from: a sentence for each."""
    told = ""
    for dataset in datasets:
        learned = {query.id for query in sampled(dataset, MOST_QUERIES).queries}
        drawn = sampled(dataset, MOST_QUERIES + KNOWN_QUERIES)
        new = tuple(query for query in drawn.queries if query.id not in learned)
        ranked = [rerank_set(replace(drawn, queries=new), embedder, reranker)]
        before, after = (_figures(ranked, weight)[0] for weight in (0.0, ODDS_WEIGHT))
        told += (
            f"On {dataset.name.removeprefix(BENCH_PREFIX)}, whose tools and other requests it learned from, "
            f"NDCG@10 of {len(new)} requests that it did not see goes from {before:.3f} to {after:.3f}. "
        )
    return told


def fit_logistic(sets: Sequence[RerankedSet]) -> Best:
    """The odds that a tool is there, from the best score and the best log odds; each set counts the same."""
    features, there, weights = [], [], []
    for each in sets:
        for head, label in ((each.present, 1), (each.absent, 0)):
            rows = _both(head)[each.kept]
            features.append(rows)
            there += [label] * len(rows)
            weights += [1 / len(rows)] * len(rows)
    model = LogisticRegression(C=100.0, max_iter=1000)
    model.fit(np.concatenate(features), there, sample_weight=np.array(weights) * len(there) / len(sets))
    return lambda head: np.asarray(model.decision_function(_both(head)))


def _both(head: Head) -> Scores:
    return np.column_stack([10 * head.fused.max(axis=1), head.odds.max(axis=1)])


def _weighed(weight: float) -> Best:
    return lambda head: np.asarray((head.fused + weight * head.odds).max(axis=1))


def _figures(sets: Sequence[RerankedSet], weight: float | None) -> list[float]:
    """NDCG@10 of each set and in the mean, and the mean hit rate@1; None ranks by the odds alone."""
    ranked = [list(each.rankings(weight or 0.0, alone=weight is None)) for each in sets]
    hits = [
        metrics.mean(
            metrics.hit_rate_at_k(ids, query.gold, 1, alternatives=query.alternatives)
            for query, ids in zip(each.queries, rankings, strict=True)
        )
        for each, rankings in zip(sets, ranked, strict=True)
    ]
    figures = [ndcg(each.queries, rankings) for each, rankings in zip(sets, ranked, strict=True)]
    return [*with_mean(figures), round(metrics.mean(hits), 4)]


def _aurocs(sets: Sequence[RerankedSet], best: Best) -> list[float]:
    return with_mean(
        [metrics.auroc(best(each.present)[each.kept], best(each.absent)[each.kept]) for each in sets]
    )


def _times(dataset: Dataset, ranked: RerankedSet, folder: Path) -> str:
    """How long the reranker takes on one thread and on two, beside the embedding of a request: a sentence."""
    documents = [render_document(tool) for tool in dataset.catalog.values()]
    asked = [
        (query.text, [documents[row] for row in rows])
        for query, rows in zip(ranked.queries[:TIMED], ranked.present.rows, strict=False)
    ]
    bundled = BundledEmbedder(threads=1)
    bundled.warm_up()
    embedding = median(_ms(partial(bundled.embed_queries, [text]))[0] for text, _ in asked)
    said = []
    for threads in (1, 2):
        reranker = PairReranker(folder, threads=threads)
        reranker.warm_up()
        # The first time a tool is read it is encoded, the second time it is kept.
        times = [[_ms(partial(reranker.scores, *each)) for each in asked] for _ in range(2)]
        (cpu, wall), (kept_cpu, kept_wall) = (
            [median(column) for column in zip(*t, strict=True)] for t in times
        )
        said.append(
            f"on {threads} thread{'s' if threads > 1 else ''} {wall:.0f} ms where the tools are new and "
            f"{kept_wall:.0f} ms where they were read before ({cpu:.0f} and {kept_cpu:.0f} ms of processor "
            "time)"
        )
    return (
        f"The median request took, for {RERANKED} tools, {'; '.join(said)}; to embed it took {embedding:.0f} "
        "ms of processor time in the same run."
    )


def _ms(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of processor time and of wall time."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return 1000 * (time.process_time() - cpu), 1000 * (time.perf_counter() - wall)
