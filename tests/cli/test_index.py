import json
from pathlib import Path

import pytest

from tests.cli.conftest import TOOLS, Run, write
from toolsearch.exceptions import EmbedderUnavailableError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.sources.files import read_catalog
from toolsearch.testing import HashingEmbedder
from toolsearch.tokens import catalog_tokens

BAD = {"name": "bad", "description": "Broken.", "input_schema": "oops"}


def test_build_writes_an_index_of_the_catalog_and_sums_it_up(run: Run, catalog: Path, tmp_path: Path) -> None:
    done = run("index", "build", catalog, "-o", tmp_path / "x", "--json")
    report = done.json
    tools = read_catalog(catalog).catalog
    assert ToolIndex.load(tmp_path / "x", HashingEmbedder()).catalog == tools
    assert report["tools"] == report["read"] == 4
    assert report["sources"] == 3
    assert report["tokens"] == sum(catalog_tokens(tools.values()).values())
    assert (report["embedded"], report["reused"]) == (4, 0)
    assert report["embedder"] == "hashing-v1@256"
    assert done.err == ""


def test_a_rebuild_takes_its_vectors_from_the_cache_unless_told_not_to(
    run: Run, catalog: Path, index: Path
) -> None:
    again = run("index", "build", catalog, "-o", index, "--json").json
    assert (again["embedded"], again["reused"]) == (0, 4)
    anew = run("index", "build", catalog, "-o", index, "--no-cache", "--json").json
    assert (anew["embedded"], anew["reused"]) == (4, 0)


def test_a_bad_definition_is_reported_with_file_and_line_and_left_out(run: Run, tmp_path: Path) -> None:
    """(E34)"""
    path = tmp_path / "mixed.jsonl"
    write(path, [*TOOLS[:2], BAD, *TOOLS[2:]])
    done = run("index", "build", path, "-o", tmp_path / "x")
    assert done.code == 0
    assert f"{path}:3: error: tool 'bad'" in done.err
    assert "5 definitions read: 1 left out" in done.out
    issues = run("index", "build", path, "-o", tmp_path / "x", "--json").json["issues"]
    assert [(issue["line"], issue["tool"], issue["severity"]) for issue in issues] == [(3, "bad", "error")]


def test_many_issues_are_cut_on_standard_error_but_not_in_json(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    write(path, [TOOLS[0], *({**BAD, "name": f"bad{i}"} for i in range(30))])
    done = run("index", "build", path, "-o", tmp_path / "x", "--json")
    assert len(done.json["issues"]) == 30
    assert done.err.splitlines()[-1] == "and 10 more; --json has all."


def test_strict_ends_at_a_bad_definition_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    write(path, [*TOOLS, BAD])
    done = run("index", "build", path, "-o", tmp_path / "x", "--strict")
    assert (done.code, done.out) == (2, "")
    assert "bad" in done.err
    assert not (tmp_path / "x").exists()


def test_a_catalog_without_tools_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("[]")
    done = run("index", "build", tmp_path / "empty.json", "-o", tmp_path / "x")
    assert done.code == 2
    assert "no tool" in done.err


def test_the_catalog_may_come_from_standard_input(run: Run, tmp_path: Path) -> None:
    done = run(
        "index", "build", "-", "-o", tmp_path / "x", "--json", "--source", "s", stdin=json.dumps(TOOLS[:1])
    )
    assert done.json["tools"] == 1


def test_update_embeds_only_what_changed_and_says_what_that_was(
    run: Run, catalog: Path, index: Path, tmp_path: Path
) -> None:
    changed = {**TOOLS[0], "description": "Send a letter."}
    added = {"name": "new", "description": "Something new.", "input_schema": {"type": "object"}}
    write(catalog, [changed, *TOOLS[2:], added])
    report = run("index", "update", catalog, "-i", index, "--json").json
    assert [report[key] for key in ("added", "changed", "removed", "embedded", "reused")] == [1, 1, 1, 2, 2]
    assert ToolIndex.load(index).catalog == read_catalog(catalog).catalog


def test_update_of_no_index_says_how_to_build_one(run: Run, catalog: Path, tmp_path: Path) -> None:
    done = run("index", "update", catalog, "-i", tmp_path / "none")
    assert done.code == 3
    assert "toolsearch index build" in done.err


def test_info_says_what_is_in_the_index(run: Run, index: Path) -> None:
    report = run("index", "info", index, "--json").json
    assert report["n_tools"] == 4
    assert report["embedder_id"] == "hashing-v1@256"
    assert report["calibrated"] is True
    assert [(s["source"], s["tools"]) for s in report["sources"]] == [("cal", 1), ("geo", 1), ("mail", 2)]
    assert "hashing-v1@256" in run("index", "info", index).out


def test_verify_tells_an_intact_index_from_a_damaged_one(run: Run, index: Path) -> None:
    """(E138)"""
    assert run("index", "verify", index).code == 0
    tools = next(index.rglob("tools.jsonl"))
    tools.write_bytes(tools.read_bytes().replace(b"weather", b"whether"))
    done = run("index", "verify", index, "--json")
    assert (done.code, done.json["intact"]) == (1, False)
    assert "tools.jsonl" in done.json["problem"]
    assert done.err.startswith("Error: ")


def test_verify_of_no_index_is_another_matter(run: Run, tmp_path: Path) -> None:
    assert run("index", "verify", tmp_path / "none").code == 3


def test_an_interrupt_ends_a_build_with_130_and_leaves_nothing(
    run: Run, catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: HashingEmbedder, texts: object, *, progress: object = None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(HashingEmbedder, "embed_documents", interrupted)
    done = run("index", "build", catalog, "-o", tmp_path / "x")
    assert (done.code, done.out, done.err) == (130, "", "Interrupted.\n")
    assert not (tmp_path / "x").exists()


def test_an_embedder_that_fails_is_a_failure_without_a_traceback(
    run: Run, catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: HashingEmbedder, texts: object, *, progress: object = None) -> None:
        raise EmbedderUnavailableError("No model here.")

    monkeypatch.setattr(HashingEmbedder, "embed_documents", failing)
    done = run("index", "build", catalog, "-o", tmp_path / "x", "--no-cache")
    assert (done.code, done.out, done.err) == (4, "", "Error: No model here.\n")


def test_a_folder_with_other_content_is_left_alone(run: Run, catalog: Path, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("x")
    done = run("index", "build", catalog, "-o", tmp_path / "photos")
    assert done.code == 3
    assert [p.name for p in (tmp_path / "photos").iterdir()] == ["cat.jpg"]
