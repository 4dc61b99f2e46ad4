import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.conftest import Run, write
from toolsearch.evaluation.datasets import load_dataset
from toolsearch.evaluation.retrievers import RETRIEVERS
from toolsearch.evaluation.runner import score_run

QUERIES = [
    {"id": "q1", "query": "send an email", "gold": ["mail__send_email"], "kind": "direct"},
    {"id": "q2", "query": "weather forecast", "gold": ["geo__get_weather"], "kind": "direct"},
    {"id": "q3", "query": "zzz qqq", "gold": [], "kind": "nothing"},
]


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.jsonl"
    write(path, QUERIES)
    return path


def test_json_is_the_report_of_the_evaluation(run: Run, catalog: Path, queries: Path, tmp_path: Path) -> None:
    """(E191)"""
    saved = tmp_path / "run.jsonl"
    done = run("eval", "--catalog", catalog, "--queries", queries, "--json", "--run", saved, "--seed", 3)
    report = done.json
    assert (report["queries"], report["scored"], report["seed"]) == (3, 2, 3)
    assert (report["retriever"], report["embedder"]) == ("hybrid", "hashing-v1@256")
    for name in ("recall@1", "recall@5", "completeness@10", "ndcg@10", "mrr"):
        assert report[name] == 1.0
        assert report["ci95"][name] == [1.0, 1.0]
    assert report["query_ms_p50"] > 0
    again = score_run(saved, load_dataset(catalog, queries))
    assert again.means["ndcg@10"] == report["ndcg@10"]
    assert [json.loads(line)["id"] for line in saved.read_text().splitlines()] == ["q1", "q2", "q3"]


def test_people_get_means_with_intervals_kinds_and_times(run: Run, catalog: Path, queries: Path) -> None:
    out = run("eval", "--catalog", catalog, "--queries", queries, "-k", 5).out
    lines = [line.split() for line in out.splitlines()]
    assert ["recall@5", "1.000", "1.000", "to", "1.000"] in lines
    assert "recall@10" not in out
    assert any(line[:2] == ["direct", "2"] for line in lines)
    assert "nothing fits: said of" in out
    assert "ms (median)" in out


def test_near_duplicates_add_a_column(run: Run, catalog: Path, queries: Path, tmp_path: Path) -> None:
    groups = tmp_path / "near.jsonl"
    write(groups, [{"ids": ["mail__send_email", "mail__search_emails"]}])
    done = run("eval", "--catalog", catalog, "--queries", queries, "--near-duplicates", groups)
    assert "near" in done.out.splitlines()[1].split()


@pytest.mark.parametrize("retriever", list(RETRIEVERS))
def test_the_retriever_can_be_chosen(run: Run, catalog: Path, queries: Path, retriever: str) -> None:
    done = run("eval", "--catalog", catalog, "--queries", queries, "--retriever", retriever, "--json")
    assert done.json["retriever"] == retriever


def test_the_help_names_every_retriever(run: Run) -> None:
    out = " ".join(run("eval", "--help").out.split())
    assert all(name in out for name in RETRIEVERS)


@pytest.mark.parametrize("option", [("--seed", -1), ("-k", 0), ("-k", -3), ("--seed", "x")])
def test_numbers_out_of_range_are_usage_errors(
    run: Run, catalog: Path, queries: Path, option: tuple[str, object]
) -> None:
    done = run("eval", "--catalog", catalog, "--queries", queries, *option)
    assert done.code == 2
    assert f"Invalid value for '{option[0]}': must be" in done.err


@pytest.mark.parametrize("line", ["[" * 100_000, '{"id":' * 100_000, "1" * 10_000, "{"])
def test_a_line_that_no_parser_likes_is_named(run: Run, catalog: Path, queries: Path, line: str) -> None:
    queries.write_text(f"\n{line}\n")
    done = run("eval", "--catalog", catalog, "--queries", queries)
    assert done.code == 2
    assert f"{queries}:2: is not JSON" in done.err or f"{queries}:2: each line" in done.err


def test_a_lone_surrogate_reaches_the_run_and_comes_back(
    run: Run, catalog: Path, queries: Path, tmp_path: Path
) -> None:
    write(queries, [{**QUERIES[0], "id": "q\ud83d", "query": "send an email \ud83d"}])
    saved = tmp_path / "run.jsonl"
    done = run("eval", "--catalog", catalog, "--queries", queries, "--run", saved, "--json")
    assert (done.code, done.json["recall@1"]) == (0, 1.0)
    assert score_run(saved, load_dataset(catalog, queries)).means["recall@1"] == 1.0


def test_a_path_that_no_system_takes_is_bad_input(run: Run, catalog: Path, queries: Path) -> None:
    long = "a" * 5000
    for arguments in (
        ("eval", "--catalog", long, "--queries", queries),
        ("eval", "--catalog", catalog, "--queries", long),
        ("eval", "--catalog", catalog, "--queries", queries, "--near-duplicates", long),
        ("tokens", long),
        ("lint", long),
        ("index", "build", long, "-o", "x"),
    ):
        done = run(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("Error: ")


def test_what_cannot_be_evaluated_is_explained(
    run: Run, catalog: Path, queries: Path, tmp_path: Path
) -> None:
    unknown = run("eval", "--catalog", catalog, "--queries", queries, "--retriever", "magic")
    assert unknown.code == 2
    assert "'magic'" in unknown.err
    write(tmp_path / "bad.jsonl", [{"id": "q", "query": "x", "gold": ["nobody"]}])
    bad = run("eval", "--catalog", catalog, "--queries", tmp_path / "bad.jsonl")
    assert bad.code == 2
    assert "'nobody'" in bad.err


@pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="needs the extra 'sentence-transformers'"
)
def test_a_reranker_is_measured_with_the_search_that_it_is_for(
    run: Run, catalog: Path, queries: Path, tmp_path: Path
) -> None:
    from tests.rerankers.tiny import build_tiny_cross_encoder

    (tmp_path / "cross").mkdir()
    build_tiny_cross_encoder(tmp_path / "cross")
    asked = ("eval", "--catalog", catalog, "--queries", queries, "--rerank", f"st:{tmp_path / 'cross'}")
    report = run(*asked, "--json").json
    assert report["retriever"].startswith("hybrid + cross-encoder:")
    assert run(*asked, "--retriever", "whole").code == 0
    done = run(*asked, "--retriever", "dense")
    assert (done.code, "takes no reranker. Choose hybrid or whole" in done.err) == (2, True)
