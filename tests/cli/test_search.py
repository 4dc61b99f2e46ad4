import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.sources.mcp.support import a_tool, scripted
from tests.sources.openapi.documents import document, operation


def test_json_has_the_hits_best_first_and_what_they_cost(run: Run, index: Path) -> None:
    done = run("search", "send an email", "-i", index, "--json")
    found = done.json
    assert found["query"] == "send an email"
    best = found["hits"][0]
    assert best["name"] == "mail__send_email"
    assert best["raw_name"] == "send_email"
    assert best["server"] == "mail"
    assert best["description"] == "Send an email to one or more people."
    assert best["tags"] == ["mail", "writing"]
    scores = [hit["score"] for hit in found["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert found["nothing_fits"] is False
    assert found["took_ms"] > 0
    assert "timings_ms" not in found
    assert "channels" not in best
    total = run("index", "info", index, "--json").json["tokens"]
    assert found["returned_tokens"] + found["spared_tokens"] == total


def test_several_queries_are_answered_as_one_list(run: Run, index: Path) -> None:
    found = run("search", "send an email", "forecast of the weather", "-i", index, "-k", 2, "--json").json
    assert found["query"] == ["send an email", "forecast of the weather"]
    assert [(hit["name"], hit["query"]) for hit in found["hits"]] == [
        ("mail__send_email", 0),
        ("geo__get_weather", 1),
    ]


def test_queries_may_come_from_standard_input(run: Run, index: Path) -> None:
    found = run("search", "-", "-i", index, "--json", stdin="send an email\n\nweather forecast\n").json
    assert found["query"] == ["send an email", "weather forecast"]
    assert run("search", "-", "-i", index, stdin="\n").code == 2


@pytest.mark.parametrize(("k", "n"), [(1, 1), (3, 3), (100, 4)])
def test_k_gives_exactly_so_many_as_far_as_there_are(run: Run, index: Path, k: int, n: int) -> None:
    """(E133)"""
    assert len(run("search", "email", "-i", index, "-k", k, "--json").json["hits"]) == n


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--server", "mail"), {"mail__send_email", "mail__search_emails"}),
        (("--server", "mail", "--server", "geo", "--read-only"), {"mail__search_emails", "geo__get_weather"}),
        (("--tag", "mail", "--exclude", "mail__send_email"), {"mail__search_emails"}),
        (("--allow", "mail/*", "--deny", "*search*"), {"mail__send_email"}),
        (("--allow", "nothing*"), set()),
    ],
)
def test_filters_narrow_the_choice(run: Run, index: Path, options: tuple[str, ...], names: set[str]) -> None:
    found = run("search", "email", "-i", index, "-k", 10, "--json", *options).json
    assert {hit["name"] for hit in found["hits"]} == names


def test_explain_shows_channels_and_stages(run: Run, index: Path) -> None:
    found = run("search", "send an email", "-i", index, "--explain", "--json").json
    assert set(found["hits"][0]["channels"]) == {"dense", "lexical", "name"}
    assert found["timings_ms"]["total"] >= found["timings_ms"]["lexical"]
    header, *_ = run("search", "send an email", "-i", index, "--explain").out.splitlines()
    assert header.split() == ["tool", "server", "score", "name", "dense", "lexical", "description"]


def test_explain_shows_the_steps_of_a_query_and_which_a_hit_serves(run: Run, index: Path) -> None:
    query = ("search", "send an email. show the weather forecast", "-i", index, "-k", 2, "--explain")
    lines = run(*query).out.splitlines()
    assert lines[0].split()[:4] == ["tool", "server", "step", "score"]
    assert lines[0].split()[-2:] == ["steps", "description"]
    assert {tuple(line.split()[1:4:2]) for line in lines[1:3]} == {
        ("mail__send_email", "1"),
        ("geo__get_weather", "2"),
    }
    assert lines[3] == "Steps: 1 'send an email.', 2 'show the weather forecast'"
    found = run(*query, "--json").json
    assert found["steps"] == {"0": ["send an email.", "show the weather forecast"]}
    assert {hit["name"]: hit["step"] for hit in found["hits"]} == {
        "mail__send_email": 0,
        "geo__get_weather": 1,
    }
    assert all(hit["channels"]["steps"] >= 0 for hit in found["hits"])


