"""How well an encoder alone ranks the tools of a source."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from toolsearch.embedders.base import Vectors
from toolsearch.evaluation.metrics import ndcg_at_k
from toolsearch.tuning.encoder import TextEncoder
from toolsearch.tuning.pairs import Example, PairSource
from toolsearch.tuning.settings import TuneSettings

_DEPTH = 50


def mean_ndcg(encoder: TextEncoder, sources: Sequence[PairSource], settings: TuneSettings) -> float:
    """Mean over the sources of NDCG@10 of the cosines; texts are cut as in training."""
    return fmean(source_ndcg(encoder, source, settings) for source in sources)


def source_ndcg(encoder: TextEncoder, source: PairSource, settings: TuneSettings) -> float:
    """Mean NDCG@10 over the examples of a source."""
    documents = encoder.vectors(
        [settings.document_prefix + text for text in source.documents], settings.document_tokens
    )
    queries = encoder.vectors(
        [settings.query_prefix + example.query for example in source.examples], settings.query_tokens
    )
    return ndcg_of(queries, documents, source)


def ndcg_of(queries: Vectors, documents: Vectors, source: PairSource, *, k: int = 10) -> float:
    """Mean NDCG@k of cosines over the examples; near-duplicates count as one tool."""
    values = []
    for vector, example in zip(queries, source.examples, strict=True):
        scores = documents @ vector
        rows = np.lexsort((np.arange(len(scores)), -scores))[:_DEPTH]
        ranking = list(dict.fromkeys(source.keys[row] for row in rows))
        gold = list(dict.fromkeys(source.keys[row] for row in example.positives))
        values.append(ndcg_at_k(ranking, gold, k, alternatives=_alternatives(example, source)))
    return fmean(values)


def _alternatives(example: Example, source: PairSource) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row, others in zip(example.positives, example.alternatives, strict=False):
        found.setdefault(source.keys[row], []).extend(source.keys[other] for other in others)
    return found
