"""The table of steps measures the search's own merge, and others against it."""

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.embedding import RememberingEmbedder
from benchmarks.steps import best, in_turn, lift, sentences, steps
from toolsearch.catalog import Catalog
from toolsearch.evaluation.datasets import BenchQuery, make_dataset
from toolsearch.evaluation.retrievers import make_retriever
from toolsearch.evaluation.runner import evaluate
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

DATASET = make_dataset(
    "office",
    Catalog(
        Tool(raw_name=f"{verb}_{thing}", source="desk", description=f"Will {verb} one {thing} of yours.")
        for verb in ("make", "drop", "find", "move")
        for thing in ("invoice", "meeting", "parcel", "route", "ticket")
    ),
    [
        BenchQuery("q1", "drop my parcel, all of it, that parcel of mine", ("desk.drop_parcel",)),
        BenchQuery(
            "q2", "find the route to the meeting. make an invoice", ("desk.find_route", "desk.make_invoice")
        ),
        BenchQuery(
            "q3",
            "move one ticket of yours\nfind one parcel of yours\ndrop a meeting of mine",
            ("desk.move_ticket", "desk.find_parcel", "desk.drop_meeting"),
        ),
        BenchQuery("q4", "sing a song. dance with me please", ()),
    ],
)


def test_the_default_row_has_the_figures_of_the_searcher(tmp_path: Path) -> None:
    """Oracle: the evaluation of the default retriever, in which no query is a name."""
    table = steps([DATASET], RememberingEmbedder(HashingEmbedder(), tmp_path / "vectors.sqlite"))
    rows = {tuple(row[:2]): dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}
    for key, name in ((("rules, up to 6", "lift"), "hybrid"), (("none", ""), "whole")):
        report = evaluate(make_retriever(name, DATASET.catalog, HashingEmbedder()), DATASET, k=10)
        assert rows[key]["NDCG@10"] == round(report.means["ndcg@10"], 4)
        assert rows[key]["completeness@10"] == round(report.means["completeness@10"], 4)
        several = [report.scores["ndcg@10"][query] for query in ("q2", "q3")]
        assert rows[key]["several, NDCG@10"] == round(float(np.mean(several)), 4)
        assert rows[key]["one, NDCG@10"] == round(report.scores["ndcg@10"]["q1"], 4)
    assert rows["none", ""]["split"] == 0
    assert rows["rules, up to 6", "lift"]["split"] == round(2 / 3, 4)


def test_a_lift_raises_half_of_the_way_to_the_stretched_step_and_lowers_nothing() -> None:
    """Worked by hand: the step's 0.3 becomes 0.8, so row 2 has 0.1 + 0.35 = 0.45, and row 1 stays at 0.4."""
    whole, parts = np.array([0.8, 0.4, 0.1, 0.0]), np.array([[0.0, 0.03, 0.3, 0.0]])
    assert lift(whole, parts, share=0.5) == [0, 2, 1, 3]
    assert lift(whole, parts, share=0.4) == [0, 1, 2, 3]
    assert lift(whole, parts, share=0.5, stretches=False) == [0, 1, 2, 3]
    assert lift(whole, parts, share=0.9, lowers=True)[0] == 2


def test_the_best_of_each_step_keeps_a_place_among_the_ten() -> None:
    whole = np.array([*np.linspace(1.0, 0.8, 12), 0.0])
    parts = np.array([np.eye(13)[12] * 0.5, np.eye(13)[0]])
    merge = partial(lift, whole, parts, share=0.5)
    assert merge() == [*range(9), 12]
    assert merge(keeps=False) == list(range(10))


def test_in_turn_each_gives_its_best_first() -> None:
    first, second = np.array([0.9, 0.8, 0.1, 0.2]), np.array([0.9, 0.1, 0.8, 0.7])
    assert in_turn([first, second]) == [0, 1, 2, 3]
    assert best(second, 2) == [0, 2]


def test_sentences_are_cut_at_ends_and_lines_alone() -> None:
    assert sentences("Find the file and mail it. Thanks!\nBook a room") == (
        "Find the file and mail it.",
        "Book a room",
    )
    assert sentences("Find the file and mail it. Thanks!") == ("Find the file and mail it. Thanks!",)
