"""Measures of a ranking against the tools that answer a query, and of "nothing fits".

A ranking lists tool ids, best first; `gold` holds the ids of a query's relevant tools, all equally
relevant. Every measure of a ranking reads it the same way:

- A *hit* is a rank whose tool finds a gold tool that no earlier rank found. A tool that is listed twice
  therefore counts once, at its first rank, and its repetition still takes up a rank.
- `alternatives` names, for some gold tools, others that serve as well. A gold tool is *found* by itself or
  by any of its alternatives; one tool may find several gold tools, and is one hit. The number of gold
  tools, and with it the ideal ranking, stays what it is without alternatives.
- Without gold tools no ranking is right or wrong: `EvaluationError`. The same for a `k` below 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from toolsearch.exceptions import EvaluationError

Alternatives = Mapping[str, Collection[str]]


def recall_at_k(
    ranking: Sequence[str], gold: Collection[str], k: int, *, alternatives: Alternatives | None = None
) -> float:
    """Share of the gold tools that the first `k` ranks find, 0 to 1.

    Divided by the number of gold tools even where that is above `k`, as trec_eval does.
    """
    hits = _hits(ranking, gold, k, alternatives)
    return sum(found for _, found in hits) / len(set(gold))


def precision_at_k(
    ranking: Sequence[str], gold: Collection[str], k: int, *, alternatives: Alternatives | None = None
) -> float:
    """Hits in the first `k` ranks over `k`, 0 to 1; a ranking shorter than `k` is not forgiven."""
    return sum(1 for _ in _hits(ranking, gold, k, alternatives)) / k


def hit_rate_at_k(
    ranking: Sequence[str], gold: Collection[str], k: int, *, alternatives: Alternatives | None = None
) -> float:
    """1.0 if the first `k` ranks find any gold tool, else 0.0."""
    return float(any(True for _ in _hits(ranking, gold, k, alternatives)))


def completeness_at_k(
    ranking: Sequence[str], gold: Collection[str], k: int, *, alternatives: Alternatives | None = None
) -> float:
    """1.0 if the first `k` ranks find every gold tool, else 0.0."""
    return float(recall_at_k(ranking, gold, k, alternatives=alternatives) == 1.0)


def ndcg_at_k(
    ranking: Sequence[str], gold: Collection[str], k: int, *, alternatives: Alternatives | None = None
) -> float:
    """Normalised discounted cumulative gain of the first `k` ranks, 0 to 1.

    DCG is the sum of 1 / log2(rank + 1) over the hits, ranks from 1; it is divided by the DCG of a ranking
    that starts with min(k, number of gold tools) hits.

    Source: Järvelin and Kekäläinen, ACM TOIS 20(4), 2002, with gains of 0 and 1 and the discount of
    trec_eval's ``ndcg_cut``.
    """
    gain = math.fsum(1 / math.log2(rank + 1) for rank, _ in _hits(ranking, gold, k, alternatives))
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(set(gold))) + 1))
    return gain / ideal


def reciprocal_rank(
    ranking: Sequence[str], gold: Collection[str], *, alternatives: Alternatives | None = None
) -> float:
    """1 over the rank of the first hit, 0.0 without one; its mean over queries is MRR."""
    first = next(_hits(ranking, gold, max(len(ranking), 1), alternatives), None)
    return 0.0 if first is None else 1 / first[0]


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean.

    Raises:
        EvaluationError: there are no values, or one is not a finite number; it is never passed over.
    """
    numbers = list(values)
    if not numbers:
        raise EvaluationError("There is no value to average.")
    bad = [position for position, number in enumerate(numbers) if not math.isfinite(number)]
    if bad:
        raise EvaluationError(
            f"{len(bad)} of {len(numbers)} values cannot be averaged; "
            f"the first is {numbers[bad[0]]} at position {bad[0]}."
        )
    return math.fsum(numbers) / len(numbers)


def auroc(answerable: ArrayLike, unanswerable: ArrayLike) -> float:
    """How well a confidence tells queries with an answer from those without, 0 to 1; 0.5 is chance.

    The share of pairs of one answerable and one unanswerable query in which the answerable one has the
    higher confidence; a tie counts one half. -inf stands for a search that found nothing.

    Raises:
        EvaluationError: one side is empty, or a confidence is NaN.

    Source: the Mann-Whitney form, Hanley and McNeil, Radiology 143, 1982.
    """
    positive = np.asarray(answerable, dtype=np.float64).ravel()
    negative = np.sort(np.asarray(unanswerable, dtype=np.float64).ravel())
    if positive.size == 0 or negative.size == 0:
        raise EvaluationError(
            f"AUROC needs queries of both kinds; got {positive.size} answerable "
            f"and {negative.size} unanswerable."
        )
    if np.isnan(positive).any() or np.isnan(negative).any():
        raise EvaluationError("AUROC of a confidence that is NaN is undefined.")
    below = np.searchsorted(negative, positive, side="left")
    not_above = np.searchsorted(negative, positive, side="right")
    return float((below + not_above).sum() / (2 * positive.size * negative.size))


def as_groups(ids: Iterable[str], group_of: Mapping[str, str]) -> list[str]:
    """`ids` with each member of a group replaced by the group's name, every group once, at its first place.

    Apply it to ranking, gold and alternatives alike for figures that take near-duplicates for one tool.
    """
    return list(dict.fromkeys(group_of.get(tool_id, tool_id) for tool_id in ids))


def _hits(
    ranking: Sequence[str], gold: Collection[str], k: int, alternatives: Alternatives | None
) -> Iterator[tuple[int, int]]:
    """(rank, number of gold tools found there for the first time) for each hit in the first k ranks."""
    if k < 1:
        raise EvaluationError(f"k must be at least 1, not {k}.")
    missing = set(gold)
    if not missing:
        raise EvaluationError(
            "A query without gold tools has no ranking measures; leave it out of their means."
        )
    finds: dict[str, set[str]] = {tool_id: {tool_id} for tool_id in missing}
    for tool_id, others in (alternatives or {}).items():
        if tool_id in missing:
            for other in others:
                finds.setdefault(other, set()).add(tool_id)
    return _scan(ranking[:k], missing, finds)


def _scan(
    ranking: Sequence[str], missing: set[str], finds: Mapping[str, set[str]]
) -> Iterator[tuple[int, int]]:
    for rank, tool_id in enumerate(ranking, start=1):
        found = missing & finds.get(tool_id, set())
        if found:
            missing -= found
            yield rank, len(found)
