"""Requests in other languages than English, and tools with Chinese descriptions, by each encoder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, REPOSITORY, load_named
from benchmarks.embedding import RememberingEmbedder
from benchmarks.unread import is_chinese
from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.embedders.joined import JoinedEmbedder
from toolsearch.embedders.universal import UniversalEmbedder
from toolsearch.evaluation import metrics
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.evaluation.retrievers import make_retriever
from toolsearch.retrieval.base import SearchRequest
from toolsearch.tools import JsonObject

K = 10
LANGUAGES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "zh": "Chinese",
    "ja": "Japanese",
}


@dataclass(frozen=True)
class Asked:
    """Requests of one kind over one catalog; ids of tools by public name."""

    label: str
    catalog: Catalog
    id_of: Mapping[str, str]
    queries: tuple[BenchQuery, ...]


def languages(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """Each language with the bundled encoder, with the multilingual one, and with each for its queries."""
    del datasets
    universal = RememberingEmbedder(UniversalEmbedder())
    embedders: tuple[Embedder, ...] = (embedder, universal, JoinedEmbedder(embedder, universal))
    rows: list[list[object]] = []
    for asked in (*demo_requests(), *live_requests()):
        measured = [figure for each in embedders for figure in figures(asked, each)]
        rows.append([asked.label, len(asked.queries), *measured])
    return {
        "title": "Languages",
        "text": (
            "The default search with the bundled encoder, with the multilingual one of the extra "
            "`multilingual` alone, and with `load_embedder('multilingual')`, which leaves to the bundled one "
            "what that reads. Requests of the demo set were written in their language, its tools in English. "
            "Of livemcpbench: the requests as they are, and those that need tools with Chinese descriptions, "
            "which alone count for them. Requests are searched whole."
        ),
        "columns": [
            "requests",
            "number",
            *(
                f"{name} {measure}"
                for name in ("bundled:", "multilingual:", "both:")
                for measure in ("recall@10", "NDCG@10")
            ),
        ],
        "rows": rows,
    }


def figures(asked: Asked, embedder: Embedder) -> list[float]:
    """recall@10 and NDCG@10 of the default search, without steps."""
    retriever = make_retriever("whole", asked.catalog, embedder)
    recalls, gains = [], []
    for query in asked.queries:
        hits = retriever.search(SearchRequest(queries=(query.text,), k=K)).hits
        ids = [asked.id_of[hit.name] for hit in hits]
        recalls.append(metrics.recall_at_k(ids, query.gold, K, alternatives=query.alternatives))
        gains.append(metrics.ndcg_at_k(ids, query.gold, K, alternatives=query.alternatives))
    return [round(metrics.mean(recalls), 4), round(metrics.mean(gains), 4)]


def demo_requests() -> Iterator[Asked]:
    """The requests of the demo set that some tool serves, by language, and those that are not English."""
    demo = load_named("demo", DEFAULT_DATA)
    language_of = {}
    for path in sorted((REPOSITORY / "indexes" / "demo" / "queries").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            language_of[record["id"]] = record["language"]
    served = [query for query in demo.queries if query.gold]
    for code, name in LANGUAGES.items():
        queries = tuple(query for query in served if language_of[query.id] == code)
        yield Asked(f"{name}, demo set", demo.catalog, demo.id_of, queries)
    others = tuple(query for query in served if language_of[query.id] != "en")
    yield Asked("all but English, demo set", demo.catalog, demo.id_of, others)


def live_requests() -> Iterator[Asked]:
    """The requests of livemcpbench: all, and those for tools with Chinese descriptions."""
    live = load_named(f"{BENCH_PREFIX}livemcpbench", DEFAULT_DATA)
    yield Asked("English, livemcpbench", live.catalog, live.id_of, live.queries)
    chinese = {live.id_of[name] for name, tool in live.catalog.items() if is_chinese(tool.description)}
    queries = tuple(
        BenchQuery(query.id, query.text, tuple(gold for gold in query.gold if gold in chinese))
        for query in live.queries
        if chinese & set(query.gold)
    )
    yield Asked("English for Chinese tools, livemcpbench", live.catalog, live.id_of, queries)
