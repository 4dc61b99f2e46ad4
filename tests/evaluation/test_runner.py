from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from toolsearch.catalog import Catalog
from toolsearch.evaluation.bootstrap import paired_difference
from toolsearch.evaluation.datasets import BenchQuery, Dataset, make_dataset
from toolsearch.evaluation.runner import evaluate, score_run
from toolsearch.exceptions import EmbeddingError, EvaluationError
from toolsearch.retrieval.base import ScoredTool, SearchRequest, SearchResult
from toolsearch.tools import Tool

CATALOG = Catalog(Tool(raw_name=name, meta={"id": f"set:{name}"}) for name in "abcdefghijkl")


class Scripted:
    """Answers each query with the rankings it was given; remembers what was asked."""

    def __init__(
        self, rankings: Mapping[str, Sequence[str]], *, degraded: frozenset[str] = frozenset()
    ) -> None:
        self.rankings = rankings
        self.degraded = degraded
        self.asked: list[SearchRequest] = []

    def search(self, request: SearchRequest) -> SearchResult:
        self.asked.append(request)
        (text,) = request.queries
        names = self.rankings[text][: request.k]
        hits = tuple(ScoredTool(CATALOG[name], 1.0 / (rank + 1)) for rank, name in enumerate(names))
        return SearchResult(hits, nothing_fits=not hits, degraded=text in self.degraded)


class NaNFor(Scripted):
    """Answers one query with a score that is NaN."""

    def search(self, request: SearchRequest) -> SearchResult:
        result = super().search(request)
        if request.queries == ("bad",):
            return SearchResult((ScoredTool(CATALOG["a"], math.nan),))
        return result


class RaisesFor(Scripted):
    """Fails one query as an embedder does."""

    def search(self, request: SearchRequest) -> SearchResult:
        if request.queries == ("bad",):
            raise EmbeddingError("values that are not finite for 1 of 1 texts")
        return super().search(request)


def dataset(*queries: BenchQuery, groups: Sequence[Sequence[str]] = ()) -> Dataset:
    return make_dataset("test", CATALOG, queries, groups)


def query(text: str, *gold: str, kind: str = "") -> BenchQuery:
    return BenchQuery(id=f"q/{text}", text=text, gold=tuple(f"set:{name}" for name in gold), kind=kind)


