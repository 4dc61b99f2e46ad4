"""What the cosine should count where the encoder cannot read a query: Chinese requests for Chinese tools."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.data import DEFAULT_DATA
from benchmarks.embedding import RememberingEmbedder
from toolsearch.document import render_document
from toolsearch.evaluation.datasets import Dataset
from toolsearch.index.lexical import LexicalIndex
from toolsearch.retrieval.fusion import DENSE_FLOOR, LEXICAL_WEIGHT
from toolsearch.sources.files import read_catalog
from toolsearch.tools import JsonObject

FLOORS = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)
ENGLISH_TOOLS = 1500
SEED = 0

_HAN = re.compile(r"[\u4e00-\u9fff]")
_CLAUSE_END = re.compile(r"[。；;，,\n]+")


def unread(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """Known tools of the bench catalogs by the first clause of their Chinese descriptions."""
    del datasets
    tools = list(read_catalog(DEFAULT_DATA).catalog.values())
    queries, sought = [], []
    for tool in tools:
        clauses = [clause.strip() for clause in _CLAUSE_END.split(tool.description) if clause.strip()]
        if len(clauses) > 1 and is_chinese(tool.description):
            queries.append(clauses[0][:40])
            sought.append(replace(tool, description="，".join(clauses[1:])))
    english = [tool for tool in tools if len(tool.description) > 40 and not _HAN.search(tool.description)]
    among = [*sought, *random.Random(SEED).sample(english, ENGLISH_TOOLS)]  # noqa: S311
    lexicon = LexicalIndex.build(among)
    bm25 = np.array([lexicon.scores(query).raw for query in queries], dtype=np.float64)
    vectors = embedder.embed_documents([render_document(tool) for tool in among])
    cosines = embedder.embed_queries(queries).astype(np.float64) @ vectors.T
    rows: list[list[object]] = [["the cosine alone", _ndcg(cosines)], ["BM25 alone", _ndcg(bm25)]]
    rows += [[f"{floor} of the cosine", _ndcg(floor * cosines + LEXICAL_WEIGHT * bm25)] for floor in FLOORS]
    return {
        "title": "A script that the encoder does not read",
        "text": (
            f"{len(queries)} tools of the bench catalogs with Chinese descriptions among {ENGLISH_TOOLS:,} "
            "English ones. The first clause of a description is the query, the rest of it the tool's text, "
            f"so the one relevant tool is known. The default is {DENSE_FLOOR}."
        ),
        "columns": ["score", "NDCG@10"],
        "rows": rows,
    }


def is_chinese(description: str) -> bool:
    """Whether most of the letters and digits are Chinese, and there are some."""
    n_han = len(_HAN.findall(description))
    return n_han >= 20 and n_han > 0.5 * sum(map(str.isalnum, description))


def _ndcg(scores: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    """NDCG@10 where tool i is the one relevant to query i; ties count against it."""
    own = np.diagonal(scores)
    ahead = (scores >= own[:, None]).sum(axis=1) - 1
    return round(float(np.where(ahead < 10, 1 / np.log2(ahead + 2), 0.0).mean()), 4)
