from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.conditions import CONDITIONS_FILE, read_conditions, write_conditions
from benchmarks.data import is_there, load_named
from benchmarks.reproduce import main
from benchmarks.results import against, over_sets, read_results
from benchmarks.retrievers import NAMES
from toolsearch.catalog import Catalog
from toolsearch.evaluation.datasets import BenchQuery, make_dataset
from toolsearch.evaluation.report import EvaluationReport
from toolsearch.evaluation.runner import score_run
from toolsearch.exceptions import EvaluationError
from toolsearch.tools import Tool

TOOLS = {"send_mail": "Sends a letter.", "read_mail": "Shows letters.", "pay": "Moves money."}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with two sets: BM25 finds all of the first and half of the second."""
    for name, queries in (
        ("one", {"send a letter": "send_mail", "move money": "pay", "moves money": "pay"}),
        ("two", {"letters": "read_mail", "cash": "pay"}),
    ):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        tools = [
            {"id": f"{name}:{tool}", "name": tool, "description": text, "input_schema": {}}
            for tool, text in TOOLS.items()
        ]
        asked = [
            {"id": f"{name}/{i}", "query": text, "gold": [f"{name}:{gold}"]}
            for i, (text, gold) in enumerate(queries.items())
        ]
        for file, records in (("catalog.jsonl", tools), ("queries.dev.jsonl", asked)):
            (folder / file).write_text("".join(json.dumps(r) + "\n" for r in records))
    return tmp_path / "data"


def conditions(tmp_path: Path, expected: str) -> Path:
    path = tmp_path / "conditions.yaml"
    path.write_text(
        "# About these.\nplain:\n  retriever: plain-bm25\n  embedder: bundled\n  tolerance: 0.01\n"
        f"  expected:\n{expected}"
    )
    return path


def run(data: Path, path: Path, *more: str) -> int:
    results = path.with_name("results")
    return main(["--data", str(data), "--conditions", str(path), "--results", str(results), *more])


def test_scores_within_tolerance_pass(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = conditions(tmp_path, "    bench/one: {ndcg@10: 0.995}\n    bench/two: {recall@5: 0.5}\n")
    assert run(data, path) == 0
    assert "2 of 2 scores are within tolerance" in capsys.readouterr().out


def test_a_score_past_tolerance_fails_and_is_marked(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = conditions(tmp_path, "    bench/one: {ndcg@10: 0.98}\n    bench/two: {recall@5: 0.5}\n")
    assert run(data, path) == 1
    shown = capsys.readouterr().out
    assert "ndcg@10 1.0000 (expected 0.9800: past tolerance)" in shown
    assert "1 of 2 scores are within tolerance" in shown


def test_a_data_set_that_is_not_there_is_named_and_skipped(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = conditions(tmp_path, "    bench/one: {}\n    bench/three: {}\n")
    assert run(data, path) == 0
    assert "bench/three" in capsys.readouterr().err
    assert run(data, conditions(tmp_path, "    bench/three: {}\n")) == 2


def test_bfcl_is_skipped_where_it_is_not_installed(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    path = conditions(tmp_path, "    bfcl: {recall@5: 0.9}\n    bench/one: {ndcg@10: 0.995}\n")
    assert run(data, path) == 0
    shown = capsys.readouterr()
    assert "1 of 1 scores are within tolerance" in shown.out
    assert "pip install --no-deps bfcl-eval==" in shown.err
    assert run(data, conditions(tmp_path, "    bfcl: {}\n")) == 2


def test_what_the_package_installs_is_enough_to_reproduce() -> None:
    """No import of the extras ``bench`` and ``dev``."""
    extras = "('psutil', 'botocore', 'matplotlib', 'bfcl_eval', 'sentence_transformers')"
    script = (
        f"import sys; sys.modules.update(dict.fromkeys({extras}))\n"
        "from benchmarks.machine import describe_machine\nimport benchmarks.reproduce\n"
        "print(describe_machine()['memory_gb'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=CONDITIONS_FILE.parents[1],
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "None" or int(done.stdout) >= 0


def test_an_unknown_condition_retriever_or_measure_is_an_error(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = conditions(tmp_path, "    bench/one: {hits: 1.0}\n")
    assert run(data, path, "--condition", "fancy") == 2
    assert run(data, path) == 2
    path.write_text(path.read_text().replace("plain-bm25", "magic"))
    assert run(data, path) == 2
    errors = capsys.readouterr().err
    assert all(word in errors for word in ("'fancy'", "'hits'", "'magic'"))


def test_results_hold_scores_intervals_and_what_they_depend_on(data: Path, tmp_path: Path) -> None:
    path = conditions(tmp_path, "    bench/one: {}\n    bench/two: {}\n")
    run(data, path)
    result = read_results(tmp_path / "results")["plain"]
    assert result["over_sets"]["recall@5"] == 0.75
    assert result["over_sets"]["sets"] == ["bench/one", "bench/two"]
    assert result["datasets"]["bench/two"]["recall@5"] == 0.5
    assert result["datasets"]["bench/two"]["ci95"]["recall@5"] == [0.0, 1.0]
    assert len(result["datasets"]["bench/one"]["catalog_fingerprint"]) == 64
    assert (result["retriever"], result["k"], result["seed"]) == ("plain-bm25", 10, 0)
    assert result["machine"]["cores"] >= 1
    assert "numpy" in result["versions"]
    assert str(tmp_path) not in json.dumps(result)


def test_accepted_scores_are_expected_from_then_on(data: Path, tmp_path: Path) -> None:
    path = conditions(
        tmp_path, "    bench/one: {ndcg@10: 0.1}\n    bench/two: {}\n    bench/gone: {ndcg@10: 0.3}\n"
    )
    assert run(data, path, "--accept") == 0
    expected = read_conditions(path)["plain"].expected
    assert expected["bench/two"] == {"recall@5": 0.5, "completeness@10": 0.5, "ndcg@10": 0.5}
    assert expected["bench/gone"] == {"ndcg@10": 0.3}
    assert path.read_text().startswith("# About these.\n")
    assert run(data, path) == 0


def report(ranks: dict[str, int], name: str) -> EvaluationReport:
    """One gold tool a query, found at the rank given; 0 for not at all."""
    catalog = Catalog(Tool(raw_name=tool) for tool in "abcdefghij")
    dataset = make_dataset(name, catalog, [BenchQuery(query, query, ("a",)) for query in ranks])
    runs = {query: [*"bcd"[: rank - 1], "a"] if rank else ["b"] for query, rank in ranks.items()}
    return score_run(runs, dataset)


def test_sets_weigh_the_same_in_the_mean_over_them_and_others_do_not_count() -> None:
    reports = {
        "bench/big": report({f"q{i}": 1 for i in range(9)}, "big"),
        "bench/small": report({"q": 0}, "small"),
        "demo": report({"q": 0}, "demo"),
    }
    assert over_sets(reports)["recall@1"] == 0.5
    assert over_sets({"demo": reports["demo"]}) == {}


def test_differences_are_paired_by_query() -> None:
    reference = {"bench/x": report({"p": 1, "q": 1, "r": 1}, "x"), "demo": report({"s": 1}, "demo")}
    other = {"bench/x": report({"p": 2, "q": 2, "r": 2}, "x"), "demo": report({"s": 0}, "demo")}
    found = against(reference, other)
    assert found["over_sets"]["recall@1"] == [1.0, 1.0, 1.0]
    ndcg = 1 - 0.63093
    assert found["over_sets"]["ndcg@10"] == pytest.approx([ndcg, ndcg, ndcg], abs=1e-5)
    assert found["datasets"]["demo"]["recall@5"] == [1.0, 1.0, 1.0]


def test_the_committed_conditions_are_valid_and_name_known_retrievers() -> None:
    committed = read_conditions(CONDITIONS_FILE)
    assert {condition.retriever for condition in committed.values()} <= set(NAMES)
    assert set(committed) >= {"hybrid", "dense", "lexical", "plain-bm25", "plain-dense", "plain-rrf"}


def test_conditions_survive_being_written(tmp_path: Path) -> None:
    path = tmp_path / "copy.yaml"
    write_conditions(read_conditions(), path)
    assert read_conditions(path) == read_conditions()


def test_a_condition_that_is_not_as_it_should_be_is_named(tmp_path: Path) -> None:
    path = conditions(tmp_path, "    bench/one: {ndcg@10: high}\n")
    with pytest.raises(EvaluationError, match=r"plain\.expected\.bench/one\.ndcg@10"):
        read_conditions(path)


def test_an_unknown_data_set_is_refused(data: Path) -> None:
    with pytest.raises(EvaluationError, match="'nothing'"):
        load_named("nothing", data)
    assert is_there("bench/one", data)
    assert not is_there("bench/nothing", data)
