from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolsearch.catalog import Catalog
from toolsearch.evaluation.datasets import BenchQuery, Dataset, make_dataset
from toolsearch.evaluation.retrievers import make_retriever
from toolsearch.evaluation.runner import evaluate
from toolsearch.exceptions import EvaluationError
from toolsearch.retrieval.base import SearchRequest
from toolsearch.testing import FlakyEmbedder, HashingEmbedder
from toolsearch.tools import Tool

THINGS = ("invoice", "meeting", "ticket", "photo", "contract", "song", "route", "parcel", "room", "recipe")
VERBS = ("create", "delete", "list", "share")


def things() -> Dataset:
    """Forty tools, and twenty requests for one of them each."""
    catalog = Catalog(
        Tool(raw_name=f"{verb}_{thing}", source="office", description=f"Will {verb} the {thing} you name.")
        for verb in VERBS
        for thing in THINGS
    )
    queries = [
        BenchQuery(
            f"q{i}", f"please {VERBS[i % 4]} a {THINGS[i % 10]} for me", (_gold(i),), kind=VERBS[i % 4]
        )
        for i in range(20)
    ]
    return make_dataset("things", catalog, queries)


def _gold(i: int) -> str:
    return f"office.{VERBS[i % 4]}_{THINGS[i % 10]}"


@pytest.mark.parametrize("name", ["hybrid", "whole", "dense", "lexical", "rrf"])
def test_each_retriever_finds_tools_by_the_words_of_a_request(name: str) -> None:
    dataset = things()
    report = evaluate(make_retriever(name, dataset.catalog, HashingEmbedder()), dataset)
    assert report.means["hit_rate@1"] == 1.0


def test_names_finds_what_is_called_by_its_name() -> None:
    retriever = make_retriever("names", things().catalog, HashingEmbedder())
    result = retriever.search(SearchRequest(queries=("listParcel",), k=5))
    assert [hit.tool.raw_name for hit in result.hits] == ["list_parcel"]


def test_rank_fusion_sums_reciprocal_ranks_of_the_two_channels() -> None:
    """Oracle: the rankings of the channels alone, fused by the formula."""
    catalog = things().catalog
    made = {name: make_retriever(name, catalog, HashingEmbedder()) for name in ("dense", "lexical", "rrf")}
    request = SearchRequest(queries=("share the route of a meeting",), k=40)
    ranks = {
        name: {hit: rank for rank, hit in enumerate(made[name].search(request).names, start=1)}
        for name in ("dense", "lexical")
    }
    expected = {
        tool: sum(1 / (60 + ranked[tool]) for ranked in ranks.values() if tool in ranked) for tool in catalog
    }
    found = {hit.name: hit.score for hit in made["rrf"].search(request).hits}
    assert found == pytest.approx({tool: score for tool, score in expected.items() if score})
    assert list(found) == sorted(found, key=lambda tool: (-found[tool], tool))


def test_only_the_default_searches_in_steps() -> None:
    request = SearchRequest(queries=("share the route of a meeting\ndelete the recipe of a friend",))
    made = {n: make_retriever(n, things().catalog, HashingEmbedder()) for n in ("hybrid", "whole", "dense")}
    assert {name: bool(retriever.search(request).steps) for name, retriever in made.items()} == {
        "hybrid": True,
        "whole": False,
        "dense": False,
    }


def test_an_unknown_retriever_is_named_with_those_there_are() -> None:
    with pytest.raises(EvaluationError, match=r"'oracle'\. Choose one of hybrid, whole, dense"):
        make_retriever("oracle", things().catalog, HashingEmbedder())


@pytest.mark.parametrize("name", ["hybrid", "dense"])
def test_a_query_whose_vector_is_nan_is_an_error_that_is_counted(name: str) -> None:
    """(E193)"""
    dataset = things()
    bad = dataset.queries[7]
    inner = HashingEmbedder()
    embedder = FlakyEmbedder(inner, rows={bad.text: [math.nan] * inner.dim})
    found = evaluate(make_retriever(name, dataset.catalog, embedder), dataset).to_json()
    assert (found["queries"], found["scored"], found["errors"]) == (20, 19, 1)
    assert found["failed"][0]["id"] == bad.id
    assert found["hit_rate@1"] == 1.0


_PROGRAM = """
import json, sys
from tests.evaluation.test_retrievers import things
from toolsearch.evaluation.retrievers import make_retriever
from toolsearch.evaluation.runner import evaluate
from toolsearch.testing import HashingEmbedder
dataset, embedder = things(), HashingEmbedder()
retriever = make_retriever("hybrid", dataset.catalog, embedder)
report = evaluate(retriever, dataset, seed=11, embedder_id=embedder.id)
report.write_run(sys.argv[1])
print(json.dumps(report.to_json(timings=False)))
"""


def test_the_same_evaluation_twice_gives_the_same_lists_and_figures(tmp_path: Path) -> None:
    """(E191)"""
    seen = set()
    for hash_seed, threads in (("0", "1"), ("1", "4")):
        run = tmp_path / f"run{hash_seed}.jsonl"
        env = {**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(run)], env=env, capture_output=True, text=True, check=True
        )
        seen.add((done.stdout, run.read_text(encoding="utf-8")))
    ((printed, _),) = seen
    report = json.loads(printed)
    assert (report["seed"], report["k"], report["embedder"]) == (11, 10, "hashing-v1@256")
    assert report["catalog_fingerprint"] == things().catalog.fingerprint
