from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.data import BENCH_PREFIX
from benchmarks.plots import draw_all
from benchmarks.report import REPORT, read_loop, read_peers, read_scale, read_tables, render
from benchmarks.results import QUALITY, RESULTS, condition_result, read_results, write_result
from benchmarks.scale import ENVIRONMENTS, scale_records
from toolsearch.catalog import Catalog
from toolsearch.evaluation.datasets import BenchQuery, make_dataset
from toolsearch.evaluation.report import EvaluationReport
from toolsearch.evaluation.runner import score_run
from toolsearch.tools import JsonObject, Tool

CATALOG = Catalog(Tool(raw_name=name) for name in "abcdef")


def report(name: str, *, found: bool, kind: str = "") -> EvaluationReport:
    queries = [BenchQuery("q1", "q1", ("a",), kind=kind), BenchQuery("q2", "q2", ("b",), kind=kind)]
    groups = [["a", "c"]] if name == f"{BENCH_PREFIX}grouped" else []
    runs = {"q1": ["a"], "q2": ["b"] if found else ["c"]}
    return score_run(runs, make_dataset(name, CATALOG, queries, groups))


@pytest.fixture
def results() -> dict[str, JsonObject]:
    """The default finds everything, the others half of it."""
    sets = ("bench/plain", "bench/grouped", "demo")
    found = {
        name: {s: report(s, found=name == "hybrid", kind="direct") for s in sets}
        for name in ("hybrid", "plain-bm25", "plain-dense", "plain-rrf")
    }
    return {name: condition_result(name, reports, found["hybrid"]) for name, reports in found.items()}


SCALE: JsonObject = {
    "machine": {"cpu": "Test CPU", "usable_cores": 2, "vector_units": ["avx2"], "memory_gb": 8},
    "document_tokens": 64,
    "import": {"import_s": 0.12, "python_s": 0.02, "modules": 99, "heavy_modules": []},
    "sizes": [
        {
            "tools": n,
            "vectors": "flat",
            "embed_p50_ms": 8.0,
            "search_p50_ms": 10.0,
            "search_p95_ms": 12.5,
            "search_over_embedding": 1.25,
            "build_s": 20.0,
            "save_s": 1.0,
            "load_s": 0.5,
            "load_by_size_s": 0.1,
            "load_over_build": 0.025,
            "index_mb": 40.0,
            "vectors_mb": 30.0,
            "rss_loaded_mb": 130.0,
            "memory_over_vectors_mb": 100.0,
            "rss_searching_mb": 400.0,
            "stages_p50_ms": {"embed": 8.0, "dense": 1.0, "total": 10.0},
        }
        for n in (1000, 10_000)
    ],
}


def test_the_report_shows_means_differences_and_the_gain_over_the_baselines(
    results: dict[str, JsonObject],
) -> None:
    text = render(results, None)
    assert "| **hybrid** | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 [1.000, 1.000] | 1.000 |  |" in text
    assert "| plain-bm25 | 0.500 | 0.500 | 0.500 | 0.500 | 0.500 [" in text
    assert "+0.500 [" in text
    assert "- completeness@10: 1.000 against 0.500 (plain-bm25), +50.0 points" in text
    assert "| grouped | 6 | 2 | **1.000** | 0.500 |" in text
    assert "| hybrid | 1.000 | 1.000 |" in text  # the demo set, in all and by kind
    assert "## Time and memory" not in text


def test_the_report_shows_scale_and_further_tables() -> None:
    table = {
        "title": "Cut",
        "text": "What a margin keeps.",
        "command": "python -m x",
        "columns": ["margin", "kept"],
        "rows": [[0.5, 12345], ["none", 7]],
    }
    text = render({}, SCALE, [table])
    assert "| 0.500 | 12,345 |\n| none | 7 |" in text
    assert "| **search over embedding, p50** | 1.250 | 1.250 |" in text
    assert "| 10,000 | 8.00 | 1.00 |" in text
    assert "Test CPU, 2 cores (avx2), 8 GB" in text


def test_results_read_back_as_written(results: dict[str, JsonObject], tmp_path: Path) -> None:
    for result in results.values():
        write_result(result, tmp_path)
    assert read_results(tmp_path) == dict(sorted(results.items()))


def test_the_same_results_draw_the_same_plots(results: dict[str, JsonObject], tmp_path: Path) -> None:
    first = draw_all(results, SCALE, tmp_path / "first")
    second = draw_all(results, SCALE, tmp_path / "second")
    assert [path.name for path in first] == ["quality.png", "sets.png", "scale.png"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert one.read_bytes().startswith(b"\x89PNG")


def test_the_committed_report_is_that_of_the_committed_results() -> None:
    rendered = render(
        read_results(QUALITY),
        read_scale(RESULTS),
        read_tables(RESULTS / "tables"),
        read_loop(RESULTS),
        read_peers(RESULTS),
    )
    assert REPORT.read_text(encoding="utf-8") == rendered


def test_scale_mixes_services_and_then_adds_variants_that_differ_in_text_and_name() -> None:
    operations: list[JsonObject] = [
        {"name": f"Op{i}", "server": server, "description": f"Does {i}.", "input_schema": {}}
        for server in ("ec2", "s3")
        for i in range(20)
    ]
    records = list(scale_records(iter(operations)))
    assert len(records) == 40 * (1 + len(ENVIRONMENTS))
    assert sorted(records[:40], key=str) == sorted(operations, key=str)
    assert len({record["server"] for record in records[:8]}) == 2
    assert len({(r["server"], r["name"]) for r in records}) == len(records)
    assert len({(r["server"], r["name"], r["description"]) for r in records}) == len(records)
    assert records[40]["description"].endswith(records[0]["description"])
    assert list(scale_records(iter(operations))) == records
