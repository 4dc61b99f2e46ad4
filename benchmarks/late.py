"""Late interaction: the best of the fused search compared again, token by token."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedding import RememberingEmbedder
from benchmarks.scored import ScoredSet, score_set
from benchmarks.unseen import NAMES, about, ndcg, unseen_sets, with_mean
from toolsearch.document import render_document
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.embedders.onnx import OnnxModel
from toolsearch.evaluation.datasets import Dataset
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT
from toolsearch.tools import JsonObject

RERANKED = 20
QUERIES_PER_SET = 150
WEIGHTS_TRIED = (0.1, 0.2, 0.5, 1.0)
"""What the late score counts beside the fused one."""

TIMED = 20

Tokens = NDArray[np.float32]


@dataclass
class TokenEncoder:
    """Unit vectors of a text's tokens, the special ones left out, kept for the next time."""

    model: OnnxModel

    def __post_init__(self) -> None:
        self._kept: dict[str, Tokens] = {}

    def tokens(self, text: str) -> Tokens:
        """Rows (tokens, dim) of length 1."""
        found = self._kept.get(text)
        if found is None:
            found = self._kept[text] = self.encode(text)
        return found

    def encode(self, text: str) -> Tokens:
        """The same, computed now."""
        ids = np.array([self.model.tokenize(text)], dtype=np.int64)
        rows = self.model.hidden(ids)[0, 1:-1]
        unit: Tokens = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


def max_sim(query: Tokens, document: Tokens) -> float:
    """The mean over the query's tokens of the cosine with the nearest token of the document.

    0.0 where either has none. Source: Khattab and Zaharia, "ColBERT", SIGIR 2020; there it is the sum.
    """
    if not len(query) or not len(document):
        return 0.0
    return float((query @ document.T).max(axis=1).mean())


def late(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """The fused search, and what late interaction makes of its best hits, with the time that it takes."""
    encoder = TokenEncoder(BundledEmbedder().model)
    sets = unseen_sets(datasets, at_most=QUERIES_PER_SET)
    scored = [score_set(each, embedder) for each in sets]
    reranked = [rerank(each, one, encoder) for each, one in zip(sets, scored, strict=True)]
    rows: list[list[object]] = [["the fused search", 0.0, *_figures(scored, reranked, 1.0, 0.0)]]
    rows += [["and the late score", w, *_figures(scored, reranked, 1.0, w)] for w in WEIGHTS_TRIED]
    rows.append(["the late score alone", 1.0, *_figures(scored, reranked, 0.0, 1.0)])
    return {
        "title": "Late interaction over the best hits",
        "text": _text(*_times_ms(sets[0], scored[0], encoder)),
        "columns": ["score", "weight", *(f"NDCG@10, {name}" for name in (*NAMES, "mean"))],
        "rows": rows,
    }


def _text(embedding: float, cold: float, warm: float) -> str:
    return (
        f"The best {RERANKED} of the fused search ranked again by the fused score plus a weight times "
        "the late score: the mean, over the tokens of the request, of the cosine with the nearest token "
        f"of the tool, by the bundled encoder's own token vectors. {about(QUERIES_PER_SET)} The weights were "
        "tried on these very requests, so the best row flatters itself. In one run, in turn, the median "
        f"request took {embedding:.1f} ms of processor time to embed; the late scores took "
        f"{cold / embedding:.1f} times as long with the {RERANKED} tools encoded on the spot, and "
        f"{warm / embedding:.2f} times with their token vectors kept, which take the space of a vector for "
        "each token."
    )


@dataclass(frozen=True)
class Reranked:
    """For each query the best rows (queries, at most 20), with their fused and late scores."""

    rows: NDArray[np.int64]
    fused: NDArray[np.float64]
    late: NDArray[np.float64]

    def rankings(self, ids: Sequence[str], fused: float, late: float) -> Iterator[list[str]]:
        """The ids by the weighted sum of both scores, ties as the fused score has them."""
        order = np.argsort(-(fused * self.fused + late * self.late), axis=1, kind="stable")
        for rows in np.take_along_axis(self.rows, order, axis=1):
            yield [ids[row] for row in rows]


def rerank(dataset: Dataset, scored: ScoredSet, encoder: TokenEncoder) -> Reranked:
    """The best of each query by the fused score, with late scores."""
    documents = [render_document(tool) for tool in dataset.catalog.values()]
    fused = scored.fused(LEXICAL_WEIGHT, 0.0)
    rows = np.argsort(-fused, axis=1, kind="stable")[:, :RERANKED]
    late_scores = [
        [max_sim(encoder.tokens(query.text), encoder.tokens(documents[row])) for row in best]
        for query, best in zip(scored.queries, rows, strict=True)
    ]
    return Reranked(rows, np.take_along_axis(fused, rows, axis=1), np.array(late_scores))


def _figures(
    scored: Sequence[ScoredSet], reranked: Sequence[Reranked], fused: float, late: float
) -> list[float]:
    return with_mean(
        [
            ndcg(one.queries, again.rankings(one.ids, fused, late))
            for one, again in zip(scored, reranked, strict=True)
        ]
    )


def _times_ms(dataset: Dataset, scored: ScoredSet, encoder: TokenEncoder) -> tuple[float, float, float]:
    """Median processor time of embedding a request, and of its late scores with and without encoding."""
    documents = [render_document(tool) for tool in dataset.catalog.values()]
    fused = scored.fused(LEXICAL_WEIGHT, 0.0)[:TIMED]
    bundled = BundledEmbedder(threads=1)
    bundled.embed_queries(["search tools"])
    times: list[tuple[float, float, float]] = []
    for query, scores in zip(scored.queries, fused, strict=False):
        texts = [documents[row] for row in np.argsort(-scores)[:RERANKED]]
        began = time.process_time()
        bundled.embed_queries([query.text])
        embedded = time.process_time()
        tokens = encoder.encode(query.text)
        told = [encoder.encode(text) for text in texts]
        encoded = time.process_time()
        for document in told:
            max_sim(tokens, document)
        ended = time.process_time()
        times.append((embedded - began, ended - embedded, ended - encoded))
    embedding, cold, warm = (1000 * median(column) for column in zip(*times, strict=True))
    return embedding, cold, warm
