"""Requests are replayed by the search's own rules, and nothing is learned before it has happened."""

from __future__ import annotations

from benchmarks.replaying import KINDS, Arm, best_rows, prepared, replay, with_usage
from benchmarks.usage_replay import table
from toolsearch.catalog import Catalog
from toolsearch.evaluation.datasets import BenchQuery, make_dataset
from toolsearch.retrieval.base import SearchRequest
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

THINGS = ("invoice", "meeting", "parcel", "route", "ticket")
JARGON = [f"the usual friday ritual of team {team}" for team in ("red", "blue", "green", "grey", "black")]
DATASET = make_dataset(
    "office",
    Catalog(
        Tool(raw_name=f"{verb}_{thing}", source="desk", description=f"Will {verb} one {thing} of yours.")
        for verb in ("make", "drop", "find", "move")
        for thing in THINGS
    ),
    [
        *(BenchQuery(f"j{i}", text, ("desk.make_invoice",)) for i, text in enumerate(JARGON)),
        *(BenchQuery(f"r{i}", f"drop my {thing}", (f"desk.drop_{thing}",)) for i, thing in enumerate(THINGS)),
        BenchQuery("idle", "sing a song", ()),
    ],
)
ONE = prepared(DATASET, HashingEmbedder(), at_most=100)


def test_what_no_search_had_found_is_not_learned_and_the_first_request_gains_nothing() -> None:
    changes, usage = replay(ONE, Arm("all", silent=0.0))
    assert len(changes) == 10
    assert changes[0].before == changes[0].after
    assert {change.kind for change in changes} <= set(KINDS)
    found = sum(change.after[1] > 0 or change.after[0] > 0 for change in changes)
    assert 0 < len(usage) <= found


def test_silent_tools_teach_nothing() -> None:
    changes, usage = replay(ONE, Arm("none", silent=1.0))
    assert len(usage) == 0
    assert all(change.before == change.after and change.kind != KINDS[0] for change in changes)


def test_wrong_lessons_name_another_hit() -> None:
    changes, usage = replay(ONE, Arm("wrong", silent=0.0, wrong=1.0))
    assert len(usage) > 0
    assert all(change.kind != KINDS[0] for change in changes)


def test_the_rankings_are_those_of_a_searcher_that_was_taught_the_same() -> None:
    """Oracle: the searcher itself, after all requests, with the usage of the replay."""
    _, usage = replay(ONE, Arm("all", silent=0.0))
    embedder = HashingEmbedder()
    searcher = ToolSearcher(ONE.index, embedder, usage=usage)
    for request in ONE.requests:
        ranked = [ONE.index.columns.names[row] for row in best_rows(with_usage(request, ONE.index, usage))]
        hits = searcher.search(SearchRequest(queries=(request.query.text,), k=10)).names
        assert ranked == list(hits)


def test_the_table_tells_gains_by_kind_of_request() -> None:
    made = table([ONE], "hashing")
    assert len(made["columns"]) == len(made["rows"][0])
    assert made["rows"][-1][0] == "the default on office"
    assert "Of 1 requests that nothing serves, 0" in made["text"]
