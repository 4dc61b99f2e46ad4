"""Which queries are held out, to say honestly what tuning gained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from toolsearch.evaluation.datasets import BenchQuery, Dataset


def split_queries(dataset: Dataset, *, share: float, seed: int, at_least: int = 1) -> tuple[Dataset, Dataset]:
    """The data set twice: with the queries to train on, and with those held out.

    Of each kind of query about the same share is held out, drawn by the seed. Queries without relevant
    tools count as held out: nothing can be learned from them.

    Args:
        dataset: With queries.
        share: Of the queries to hold out, from 0 to 1.
        seed: Of the draw.
        at_least: So many are held out where there are more than that.
    """
    usable = [query for query in dataset.queries if query.gold]
    n_held = min(len(usable), max(at_least, round(share * len(usable)))) if share else 0
    held = _draw(usable, n_held, seed)
    train = tuple(query for query in usable if query.id not in held)
    rest = tuple(query for query in dataset.queries if query.id in held or not query.gold)
    return replace(dataset, queries=train), replace(dataset, queries=rest)


def _draw(queries: Sequence[BenchQuery], n: int, seed: int) -> set[str]:
    """Ids of `n` queries; in the shuffled order of each kind, every kind gives in turn by its share."""
    rng = np.random.default_rng(seed)
    places: dict[str, list[int]] = {}
    for i in rng.permutation(len(queries)):
        places.setdefault(queries[int(i)].kind, []).append(int(i))
    ranked = sorted(
        ((place + 0.5) / len(members), kind, i)
        for kind, members in sorted(places.items())
        for place, i in enumerate(members)
    )
    return {queries[i].id for _, _, i in ranked[:n]}
