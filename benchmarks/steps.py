"""How requests for several tools are split, and how what their steps find becomes one list."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import zip_longest
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedding import RememberingEmbedder
from toolsearch.document import render_document
from toolsearch.evaluation import metrics
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.index.lexical import LexicalIndex
from toolsearch.retrieval.cut import with_leaders
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT, dense_weight
from toolsearch.retrieval.lift import STEP_SHARE
from toolsearch.retrieval.steps import MAX_STEPS, MIN_WORDS, split_steps
from toolsearch.tools import JsonObject

K = 10

Scores: TypeAlias = NDArray[np.float64]
Split: TypeAlias = Callable[[str], Sequence[str]]
Merge: TypeAlias = Callable[[Scores, Scores], list[int]]
"""From the scores by the whole request (n,) and by each step (s, n) to the ten best rows."""

_BREAKS = re.compile(r"(?<=[.!?;])\s+|\n+")


def steps(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """Ways to split and to merge, each on all requests, on those for several tools and on those for one."""
    default = partial(lift, share=STEP_SHARE)
    measured: list[tuple[str, str, Split, Merge]] = [
        ("none", "", lambda text: (text,), default),
        ("sentences and lines", "lift", sentences, default),
        *((f"rules, up to {n}", "lift", partial(split_steps, most=n), default) for n in (3, MAX_STEPS, 10)),
        *(("rules", f"lift, share {share}", split_steps, partial(lift, share=share)) for share in (0.3, 0.7)),
        ("rules", "lift, places not kept", split_steps, partial(lift, share=STEP_SHARE, keeps=False)),
        ("rules", "lift, not stretched", split_steps, partial(lift, share=STEP_SHARE, stretches=False)),
        ("rules", "mean of request and best step", split_steps, partial(lift, share=STEP_SHARE, lowers=True)),
        ("rules", "steps in turn", split_steps, lambda _, parts: in_turn(parts)),
        ("rules", "request and steps in turn", split_steps, lambda w, parts: in_turn([w, *parts])),
        ("rules", "request plus step, in turn", split_steps, lambda w, parts: in_turn(0.5 * w + 0.5 * parts)),
    ]
    per_set: list[list[tuple[Sequence[BenchQuery], Scores]]] = [[] for _ in measured]
    for dataset in datasets:
        scored = _Scored(dataset, embedder, [split for _, _, split, _ in measured])
        for found, (_, _, split, merge) in zip(per_set, measured, strict=True):
            found.append((scored.queries, scored.figures(split, merge)))
    return {
        "title": "Requests in steps",
        "text": (
            "Means over sets of their dev requests, of the requests for several tools and of those for one. "
            f"The default is the rules of `toolsearch/retrieval/steps.py`, up to {MAX_STEPS} steps, and "
            f"`lift` with a share of {STEP_SHARE}: what a step scores is stretched to the request's best "
            "score, a tool is raised half of the way to it and never lowered, and the best hit of each step "
            "keeps a place among the ten. *Split* is the share of requests with more than one step."
        ),
        "columns": [
            "steps",
            "merged by",
            "split",
            "NDCG@10",
            "completeness@10",
            "several, NDCG@10",
            "several, completeness@5",
            "several, completeness@10",
            "one, NDCG@10",
            "one, completeness@10",
        ],
        "rows": [[*row[:2], *_means(found)] for row, found in zip(measured, per_set, strict=True)],
    }


def sentences(text: str) -> Sequence[str]:
    """Sentences and lines of at least three words, up to six."""
    found = tuple(piece for piece in _BREAKS.split(text) if len(piece.split()) >= MIN_WORDS)[:MAX_STEPS]
    return found if len(found) > 1 else (text,)


def lift(
    whole: Scores,
    parts: Scores,
    *,
    share: float,
    keeps: bool = True,
    stretches: bool = True,
    lowers: bool = False,
) -> list[int]:
    """The search's own merge, and variants of it."""
    if stretches:
        parts = parts * (whole.max() / np.maximum(parts.max(axis=1, keepdims=True), 1e-9))
    change = share * (parts.max(axis=0) - whole)
    rows = best(whole + (change if lowers else np.maximum(change, 0)))
    if not keeps:
        return rows
    leaders = dict.fromkeys(int(row) for row in parts.argmax(axis=1))
    return [row for row, _ in with_leaders([(row, 0) for row in rows], [(row, 0) for row in leaders], K)]


def in_turn(rankings: Sequence[Scores] | Scores) -> list[int]:
    """First the best of each, then each one's second, …"""
    turns = zip_longest(*(best(scores, K) for scores in rankings))
    return list(dict.fromkeys(row for turn in turns for row in turn if row is not None))[:K]


def best(scores: Scores, k: int = K) -> list[int]:
    """The `k` best rows, ties by row."""
    found: list[int] = np.argsort(-scores, kind="stable")[:k].tolist()
    return found


class _Scored:
    """The content scores of every tool of a data set, for its requests and for all pieces of them."""

    def __init__(self, dataset: Dataset, embedder: RememberingEmbedder, splits: Iterable[Split]) -> None:
        tools = list(dataset.catalog.values())
        self.queries = [query for query in dataset.queries if query.gold]
        self._ids = [dataset.id_of[tool.name] for tool in tools]
        texts = {piece: None for query in self.queries for split in splits for piece in split(query.text)}
        texts |= dict.fromkeys(query.text for query in self.queries)
        lexicon = LexicalIndex.build(tools)
        vectors = embedder.embed_documents([render_document(tool) for tool in tools])
        self._scores = {
            text: dense_weight(embedder.reads(text)) * (vectors @ row)
            + LEXICAL_WEIGHT * lexicon.scores(text).raw
            for text, row in zip(texts, embedder.embed_queries(list(texts)), strict=True)
        }

    def figures(self, split: Split, merge: Merge) -> Scores:
        """For each query whether it is split, and its NDCG@10, completeness@5 and completeness@10."""
        return np.array([self._figures(query, split(query.text), merge) for query in self.queries])

    def _figures(self, query: BenchQuery, pieces: Sequence[str], merge: Merge) -> list[float]:
        whole = self._scores[query.text].astype(np.float64)
        is_split = len(pieces) > 1
        parts = np.array([self._scores[piece] for piece in pieces], dtype=np.float64)
        found = [self._ids[row] for row in (merge(whole, parts) if is_split else best(whole))]
        others = query.alternatives
        return [
            float(is_split),
            metrics.ndcg_at_k(found, query.gold, K, alternatives=others),
            metrics.completeness_at_k(found, query.gold, 5, alternatives=others),
            metrics.completeness_at_k(found, query.gold, K, alternatives=others),
        ]


def _means(per_set: Sequence[tuple[Sequence[BenchQuery], Scores]]) -> list[float]:
    """Means over the sets: all requests, those for several tools, those for one."""
    groups: dict[str, list[Scores]] = {"all": [], "several": [], "one": []}
    for queries, figures in per_set:
        several = np.array([len(query.gold) > 1 for query in queries])
        for name, chosen in (("all", several | ~several), ("several", several), ("one", ~several)):
            if chosen.any():
                groups[name].append(figures[chosen].mean(axis=0))
    everything, many, one = (np.mean(groups[name], axis=0) for name in ("all", "several", "one"))
    chosen_figures = [everything[0], everything[1], everything[3], *many[1:], one[1], one[3]]
    return [round(float(figure), 4) for figure in chosen_figures]
