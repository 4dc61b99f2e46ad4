"""From how many rows on lists or a graph are faster than a scan, and what they miss."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from benchmarks.embedding import VECTORS, RememberingEmbedder
from benchmarks.scale import DOCUMENT_TOKENS
from benchmarks.scale_catalog import read_queries, real_tools, scale_tools
from benchmarks.scale_vectors import CopiesEmbedder
from toolsearch.document import render_document
from toolsearch.embedders.base import Vectors
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.evaluation.datasets import Dataset
from toolsearch.index.vectors import FLAT_UP_TO_VALUES, Kind, VectorIndex
from toolsearch.retrieval.ranking import DEPTH
from toolsearch.tools import JsonObject

SIZES = (5_000, 10_000, 20_000, 40_000, 80_000)
KINDS: tuple[Kind, ...] = ("flat", "ivf", "hnsw")
K = 10


def graph(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """Median time of one search in vectors alone by the kind of index, beside that of embedding the query."""
    del datasets, embedder
    encoder = BundledEmbedder(max_tokens=DOCUMENT_TOKENS)
    tools = scale_tools(max(SIZES))
    documents = [render_document(tool) for tool in tools]
    vectors = CopiesEmbedder(encoder, tools, len(real_tools()), VECTORS).embed_documents(documents)
    texts = read_queries()
    queries = encoder.embed_queries(texts)
    embedding = _median_ms(lambda i: encoder.embed_queries([texts[i]]), len(texts))
    rows = [row for n in SIZES for row in _compared(vectors[:n], queries)]
    return {
        "title": "Scan, lists or graph",
        "text": (
            f"The tools and {len(texts)} queries of the table on time and memory, {DEPTH} rows asked for, as "
            f"a search does; the recall is that of the best {K}, against the flat index. Embedding a query "
            f"took {embedding:.2f} ms in the same run. Above {FLAT_UP_TO_VALUES:,} values, which are "
            f"{FLAT_UP_TO_VALUES // vectors.shape[1]:,} rows here, an index has lists unless told otherwise."
        ),
        "columns": ["rows", "kind", "ms", "recall@10", "build s"],
        "rows": rows,
    }


def _compared(vectors: Vectors, queries: Vectors) -> list[list[object]]:
    rows: list[list[object]] = []
    exact = VectorIndex.build(vectors, kind="flat").search(queries, K)
    for kind in KINDS:
        started = time.perf_counter()
        index = VectorIndex.build(vectors, kind=kind)
        build_s = time.perf_counter() - started
        found = index.search(queries, DEPTH)
        recall = [
            len(set(best.rows.tolist()) & set(near.rows[:K].tolist())) / len(best)
            for best, near in zip(exact, found, strict=True)
        ]
        took = _median_ms(partial(_search, index, queries), len(queries))
        mean = round(float(np.mean(recall)), 4)
        rows.append([len(vectors), kind, round(took, 3), mean, round(build_s, 1)])
    return rows


def _search(index: VectorIndex, queries: Vectors, i: int) -> None:
    index.search(queries[i : i + 1], DEPTH)


def _median_ms(run: Callable[[int], object], n: int) -> float:
    times = []
    for i in range(n):
        started = time.perf_counter()
        run(i)
        times.append(time.perf_counter() - started)
    return float(np.median(times)) * 1000
