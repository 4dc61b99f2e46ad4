"""A table of tokens in place of the encoder: what is lost, and how much faster it is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.data import DEFAULT_DATA
from benchmarks.embedding import RememberingEmbedder
from benchmarks.scored import score_set
from benchmarks.train_encoder import TOLD
from benchmarks.unseen import DENSE, FUSED, about, dense_and_fused, unseen_sets
from toolsearch.document import render_document
from toolsearch.embedders.base import Embedder
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.evaluation.datasets import Dataset
from toolsearch.sources.files import read_catalog
from toolsearch.tools import JsonObject
from toolsearch.tuning.static import DIM, PRIOR, SMOOTHING, distill

QUERIES = 60
DOCUMENTS = 40
ROUNDS = 3


def static(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """The bundled encoder, tables distilled from it, and BM25 alone."""
    with TemporaryDirectory() as folder:
        encoder = BundledEmbedder(threads=1)
        told = [
            render_document(tool)
            for name in TOLD
            for tool in read_catalog(DEFAULT_DATA / name / "catalog.jsonl").catalog.values()
        ]
        by_rank = distill(encoder, Path(folder) / "rank", name="static")
        counted = distill(encoder, Path(folder) / "counted", name="static", documents=told)
        return measured(datasets, embedder, encoder, {"Zipf's law": by_rank, "and catalogs": counted})


def measured(
    datasets: Sequence[Dataset],
    embedder: RememberingEmbedder,
    encoder: Embedder,
    tables: Mapping[str, Embedder],
) -> JsonObject:
    """`embedder`, `encoder` with its vectors kept, against tables, each named by its weights."""
    sets = unseen_sets(datasets)
    whole = [score_set(each, embedder) for each in sets]
    queries = [query.text for query in whole[0].queries[:QUERIES]]
    documents = [render_document(tool) for tool in list(sets[0].catalog.values())[:DOCUMENTS]]
    rows: list[list[object]] = [["the bundled encoder", *dense_and_fused(whole), 1.0, 1.0]]
    for name, table in tables.items():
        figures = dense_and_fused([score_set(each, table) for each in sets])
        rows.append([f"tokens, {name}", *figures, *_times_faster(encoder, table, queries, documents)])
    alone = [replace(one, cosines=np.zeros_like(one.cosines)) for one in whole]
    by_words: list[float | str] = [*dense_and_fused(alone)]
    rows.append(["BM25 alone", *([""] * len(DENSE)), *by_words[len(DENSE) :], "", ""])
    return {
        "title": "A static encoder",
        "text": (
            f"A vector of {DIM} int8 values for each token of the vocabulary, distilled from the bundled "
            "encoder without training; a text's vector is the weighed sum of its tokens'. Weights by Zipf's "
            f"law over the vocabulary, or also by how often tokens come in the {len(TOLD)} catalogs without "
            f"requests. {about()} Size of the table, which output of the encoder is taken, and the constants "
            f"of the weights ({SMOOTHING:g} and {PRIOR:,}) were tried on these very requests. The last "
            "columns say how many times less processor time it takes, in one run and in turn, to embed "
            f"queries one by one (median of {len(queries)}), and {len(documents)} tools at once."
        ),
        "columns": ["encoder", *DENSE, *FUSED, "speed, queries", "speed, tools"],
        "rows": rows,
    }


def _times_faster(
    slow: Embedder, fast: Embedder, queries: Sequence[str], documents: Sequence[str]
) -> tuple[int, int]:
    """How many times as long `slow` takes for a query, and for the documents."""
    for each in (slow, fast):
        each.embed_queries(queries[:1])
    pairs = [(_took_s(slow, [query], 1), _took_s(fast, [query], 1)) for query in queries]
    one, other = (median(column) for column in zip(*pairs, strict=True))
    return round(one / other), round(_took_s(slow, documents, ROUNDS) / _took_s(fast, documents, ROUNDS))


def _took_s(embedder: Embedder, texts: Sequence[str], rounds: int) -> float:
    """The least processor time that the texts took."""
    took = []
    for _ in range(rounds):
        began = time.process_time()
        embedder.embed_documents(texts)
        took.append(time.process_time() - began)
    return min(took)
