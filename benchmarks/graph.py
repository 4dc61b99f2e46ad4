"""From how many rows on a graph is faster than a scan, and what it misses."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.data import load_named
from benchmarks.embedding import VECTORS, RememberingEmbedder
from benchmarks.loaders.botocore import read_botocore
from benchmarks.scale import DOCUMENT_TOKENS, scale_records
from toolsearch.catalog import tool_from_record
from toolsearch.document import render_document
from toolsearch.embedders.base import Vectors
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.embedders.cache import CachedEmbedder
from toolsearch.evaluation.datasets import Dataset
from toolsearch.index.vectors import FLAT_UP_TO_VALUES, VectorIndex
from toolsearch.tools import JsonObject

SIZES = (5_000, 10_000, 25_000, 50_000)
K = 10


def graph(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """Median time of one search in vectors alone, flat and HNSW, beside that of embedding the query."""
    del datasets
    encoder = BundledEmbedder(max_tokens=DOCUMENT_TOKENS)
    records = itertools.islice(scale_records(read_botocore()), max(SIZES))
    documents = [render_document(tool_from_record(record)) for record in records]
    vectors = CachedEmbedder(encoder, VECTORS).embed_documents(documents)
    texts = [query.text for query in load_named("demo", VECTORS.parent).queries]
    queries = embedder.embed_queries(texts)
    embedding = _median_ms(lambda i: encoder.embed_queries([texts[i]]), len(texts))
    rows = [_compared(vectors[:n], queries) for n in SIZES]
    return {
        "title": "Scan or graph",
        "text": (
            f"Operations of AWS and variants of them, {len(texts)} queries of the demo set, {K} rows each; "
            f"embedding a query took {embedding:.2f} ms in the same run. Above {FLAT_UP_TO_VALUES:,} values, "
            f"which are {FLAT_UP_TO_VALUES // vectors.shape[1]:,} rows here, an index is a graph unless told "
            "otherwise."
        ),
        "columns": ["rows", "flat ms", "HNSW ms", "HNSW recall@10", "HNSW build s"],
        "rows": rows,
    }


def _compared(vectors: Vectors, queries: Vectors) -> list[object]:
    flat = VectorIndex.build(vectors, kind="flat")
    started = time.perf_counter()
    linked = VectorIndex.build(vectors, kind="hnsw")
    build_s = time.perf_counter() - started
    found = [
        len(set(exact.rows.tolist()) & set(near.rows.tolist())) / len(exact)
        for exact, near in zip(flat.search(queries, K), linked.search(queries, K), strict=True)
    ]
    times = [
        round(_median_ms(lambda i: index.search(queries[i : i + 1], K), len(queries)), 3)  # noqa: B023
        for index in (flat, linked)
    ]
    return [len(vectors), *times, round(float(np.mean(found)), 4), round(build_s, 1)]


def _median_ms(run: Callable[[int], object], n: int) -> float:
    times = []
    for i in range(n):
        started = time.perf_counter()
        run(i)
        times.append(time.perf_counter() - started)
    return float(np.median(times)) * 1000