def test_steps_can_be_switched_off(run: Run, index: Path) -> None:
    query = ("search", "send an email. show the weather forecast", "-i", index, "--explain", "--no-steps")
    assert run(*query, "--json").json["steps"] == {}
    assert "Steps:" not in run(*query).out


def test_people_get_a_table_and_the_tokens_that_are_spared(run: Run, index: Path) -> None:
    found = run("search", "events create", "-i", index, "-k", 1, "--json").json
    out = run("search", "events create", "-i", index, "-k", 1).out
    name = found["hits"][0]["name"]
    rank, shown, server, score, *description = out.splitlines()[1].split()
    assert (rank, shown, server, score) == ("1", name, "cal", f"{found['hits'][0]['score']:.3f}")
    assert description == ["Create", "an", "event", "in", "a", "calendar."]
    whole = found["returned_tokens"] + found["spared_tokens"]
    assert f"1 of 4 tools, {found['returned_tokens']} tokens instead of {whole}" in out


def test_nothing_fits_is_said_plainly(run: Run, index: Path) -> None:
    done = run("search", "zzz qqq", "-i", index)
    assert done.code == 0
    assert "Nothing fits" in done.out
    assert run("search", "zzz qqq", "-i", index, "--json").json["nothing_fits"] is True


def test_select_loads_by_name_and_tells_what_is_missing(run: Run, index: Path) -> None:
    done = run("search", "select:mail__send_email,nope", "-i", index)
    assert "mail__send_email" in done.out
    assert "No tool is named 'nope'." in done.err


def test_a_column_says_which_of_several_queries_a_hit_answers(run: Run, index: Path) -> None:
    lines = run("search", "send an email", "weather forecast", "-i", index, "-k", 2).out.splitlines()
    assert lines[0].split() == ["for", "tool", "server", "score", "description"]
    assert [line.split()[:3] for line in lines[1:3]] == [
        ["1", "1", "mail__send_email"],
        ["2", "2", "geo__get_weather"],
    ]


def test_names_beyond_the_cut_are_listed(run: Run, index: Path) -> None:
    found = run("search", "send an email", "-i", index, "-k", 1, "--json").json
    assert found["near"]
    out = run("search", "send an email", "-i", index, "-k", 1).out
    assert f"Also near: {', '.join(found['near'])}\n" in out


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
@pytest.mark.parametrize("several", [False, True])
def test_no_name_is_broken_at_any_width(
    run: Run, index: Path, monkeypatch: pytest.MonkeyPatch, columns: int, several: bool
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    queries = ("send an email", "weather forecast")[: 1 + several]
    out = run("search", *queries, "-i", index, "-k", 4, "--explain").out
    names = [hit["name"] for hit in run("search", *queries, "-i", index, "-k", 4, "--json").json["hits"]]
    assert len(names) == 4
    assert set(names) <= set(out.split())
    table = out[: out.index(" of 4 tools")].splitlines()[:-1]
    assert any("Send an email"[: columns - 5] in line for line in table)
    catalog = index.parent / "tools.jsonl"
    assert "mail__search_emails" in run("tokens", catalog).out.split()


def test_one_is_no_plural(run: Run, tmp_path: Path) -> None:
    path, folder = tmp_path / "one.json", tmp_path / "one"
    path.write_text('[{"name": "send", "server": "mail", "description": "Send.", "input_schema": {}}]')
    built = run("index", "build", path, "-o", folder)
    assert "1 tool of 1 source," in built.out
    assert "1 tool in " in run("index", "verify", folder).out
    assert "1 of 1 tool," in run("search", "send", "-i", folder, "-k", 1).out
    assert "for 1 tool," in run("tokens", path).out
    assert run("lint", path).out.splitlines()[-1].startswith("1 tool: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("select:",), "The query 'select:' lacks a name"),
        (("select: ,",), "lacks a name"),
        (("?!",), "has no word to search for"),
        (("",), "has no word to search for"),
        (("mail", "-k", "0"), "-k: must be greater than or equal to 1, not 0"),
        (("mail", "-k", "-1"), "-k: must be greater than or equal to 1, not -1"),
        (("mail", "--max-k", "5000"), "--max-k: must be less than or equal to 1000, not 5000"),
        (tuple("abcdefghijklmnopq"), "QUERY: at most 16 at once"),
    ],
)
def test_a_request_that_cannot_be_answered_is_explained(
    run: Run, index: Path, arguments: tuple[str, ...], said: str
) -> None:
    """(E117, E119)"""
    done = run("search", *arguments, "-i", index)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Error: ")
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_no_index_is_an_error_of_its_own(run: Run, tmp_path: Path) -> None:
    done = run("search", "mail", "-i", tmp_path / "none", "--json")
    assert (done.code, done.out) == (3, "")
    assert "does not exist" in done.err


