from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.data import BENCH_PREFIX
from benchmarks.plots import draw_all
from benchmarks.report import REPORT, read_loop, read_peers, read_scale, read_service, read_tables, render
from benchmarks.results import QUALITY, RESULTS, condition_result, read_results, write_result
from benchmarks.scale_catalog import copy_of
from benchmarks.scale_vectors import Noise
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
    "about": "Tools are those of a test.",
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
            **({"build_peak_mb": 900.0} if n == 10_000 else {}),
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
    assert "Tools are those of a test." in text
    # What only one size has is shown, what none has is not.
    assert "| peak while building / MB |  | 900.0 |" in text
    assert "search in one server" not in text


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
        service=read_service(RESULTS),
    )
    assert REPORT.read_text(encoding="utf-8") == rendered


def test_copies_of_tools_differ_in_name_server_and_text_and_are_the_same_each_time() -> None:
    tools = [
        Tool(raw_name=name, source="crm", description="Get the user. Returns a list of files by id.")
        for name in ("get_user", "fetchUser", "GET_USER", "list_files", "unknown")
    ]
    copies = [copy_of(tool, number) for number in range(1, 24) for tool in tools]
    assert len({tool.name for tool in (*tools, *copies)}) == 24 * len(tools)
    assert copies == [copy_of(tool, number) for number in range(1, 24) for tool in tools]
    assert [tool.raw_name for tool in copies[:5]] == [
        "fetch_account",
        "retrieveAccount",
        "FETCH_ACCOUNT",
        "enumerate_files",
        "unknown",
    ]
    assert len({tool.description for tool in copies[::5]}) > 15
    assert all(tool.input_schema is tools[0].input_schema for tool in copies[::5])


def test_copies_get_vectors_as_far_from_their_originals_as_measured() -> None:
    rng = np.random.default_rng(0)
    originals = rng.standard_normal((300, 32)).astype(np.float32)
    originals /= np.linalg.norm(originals, axis=1, keepdims=True)
    # Copies lie off in the first half of the dimensions alone.
    away = np.pad(rng.standard_normal((50, 16)), ((0, 0), (0, 16))).astype(np.float32)
    noise = Noise(np.linspace(0.8, 0.9, 50, dtype=np.float32), away)
    moved = noise.moved(originals, [(0, i) for i in range(300)])
    cosines = np.einsum("ij,ij->i", moved, originals)
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1, atol=1e-5)
    assert cosines.min() == pytest.approx(0.8, abs=0.01)
    assert cosines.max() == pytest.approx(0.9, abs=0.01)
    change = moved - cosines[:, None] * originals
    assert np.square(change[:, :16]).sum() > 5 * np.square(change[:, 16:]).sum()
    np.testing.assert_allclose(noise.moved(originals[7:8], [(0, 7)]), moved[7:8], atol=1e-6)
