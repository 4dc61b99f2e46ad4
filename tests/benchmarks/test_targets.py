"""The committed results reach what the retrieval core set out to reach."""

import json
from pathlib import Path
from typing import Any

import pytest

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
BASELINES = ("plain-bm25", "plain-dense", "plain-rrf")


def read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def over_sets(condition: str, measure: str) -> float:
    return float(read(f"quality/{condition}.json")["over_sets"][measure])


def size(tools: int) -> Any:
    return next(row for row in read("scale.json")["sizes"] if row["tools"] == tools)


@pytest.mark.parametrize("measure", ["ndcg@10", "completeness@10"])
@pytest.mark.parametrize("baseline", BASELINES)
def test_the_default_is_five_points_above_every_plain_baseline(measure: str, baseline: str) -> None:
    assert over_sets("hybrid", measure) >= over_sets(baseline, measure) + 0.05


@pytest.mark.parametrize("fusion", ["rrf", "min-max", "share"])
def test_no_other_fusion_of_the_same_channels_is_better(fusion: str) -> None:
    assert over_sets("hybrid", "ndcg@10") >= over_sets(fusion, "ndcg@10")


@pytest.mark.parametrize("measure", ["ndcg@10", "completeness@10"])
def test_the_default_is_never_a_point_below_the_dense_channel(measure: str) -> None:
    hybrid, dense = (read(f"quality/{name}.json")["datasets"] for name in ("hybrid", "dense"))
    assert len(hybrid) > 10
    worst = min(hybrid[name][measure] - dense[name][measure] for name in hybrid)
    assert worst > -0.01


def test_a_tool_that_is_called_by_its_name_always_comes_first() -> None:
    table = read("tables/names.json")
    assert {row[0] for row in table["rows"]} >= {"as it is", "public name", "server.name", "UPPER CASE"}
    assert {row[-1] for row in table["rows"]} == {1.0}


def test_a_search_among_ten_thousand_tools_takes_little_more_than_its_embedding() -> None:
    assert size(10_000)["search_over_embedding"] <= 1.5


def test_an_index_of_fifty_thousand_tools_loads_fast_and_small() -> None:
    assert size(50_000)["load_over_build"] < 0.1
    assert size(50_000)["memory_over_vectors_mb"] < 400


def test_the_import_is_light() -> None:
    measured = read("scale.json")["import"]
    assert measured["import_s"] < 0.3
    assert measured["heavy_modules"] == []
