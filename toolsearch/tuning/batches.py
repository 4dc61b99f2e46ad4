"""Which examples make up each step: a pure function of the sources and the seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolsearch.tuning.pairs import PairSource
from toolsearch.tuning.settings import TuneSettings


@dataclass(frozen=True)
class Batch:
    """Queries and documents of a step.

    Attributes:
        queries: n texts.
        documents: m >= n texts; the i-th belongs to query i, those after the n-th are hard negatives.
        counts: (n, m) bool: False where a document also serves a query whose own it is not, so that it
            is left out of that query's comparison.
    """

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    counts: NDArray[np.bool_]


def plan_batches(sources: Sequence[PairSource], settings: TuneSettings) -> Iterator[Batch]:
    """Batches without end; the same for the same sources, seed and sizes.

    Each is made of `batch_sources` draws of a source, by its share; a source is gone through in shuffled
    order before any of its examples comes again. The queries of a draw have their catalog in common, so
    that part of the negatives are other tools of the same catalog.
    """
    rng = np.random.default_rng(settings.seed)
    sources = [source for source in sources if len(source)]
    shares = np.array([source.share for source in sources])
    shares /= shares.sum()
    decks: list[list[int]] = [[] for _ in sources]
    while True:
        drawn: list[tuple[PairSource, int]] = []
        sizes = _sizes(settings.batch_pairs, settings.batch_sources)
        for number, size in zip(rng.choice(len(sources), len(sizes), p=shares), sizes, strict=True):
            source = sources[number]
            for _ in range(min(size, len(source))):
                if not decks[number]:
                    decks[number] = rng.permutation(len(source)).tolist()
                drawn.append((source, decks[number].pop()))
        yield _assemble(list(dict.fromkeys(drawn_key(*each) for each in drawn)), drawn, settings, rng)


def drawn_key(source: PairSource, position: int) -> tuple[str, int]:
    """Tells apart the examples of a batch."""
    return source.name, position


def _assemble(
    unique: list[tuple[str, int]],
    drawn: list[tuple[PairSource, int]],
    settings: TuneSettings,
    rng: np.random.Generator,
) -> Batch:
    first = {drawn_key(*each): each for each in reversed(drawn)}
    queries, documents, keys, relevant = [], [], [], []
    by_query: dict[str, set[str]] = defaultdict(set)
    extra: list[tuple[str, str]] = []
    for each in unique:
        source, position = first[each]
        example = source.examples[position]
        row = example.positives[int(rng.integers(len(example.positives)))]
        queries.append(example.query)
        documents.append(example.text or source.documents[row])
        keys.append(source.keys[row])
        by_query[example.query] |= {source.keys[i] for i in example.relevant}
        relevant.append(by_query[example.query])
        n_hard = min(settings.hard_negatives, len(example.hard))
        for i in rng.choice(len(example.hard), n_hard, replace=False) if n_hard else ():
            hard = example.hard[int(i)]
            extra.append((source.keys[hard], source.documents[hard]))
    keys += [key for key, _ in extra]
    counts = np.array([[key not in served for key in keys] for served in relevant], dtype=bool)
    counts[np.arange(len(queries)), np.arange(len(queries))] = True
    texts = (*documents, *(text for _, text in extra))
    return Batch(tuple(queries), texts, counts)


def _sizes(pairs: int, draws: int) -> list[int]:
    """`pairs` in `draws` parts that differ by at most one."""
    return [pairs // draws + (i < pairs % draws) for i in range(draws)]
