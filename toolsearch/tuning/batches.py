"""Which examples make up each step: a pure function of the sources and the seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolsearch.tuning.pairs import Example, PairSource
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
    served: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        for example in source.examples:
            served[example.query].update(source.keys[row] for row in example.relevant)
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
        unique = {(id(source), position): (source, position) for source, position in drawn}
        examples = [(source, source.examples[position]) for source, position in unique.values()]
        yield _assemble(examples, served, settings.hard_negatives, rng)


def _assemble(
    examples: Sequence[tuple[PairSource, Example]],
    served: Mapping[str, set[str]],
    hard_negatives: int,
    rng: np.random.Generator,
) -> Batch:
    queries, documents, keys = [], [], []
    extra: list[tuple[str, str]] = []
    for source, example in examples:
        row = example.positives[int(rng.integers(len(example.positives)))]
        queries.append(example.query)
        documents.append(example.text or source.documents[row])
        keys.append(source.keys[row])
        n_hard = min(hard_negatives, len(example.hard))
        for i in rng.choice(len(example.hard), n_hard, replace=False) if n_hard else ():
            hard = example.hard[int(i)]
            extra.append((source.keys[hard], source.documents[hard]))
    keys += [key for key, _ in extra]
    counts = np.array([[key not in served[query] for key in keys] for query in queries], dtype=bool)
    counts[np.arange(len(queries)), np.arange(len(queries))] = True
    texts = (*documents, *(text for _, text in extra))
    return Batch(tuple(queries), texts, counts)


def _sizes(pairs: int, draws: int) -> list[int]:
    """`pairs` in `draws` parts that differ by at most one."""
    return [pairs // draws + (i < pairs % draws) for i in range(draws)]
