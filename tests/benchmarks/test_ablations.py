from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.ablations import kept_by_margin, main
from benchmarks.absent import best_scores
from benchmarks.documents import COMPOSITIONS
from benchmarks.embedding import RememberingEmbedder
from benchmarks.names import forms_of, is_called, names
from benchmarks.scored import score_set
from tests.benchmarks.office import office
from toolsearch.document import MAX_DESCRIPTION, render_document
from toolsearch.evaluation.datasets import BenchQuery, make_dataset
from toolsearch.evaluation.retrievers import make_retriever
from toolsearch.retrieval.base import SearchRequest
from toolsearch.retrieval.cut import MARGIN, adaptive_k
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

DATASET = office("make", "drop", "find")


def test_a_request_without_its_tools_scores_as_in_a_catalog_that_lacks_them(
    embedder: RememberingEmbedder,
) -> None:
    """Oracle: the scores of all tools; relevant ones, what serves as well and near-duplicates are masked."""
    served = BenchQuery(
        "q", "drop my parcel", ("desk.drop_parcel",), {"desk.drop_parcel": ("desk.make_parcel",)}
    )
    dataset = make_dataset("office", DATASET.catalog, [served], [("desk.find_parcel", "desk.drop_parcel")])
    scored = score_set(dataset, embedder)
    fused = scored.fused(LEXICAL_WEIGHT, 0.0)
    present, without = best_scores(dataset, scored, fused)
    scores = dict(zip(scored.ids, fused[0], strict=True))
    assert present.tolist() == [scores["desk.drop_parcel"]] == [max(scores.values())]
    assert without.tolist() == [max(score for tool_id, score in scores.items() if "parcel" not in tool_id)]


def test_fused_scores_are_those_of_the_searcher(embedder: RememberingEmbedder) -> None:
    """Oracle: the default searcher, names aside."""
    scored = score_set(DATASET, embedder)
    fused = scored.fused(LEXICAL_WEIGHT, 0.0)
    searcher = make_retriever("hybrid", DATASET.catalog, HashingEmbedder())
    assert [query.id for query in scored.queries] == ["q1", "q2"]
    for query, row in zip(scored.queries, fused, strict=True):
        hits = searcher.search(SearchRequest(queries=(query.text,), k=12)).hits
        assert {
            DATASET.id_of[hit.name]: hit.score for hit in hits if not hit.channels["name"]
        } == pytest.approx(
            {
                i: score
                for i, score in zip(scored.ids, row, strict=True)
                if i in {DATASET.id_of[h.name] for h in hits}
            }
        )


def test_the_margin_keeps_as_the_searcher_does() -> None:
    """Oracle: `adaptive_k` at its own margin."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        scores = np.sort(rng.normal(0.5, 0.4, size=10))[::-1].copy()
        assert kept_by_margin(scores, MARGIN) == adaptive_k(scores, np.zeros(10, dtype=bool), 10)


def test_compositions_grow_from_the_plainest_to_nearly_the_default() -> None:
    tool = Tool(
        raw_name="bookRoom",
        source="my_hotel",
        description="Books a room.",
        input_schema={
            "type": "object",
            "properties": {
                "bedSize": {"type": "string", "description": "Its size.", "enum": ["twin", "king"]}
            },
        },
    )
    assert [compose(tool) for compose in COMPOSITIONS.values()] == [
        "bookRoom: Books a room.",
        "book Room: Books a room.",
        "my hotel book Room: Books a room.",
        "my hotel book Room: Books a room. Parameters: bed Size",
        "my hotel book Room: Books a room. Parameters: bed Size: Its size.",
        "my hotel book Room: Books a room. Parameters: bed Size: Its size. [twin, king]",
        # The same, every field cut at a quarter, at half and at twice the length.
        "my hotel book Room: Books a room. Parameters: bed Size: Its size. [twin, king]",
        "my hotel book Room: Books a room. Parameters: bed Size: Its size. [twin, king]",
        "my hotel book Room: Books a room. Parameters: bed Size: Its size. [twin, king]",
    ]
    assert "Books a room." in render_document(tool)


def test_compositions_cut_their_fields_at_shares_of_the_default_length() -> None:
    tool = Tool(raw_name="tell", description="x" * 9 * MAX_DESCRIPTION)
    lengths = [len(compose(tool)) - len("tell: ") for compose in list(COMPOSITIONS.values())[-3:]]
    assert lengths == [MAX_DESCRIPTION // 4, MAX_DESCRIPTION // 2, 2 * MAX_DESCRIPTION]


def test_names_are_written_in_many_ways() -> None:
    tool = Tool(raw_name="getUser_v2", source="crm")
    assert dict(forms_of(tool)) == {
        "as it is": "getUser_v2",
        "public name": "crm__getUser_v2",
        "server.name": "crm.getUser_v2",
        "server__name": "crm__getUser_v2",
        "UPPER CASE": "GETUSER_V2",
        "lower case": "getuser_v2",
        "snake_case": "get_user_v_2",
        "kebab-case": "get-user-v-2",
        "camelCase": "getUserV2",
    }
    assert is_called(Tool(raw_name="get_user_v2", source="erp"), tool, "snake_case")
    assert not is_called(Tool(raw_name="get_user_v2", source="crm"), tool, "as it is")
    assert not is_called(Tool(raw_name="getUser_v2", source="erp"), tool, "server.name")


def test_every_tool_of_the_sample_is_found_by_each_form_of_its_name(embedder: RememberingEmbedder) -> None:
    table = names([DATASET], embedder)
    assert [row[1:] for row in table["rows"]] == [[12, 1.0]] * 9


def test_queries_and_documents_are_embedded_once_and_apart(tmp_path: Path) -> None:
    inner = HashingEmbedder()
    for _ in range(2):
        embedder = RememberingEmbedder(inner, tmp_path / "vectors.sqlite")
        assert (embedder.embed_queries(["a b", "c"]) == HashingEmbedder().embed_queries(["a b", "c"])).all()
        embedder.embed_documents(["a b"])
    assert inner.embedded == ["a b"]
    assert sorted(text for call in inner.query_calls for text in call) == ["a b", "c"]


def test_tables_need_a_bench_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path), "--results", str(tmp_path / "tables")]) == 2
    assert "no bench set" in capsys.readouterr().err


def test_the_committed_tables_have_a_figure_for_every_column() -> None:
    for path in sorted((Path(__file__).parents[2] / "benchmarks" / "results" / "tables").glob("*.json")):
        table = json.loads(path.read_text(encoding="utf-8"))
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}
