from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.baselines import PlainBM25, PlainDense, PlainRRF
from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Progress, Vectors
from toolsearch.exceptions import SearchRequestError
from toolsearch.retrieval.base import Retriever, SearchRequest
from toolsearch.tools import Tool

CATALOG = Catalog(
    [
        Tool(raw_name="sendMail", source="postbox", description="Sends a letter to people."),
        Tool(raw_name="read_mail", source="postbox", description="Shows a letter."),
        Tool(
            raw_name="pay",
            description="Moves money.",
            input_schema={"type": "object", "properties": {"bank_account": {"type": "string"}}},
        ),
        Tool(raw_name="sing", description="The song of the day."),
    ]
)


class Compass:
    """Four known texts at known angles; a query is an angle in degrees."""

    id = "compass@2"
    dim = 2
    angles = (
        ("sendMail: Sends a letter to people.", 0),
        ("read_mail: Shows a letter.", 30),
        ("pay: Moves money.", 90),
        ("sing: The song of the day.", 180),
    )

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        angles = dict(self.angles)
        return _rows([angles[text] for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return _rows([float(text) for text in texts])

    def reads(self, text: str) -> float:
        return 1.0


def _rows(angles: Sequence[float]) -> Vectors:
    radians = np.radians(np.array(angles, dtype=np.float64))
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def names(retriever: Retriever, query: str, k: int = 10) -> list[str]:
    return [hit.tool.raw_name for hit in retriever.search(SearchRequest(queries=(query,), k=k)).hits]


def test_bm25_scores_as_the_formula_says() -> None:
    """BM25 of "letter": in two of four tools, once each, among documents of 6, 5, 5 and 3 words."""
    words = {
        "sendMail": "send mail sends letter people postbox",
        "read_mail": "read mail shows letter postbox",
    }
    average = (6 + 5 + 5 + 3) / 4  # pay moves money bank account; sing song day
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    hits = PlainBM25(CATALOG).search(SearchRequest(queries=("the Letter",), k=10)).hits
    assert {hit.tool.raw_name: hit.score for hit in hits} == pytest.approx(
        {
            name: idf / (1 + 1.5 * (1 - 0.75 + 0.75 * len(text.split()) / average))
            for name, text in words.items()
        },
        rel=1e-5,
    )


def test_bm25_reads_server_and_parameter_names_split_into_words() -> None:
    retriever = PlainBM25(CATALOG)
    assert names(retriever, "postbox") == ["read_mail", "sendMail"]
    assert names(retriever, "account") == ["pay"]
    assert names(retriever, "send") == ["sendMail"]


def test_bm25_finds_nothing_where_no_word_is_shared() -> None:
    retriever = PlainBM25(CATALOG)
    assert names(retriever, "zebra") == []
    assert names(retriever, "the of") == []
    assert names(retriever, "") == []


def test_dense_ranks_by_cosine_over_name_and_description() -> None:
    hits = PlainDense(CATALOG, Compass()).search(SearchRequest(queries=("20",), k=3)).hits
    assert [hit.tool.raw_name for hit in hits] == ["read_mail", "sendMail", "pay"]
    assert [hit.score for hit in hits] == pytest.approx([math.cos(math.radians(a)) for a in (10, 20, 70)])


def test_equal_scores_are_ordered_by_public_name() -> None:
    """Public names: ``postbox__read_mail`` before ``postbox__sendMail``."""
    assert names(PlainDense(CATALOG, Compass()), "15")[:2] == ["read_mail", "sendMail"]


class Letters(Compass):
    """Any words at 80 degrees, next to `pay`."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return _rows([80.0 for _ in texts])


def test_rrf_sums_reciprocal_ranks_and_leaves_out_what_bm25_did_not_find() -> None:
    """BM25: read_mail, sendMail. Dense at 80 degrees: pay, read_mail, sendMail, sing."""
    hits = PlainRRF(CATALOG, Letters()).search(SearchRequest(queries=("letter",), k=10)).hits
    lexical = {"read_mail": 1, "sendMail": 2}
    dense = {"pay": 1, "read_mail": 2, "sendMail": 3, "sing": 4}
    assert [hit.tool.raw_name for hit in hits] == ["read_mail", "sendMail", "pay", "sing"]
    assert {hit.tool.raw_name: hit.score for hit in hits} == pytest.approx(
        {
            name: 1 / (60 + dense[name]) + (1 / (60 + lexical[name]) if name in lexical else 0)
            for name in dense
        }
    )


def test_a_baseline_refuses_what_it_does_not_know() -> None:
    with pytest.raises(SearchRequestError, match="no filters"):
        PlainBM25(CATALOG).search(SearchRequest(queries=("a",), k=3, read_only=True))
    with pytest.raises(SearchRequestError, match="one query"):
        PlainBM25(CATALOG).search(SearchRequest(queries=("a", "b"), k=3))