def test_an_index_of_another_embedder_names_it_and_the_option(
    run: Run, catalog: Path, tmp_path: Path
) -> None:
    """(E135)"""
    folder = tmp_path / "other"
    run("index", "build", catalog, "-o", folder, "--embedder", "hashing@128")
    done = run("search", "mail", "-i", folder)
    assert done.code == 3
    assert "'hashing-v1@128'" in done.err
    assert "--embedder" in done.err
    assert run("search", "mail", "-i", folder, "--embedder", "hashing@64").code == 3
    assert run("search", "mail", "-i", folder, "--embedder", "hashing@128").code == 0


def test_text_of_a_tool_cannot_drive_the_terminal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "evil.json"
    path.write_text(
        '[{"name": "evil", "description": "Wipes [bold]all[/] \\u001b[2J of it.", "input_schema": {}}]'
    )
    run("index", "build", path, "-o", tmp_path / "x")
    out = run("search", "wipes all of it", "-i", tmp_path / "x", "-k", 1).out
    assert "\x1b" not in out
    assert "[bold]all[/]" in out


def test_catalogs_are_searched_without_an_index(run: Run, catalog: Path, index: Path, tmp_path: Path) -> None:
    """As an index of them is."""
    found = run("search", "send an email", "-c", catalog, "-k", "2", "--json").json
    indexed = run("search", "send an email", "-i", index, "-k", "2", "--json").json
    assert {**found, "took_ms": 0} == {**indexed, "took_ms": 0}
    config = tmp_path / "mcp.json"
    servers = {"bank": scripted([a_tool("pay", "Pay a bill")])}
    (tmp_path / "pets.json").write_text(json.dumps(document({"/pets": {"get": operation(summary="Pets")}})))
    entries = {"mcpServers": servers, "openapi": {"shop": {"document": "pets.json"}}}
    config.write_text(json.dumps(entries))
    both = run("search", "select:bank__pay,shop__op,mail__send_email", "-c", config, "-c", catalog, "--json")
    assert [hit["name"] for hit in both.json["hits"]] == ["bank__pay", "shop__op", "mail__send_email"]


def test_a_search_needs_an_index_or_a_catalog_and_not_both(run: Run, catalog: Path, index: Path) -> None:
    for options in ((), ("-i", index, "-c", catalog)):
        refused = run("search", "send an email", *options)
        assert refused.code == 2
        assert "give an index (-i) or catalogs (-c), and not both" in refused.err


@pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="needs the extra 'sentence-transformers'"
)
def test_a_cross_encoder_reads_the_best_tools_once_more(run: Run, index: Path, tmp_path: Path) -> None:
    from tests.rerankers.tiny import build_tiny_cross_encoder

    (tmp_path / "cross").mkdir()
    build_tiny_cross_encoder(tmp_path / "cross")
    asked = ("search", "send an email", "-i", index, "--rerank", f"st:{tmp_path / 'cross'}", "--explain")
    found = run(*asked, "--json").json
    assert all("rerank" in hit["channels"] for hit in found["hits"])
    assert "rerank" in found["timings_ms"]
    assert "rerank" in run(*asked).out


def test_a_reranker_that_is_not_there_ends_the_command(run: Run, index: Path) -> None:
    done = run("search", "send an email", "-i", index, "--rerank", "acme")
    assert done.code == 4
    assert "Unknown reranker 'acme'" in done.err
