"""Tables of what was tried with the encoder: each figure against a slow, obvious oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import averages as averages_table
from benchmarks import late as late_table
from benchmarks import static as static_table
from benchmarks import unseen
from benchmarks import vectors as vectors_table
from benchmarks.ablations import main
from benchmarks.averages import FOUR, SHIPPED, TRIED, averages
from benchmarks.embedding import RememberingEmbedder
from benchmarks.encoder_card import UNSEEN
from benchmarks.late import TokenEncoder, Tokens, max_sim, rerank
from benchmarks.scored import ScoredSet, score_set
from benchmarks.unseen import DENSE, FUSED, dense_and_fused, unseen_sets
from benchmarks.vectors import all_parts, name_and_description, parameter_groups, score_parts
from tests.benchmarks.office import office
from toolsearch.evaluation.datasets import Dataset
from toolsearch.evaluation.retrievers import make_retriever
from toolsearch.evaluation.runner import evaluate
from toolsearch.exceptions import EvaluationError
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

DATASET = office("make", "drop", "find", "move", "sort", "hide")

TOOL = Tool(
    raw_name="bookRoom",
    source="hotel",
    description="Books  a room.",
    input_schema={
        "type": "object",
        "properties": {
            "bed": {"type": "string", "description": "Its size.", "enum": ["twin", "king"]},
            **{f"n{i}": {"type": "integer"} for i in range(5)},
        },
    },
)


class WordTokens(TokenEncoder):
    """A vector for each word."""

    def __init__(self) -> None:
        self._kept: dict[str, Tokens] = {}

    def encode(self, text: str) -> Tokens:
        return HashingEmbedder().embed_documents(text.split())


@pytest.fixture
def three_sets(monkeypatch: pytest.MonkeyPatch) -> list[Dataset]:
    """The tiny set in the place of each that the encoder did not see; the demo set is loaded by its name."""
    sets = [replace(DATASET, name=name) for name in UNSEEN]
    monkeypatch.setattr(unseen, "load_named", lambda name, data: sets[UNSEEN.index(name)])
    return sets[:-1]


def test_figures_are_those_of_the_searchers(embedder: RememberingEmbedder, three_sets: list[Dataset]) -> None:
    """Oracle: the evaluation of the dense channel, and of the whole query fused."""
    sets = unseen_sets(three_sets)
    assert [each.name for each in sets] == list(UNSEEN)
    figures = dense_and_fused([score_set(each, embedder) for each in sets])
    assert len(figures) == len(DENSE) + len(FUSED)
    for name, shown in (("dense", figures[:4]), ("whole", figures[4:])):
        report = evaluate(make_retriever(name, DATASET.catalog, HashingEmbedder()), DATASET, k=10)
        assert shown == [round(report.means["ndcg@10"], 4)] * 4


def test_a_tool_has_a_part_for_name_description_and_every_five_parameters() -> None:
    assert name_and_description(TOOL) == ["hotel book Room", "Books a room."]
    assert parameter_groups(TOOL) == [
        "hotel book Room: bed: Its size. twin, king; n 0; n 1; n 2; n 3",
        "hotel book Room: n 4",
    ]
    assert all_parts(TOOL) == [*name_and_description(TOOL), *parameter_groups(TOOL)]
    assert all_parts(Tool(raw_name="ping")) == ["ping"]


def test_the_nearest_part_counts(embedder: RememberingEmbedder) -> None:
    """Oracle: the greatest of the cosines, one by one; tools have one or two parts."""

    def parts(tool: Tool) -> Sequence[str]:
        return name_and_description(tool)[: 1 if "invoice" in tool.name else 2]

    scored = score_set(DATASET, embedder)
    found = score_parts(DATASET, scored, embedder, parts)
    assert found.parts_a_tool == 1.75
    for i, query in enumerate(scored.queries):
        (asked,) = HashingEmbedder().embed_queries([query.text])
        for j, tool in enumerate(DATASET.catalog.values()):
            cosines = HashingEmbedder().embed_documents(parts(tool)) @ asked
            assert found.nearest[i, j] == pytest.approx(cosines.max(), abs=1e-6)


def test_no_share_of_the_parts_is_the_whole_text(
    embedder: RememberingEmbedder, three_sets: list[Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors_table, "SHARES", (1.0, 0.0))
    table = vectors_table.vectors(three_sets, embedder)
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert [row["vectors a tool"] for row in rows] == [1.0, 2.0, 3.0, 2.0, 3.0]
    whole = [rows[0][column] for column in (*DENSE, *FUSED)]
    assert [rows[2][column] for column in (*DENSE, *FUSED)] == whole


def test_late_interaction_is_the_mean_of_the_nearest_tokens() -> None:
    """By hand: the first token is as near as 0.8, the second as 0.6."""
    query = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    document = np.array([[0.8, 0.6], [0.6, -0.8], [-1.0, 0.0]], dtype=np.float32)
    assert max_sim(query, document) == pytest.approx(0.7)
    assert max_sim(query, document[:0]) == 0.0
    assert max_sim(query[:0], document) == 0.0


def test_the_best_are_ranked_again_and_no_other_comes_in(embedder: RememberingEmbedder) -> None:
    scored = score_set(DATASET, embedder)
    again = rerank(DATASET, scored, WordTokens())
    fused = scored.fused(LEXICAL_WEIGHT, 0.0)
    for row, ids in enumerate(again.rankings(scored.ids, 1.0, 0.0)):
        order = np.argsort(-fused[row], kind="stable")[: late_table.RERANKED]
        assert ids == [scored.ids[i] for i in order]
    late_first = [ids[0] for ids in again.rankings(scored.ids, 0.0, 1.0)]
    assert late_first == [
        scored.ids[rows[int(np.argmax(scores))]] for rows, scores in zip(again.rows, again.late, strict=True)
    ]


def test_the_averages_are_of_the_trainings_that_are_there(
    embedder: RememberingEmbedder, three_sets: list[Dataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is exported but the one that ships, whose figures are those of the embedder."""
    asked: list[tuple[dict[str, float], float]] = []

    def scored(
        sets: Sequence[Dataset], folders: dict[Path, float], keep: float, base: str
    ) -> list[ScoredSet]:
        asked.append(({folder.name: weight for folder, weight in folders.items()}, keep))
        return [score_set(each, embedder) for each in sets]

    monkeypatch.setattr(averages_table, "_scored", scored)
    monkeypatch.setattr(averages_table, "make_embedder", lambda name: embedder)
    with pytest.raises(EvaluationError, match="no training in 'final', 'fold1', 'fold2', 'fold3'"):
        averages(three_sets, embedder, encoders=tmp_path)
    for name in FOUR:
        (tmp_path / name).mkdir()
        (tmp_path / name / "adapter.safetensors").touch()
    table = averages(three_sets, embedder, encoders=tmp_path)
    assert [row[:2] for row in table["rows"]] == [["none", 0.0], *([name, keep] for name, _, keep in TRIED)]
    assert asked == [(dict(weights), keep) for name, weights, keep in TRIED if (name, keep) != SHIPPED]
    assert len({tuple(row[2:]) for row in table["rows"]}) == 1


def test_the_table_of_averages_needs_the_trainings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--table", "averages"])
    assert "needs --encoders" in capsys.readouterr().err


def test_an_equal_table_loses_nothing_and_words_alone_are_bm25(
    embedder: RememberingEmbedder, three_sets: list[Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_table, "_times_faster", lambda slow, fast, queries, documents: (2, 3))
    table = static_table.measured(three_sets, embedder, embedder, {"same": HashingEmbedder()})
    whole, same, words = table["rows"]
    assert same[1:-2] == whole[1:-2]
    assert same[-2:] == [2, 3]
    report = evaluate(make_retriever("lexical", DATASET.catalog, HashingEmbedder()), DATASET, k=10)
    assert words[1 + len(DENSE) : -2] == [round(report.means["ndcg@10"], 4)] * 4