def test_means_of_a_hand_worked_run() -> None:
    data = dataset(query("one", "a"), query("two", "b", "c"))
    report = evaluate(Scripted({"one": "da", "two": "bdec"}), data, k=10)
    found = report.to_json()
    assert found["queries"] == found["scored"] == 2
    assert found["recall@1"] == 0.25
    assert found["recall@3"] == 0.75
    assert found["recall@5"] == found["recall@10"] == 1.0
    assert found["hit_rate@1"] == 0.5
    assert found["completeness@5"] == found["completeness@10"] == 1.0
    assert found["mrr"] == 0.75
    second = (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert found["ndcg@10"] == pytest.approx((1 / math.log2(3) + second) / 2, abs=1e-6)
    assert found["ci95"]["recall@1"] == [0.0, 0.5]
    assert found["query_ms_p95"] >= found["query_ms_p50"] >= 0


def test_the_report_says_what_was_run() -> None:
    data = dataset(query("one", "a"))
    found = evaluate(
        Scripted({"one": "a"}), data, k=7, seed=3, retriever_id="scripted", embedder_id="none@0"
    ).to_json()
    assert (found["k"], found["seed"], found["retriever"], found["embedder"]) == (7, 3, "scripted", "none@0")
    assert found["catalog_fingerprint"] == CATALOG.fingerprint
    assert found["versions"]["python"].startswith("3.")


def test_cutoffs_end_at_k() -> None:
    found = evaluate(Scripted({"one": "a"}), dataset(query("one", "a")), k=4).to_json()
    assert {key for key in found if key.startswith("recall@")} == {"recall@1", "recall@3", "recall@4"}
    assert {key for key in found if key.startswith("ndcg@")} == {"ndcg@4"}


def test_queries_without_gold_count_for_abstention_only() -> None:
    data = dataset(query("one", "a"), query("two", "b"), query("sing"), query("dance"))
    report = evaluate(Scripted({"one": "a", "two": "", "sing": "", "dance": "c"}), data)
    found = report.to_json()
    assert (found["queries"], found["scored"], found["recall@1"]) == (4, 2, 0.5)
    # one (1.0) against sing (nothing) and dance (1.0); two (nothing) against both
    assert found["abstention"] == {
        "answerable": 2,
        "unanswerable": 2,
        "auroc": (1 + 0.5 + 0.5 + 0) / 4,
        "unjudged": 0,
        "abstained": 0.5,
        "false_alarms": 0.5,
    }


class Sure(Scripted):
    """States a confidence that falls with the length of the query, but none for long ones."""

    def search(self, request: SearchRequest) -> SearchResult:
        (text,) = request.queries
        return replace(super().search(request), confidence=1 / len(text) if len(text) < 6 else None)


def test_stated_confidences_count_and_not_the_best_scores_beside_them() -> None:
    """Best scores are level; the query without a confidence is in no pair."""
    data = dataset(query("one", "a"), query("sing"), query("to", "b"), query("unsure", "c"))
    abstention = evaluate(Sure({"one": "a", "sing": "b", "to": "b", "unsure": "c"}), data).abstention
    assert abstention is not None
    assert (abstention.auroc, abstention.unjudged, abstention.answerable) == (1.0, 1, 3)


def test_a_saved_run_has_no_auroc() -> None:
    abstention = score_run(
        {"q/one": ["set:a"], "q/sing": ["set:b"]}, dataset(query("one", "a"), query("sing"))
    ).abstention
    assert abstention is not None
    assert (abstention.auroc, abstention.unjudged) == (None, 0)


def test_means_by_kind() -> None:
    data = dataset(
        query("one", "a", kind="direct"), query("two", "b", kind="far"), query("three", "c", kind="far")
    )
    kinds = evaluate(Scripted({"one": "a", "two": "b", "three": "d"}), data).kinds
    assert {kind: (row["queries"], row["recall@1"]) for kind, row in kinds.items()} == {
        "direct": (1, 1.0),
        "far": (2, 0.5),
    }


@pytest.mark.parametrize("retriever", [NaNFor, RaisesFor])
def test_one_failed_query_of_twenty_is_counted_and_in_no_mean(retriever: type[Scripted]) -> None:
    """(E193)"""
    texts = [f"t{i}" for i in range(19)]
    data = dataset(*(query(text, "a") for text in texts), query("bad", "a"))
    rankings = {text: "ab" if i % 2 else "ba" for i, text in enumerate(texts)}
    report = evaluate(retriever({**rankings, "bad": "a"}), data)
    found = report.to_json()
    assert (found["queries"], found["scored"], found["errors"]) == (20, 19, 1)
    assert [failure["id"] for failure in found["failed"]] == ["q/bad"]
    assert found["recall@1"] == pytest.approx(9 / 19, abs=1e-6)
    assert all(math.isfinite(value) for value in report.means.values())
    with pytest.raises(EvaluationError, match="q/bad"):
        evaluate(retriever({**rankings, "bad": "a"}), data, strict=True)


def test_a_channel_that_stands_in_for_a_failed_encoder_is_an_error() -> None:
    """(E193)"""
    data = dataset(query("one", "a"), query("two", "b"))
    report = evaluate(Scripted({"one": "a", "two": "b"}, degraded=frozenset({"two"})), data)
    assert [(o.query.id, "encoder failed" in o.error) for o in report.errors] == [("q/two", True)]


def test_nothing_is_reported_where_every_query_failed() -> None:
    with pytest.raises(EvaluationError, match="Every query"):
        evaluate(NaNFor({"bad": ""}), dataset(query("bad", "a")))


def test_near_duplicates_count_once_in_the_near_figures() -> None:
    data = dataset(query("one", "a", "d"), groups=[["set:b", "set:c"], ["set:a", "set:e"]])
    found = evaluate(Scripted({"one": "bceda"}), data, k=3).to_json()
    assert found["recall@3"] == 0.0
    # joined, the ranking is (b c) (e a) d
    assert found["near"]["recall@3"] == 1.0
    assert found["near"]["mrr"] == 0.5


def test_rankings_are_asked_deep_enough_to_join_groups() -> None:
    grouped = dataset(query("one", "a"), groups=[["set:a", "set:b"]])
    retriever = Scripted({"one": "abcdefghijkl"})
    assert len(evaluate(retriever, grouped, k=2).outcomes[0].ranked) == 10
    assert len(evaluate(retriever, dataset(query("one", "a")), k=2).outcomes[0].ranked) == 2


def test_a_saved_run_scores_as_the_live_one(tmp_path: Path) -> None:
    data = dataset(query("one", "a"), query("bad", "b"), query("two", "c", "d"), groups=[["set:a", "set:b"]])
    live = evaluate(RaisesFor({"one": "ba", "two": "dec"}), data)
    live.write_run(tmp_path / "run.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert lines[0] == {"id": "q/one", "ranked": ["set:b", "set:a"]}
    saved = score_run(tmp_path / "run.jsonl", data)
    assert saved.means == live.means
    assert saved.near == live.near
    assert saved.to_json(timings=False)["failed"] == live.to_json(timings=False)["failed"]


@pytest.mark.parametrize(("k", "depth"), [(0, None), (1001, None), (10, 9), (10, 1001)])
def test_k_and_depth_out_of_range_are_refused(k: int, depth: int | None) -> None:
    with pytest.raises(EvaluationError, match="must be from"):
        evaluate(Scripted({"one": "a"}), dataset(query("one", "a")), k=k, depth=depth)


def test_a_run_without_queries_is_refused() -> None:
    with pytest.raises(EvaluationError, match="no queries"):
        score_run({}, dataset())


@pytest.mark.parametrize(
    ("run", "reason", "ids"),
    [
        ({}, "not in the run", ("q/one",)),
        ({"q/one": [], "q/two": []}, "not in the data set", ("q/two",)),
        ({"q/one": ["a"]}, "not in the catalog", ("a",)),
    ],
)
def test_a_run_of_other_queries_or_tools_is_refused(
    run: Mapping[str, Sequence[str]], reason: str, ids: tuple[str, ...]
) -> None:
    with pytest.raises(EvaluationError, match=reason) as caught:
        score_run(run, dataset(query("one", "a")))
    assert caught.value.ids == ids


def test_runs_are_compared_query_by_query() -> None:
    data = dataset(query("one", "a"), query("two", "b"))
    better = score_run({"q/one": ["set:a"], "q/two": ["set:b"]}, data)
    worse = score_run({"q/one": ["set:a"], "q/two": ["set:c", "set:b"]}, data)
    assert paired_difference(better.scores["mrr"], worse.scores["mrr"]).mean == pytest.approx(0.25)
