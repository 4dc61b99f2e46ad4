"""Two encoders side by side: each query is scored by the one that reads it, as if it were alone."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder, Vectors, as_unit_rows, cosine_scale
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.embedders.cache import CachedEmbedder
from toolsearch.embedders.joined import JoinedEmbedder
from toolsearch.embedders.text import latin_share
from toolsearch.exceptions import EmbeddingError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.calibration import calibrate
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.testing.embedders import FlakyEmbedder, HashingEmbedder
from toolsearch.tools import Tool

ENGLISH = [
    "Refund a payment",
    "Book a room for a meeting",
    "List open issues",
    "Weather forecast for a place",
]
CATALOG = Catalog([Tool(raw_name=f"tool_{i}", description=text) for i, text in enumerate(ENGLISH)])
GLOSSARY = {"天气": "weather forecast", "退款": "refund payment", "Погода": "weather forecast"}


class LatinEmbedder(HashingEmbedder):
    """Reads Latin script alone."""

    def reads(self, text: str) -> float:
        return latin_share(text)


class GlossaryEmbedder(HashingEmbedder):
    """Puts a few words into English before it embeds; reads Latin and Chinese."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return super().embed_queries([GLOSSARY.get(text, text) for text in texts])

    def reads(self, text: str) -> float:
        return sum(letter < "\u0400" or letter > "\u2e80" for letter in text) / max(len(text), 1)


def joined() -> JoinedEmbedder:
    return JoinedEmbedder(LatinEmbedder(64), GlossaryEmbedder(96))


def searcher(embedder: Embedder) -> ToolSearcher:
    return ToolSearcher(ToolIndex.build(CATALOG, embedder), embedder)


@pytest.mark.parametrize("query", [*ENGLISH, "forecast of the weather", "refund 退"])
def test_a_query_that_the_first_reads_is_answered_to_the_bit_as_by_the_first_alone(query: str) -> None:
    alone, beside = (searcher(embedder).search(query) for embedder in (LatinEmbedder(64), joined()))
    assert [(hit.name, hit.score) for hit in beside.hits] == [(hit.name, hit.score) for hit in alone.hits]
    assert (beside.nothing_fits, beside.notices) == (alone.nothing_fits, alone.notices)


def test_the_bundled_encoder_keeps_every_bit_beside_another() -> None:
    bundled = BundledEmbedder(threads=1)
    alone, beside = searcher(bundled), searcher(JoinedEmbedder(bundled, GlossaryEmbedder(96)))
    assert calibrate(beside.index, beside.embedder) == calibrate(alone.index, alone.embedder)
    for query in ENGLISH:
        hits = [[(hit.name, hit.score) for hit in each.search(query).hits] for each in (alone, beside)]
        assert hits[0] == hits[1]


def test_a_query_that_only_the_second_reads_is_found_by_the_second() -> None:
    result = searcher(joined()).search("天气")
    assert result.hits[0].name == "tool_3"
    assert not result.notices
    assert not result.nothing_fits


def test_a_query_that_neither_reads_is_told_so() -> None:
    assert "does not read" in searcher(joined()).search("Погода").notices[0]


def test_rows_are_of_length_one_and_products_are_scaled_cosines() -> None:
    embedder = joined()
    rows, queries = embedder.embed_documents(ENGLISH), embedder.embed_queries(["refund", "退款"])
    assert rows.shape == (4, 160) == (4, embedder.dim)
    for made in (rows, queries):
        assert (as_unit_rows(made, n=len(made), dim=160, embedder_id="m") == made).all()
    first = LatinEmbedder(64).embed_documents(ENGLISH) @ LatinEmbedder(64).embed_queries(["refund"])[0]
    second = (
        HashingEmbedder(96).embed_documents(ENGLISH)
        @ HashingEmbedder(96).embed_queries(["refund payment"])[0]
    )
    products = embedder.cosine_scale * rows @ queries.T
    np.testing.assert_allclose(products[:, 0], first, atol=1e-6)
    np.testing.assert_allclose(products[:, 1], 3**0.5 * second, atol=1e-6)


def test_a_text_that_neither_can_embed_gives_a_zero_row_and_no_texts_no_rows() -> None:
    assert not joined().embed_documents([""]).any()
    assert joined().embed_documents([]).shape == joined().embed_queries([]).shape == (0, 160)


def test_what_wraps_it_keeps_its_scale(tmp_path: Path) -> None:
    cached = CachedEmbedder(FlakyEmbedder(joined()), tmp_path / "cache")
    assert cosine_scale(cached) == cosine_scale(joined()) == 2
    assert cosine_scale(HashingEmbedder()) == cosine_scale(None) == 1
    assert searcher(cached).search("退款").hits[0].name == "tool_0"


def test_the_id_names_both() -> None:
    assert joined().id == f"{LatinEmbedder(64).id}+{GlossaryEmbedder(96).id}"


def test_a_failure_of_either_is_its_own_error() -> None:
    flaky = FlakyEmbedder(HashingEmbedder(8), failures=[EmbeddingError("out of order")])
    with pytest.raises(EmbeddingError, match="out of order"):
        JoinedEmbedder(HashingEmbedder(8), flaky).embed_documents(["a"])


def test_progress_ends_with_all_texts() -> None:
    seen: list[tuple[int, int]] = []
    joined().embed_documents(ENGLISH, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (4, 4)
