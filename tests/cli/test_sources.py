"""`toolsearch sources`: what a configuration has, whether it works, and entries that come and go."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.sources.mcp.support import a_tool, scripted, served
from tests.sources.openapi.documents import document

ENTRY = {"command": "uvx", "args": ["-q", "mcp-server-time"]}


def configured(tmp_path: Path, servers: dict[str, Any], **more: Any) -> Path:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers, **more}, indent=2), encoding="utf-8")
    return path


def answers(status: int) -> Any:
    """An application that answers everything with a status."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return app


def test_the_list_says_what_there_is_and_shows_no_secret(run: Run, tmp_path: Path) -> None:
    config = configured(
        tmp_path,
        {
            "time": ENTRY,
            "off": {"url": "https://me:hunter22@a.example.com/mcp?api_key=abc123def", "disabled": True},
            "odd": {"command": "a", "url": "b"},
        },
        openapi={"pets": {"document": "pets.yaml"}},
    )
    listed = run("sources", "list", "-c", config)
    assert [line.split()[:2] for line in listed.out.splitlines()[1:]] == [
        ["time", "stdio"],
        ["off", "auto"],
        ["odd", "unusable"],
        ["pets", "openapi"],
    ]
    assert "disabled" in listed.out
    assert "uvx -q mcp-server-time" in listed.out
    assert "hunter22" not in listed.out
    assert "abc123def" not in listed.out
    rows = run("sources", "list", "-c", config, "--json").json
    assert rows[0] == {"name": "time", "kind": "stdio", "what": "uvx -q mcp-server-time", "is_enabled": True}


def test_a_configuration_that_is_not_there_says_how_to_make_one(run: Run, tmp_path: Path) -> None:
    listed = run("sources", "list", "-c", tmp_path / "none.json")
    assert listed.code == 2
    assert "toolsearch sources add NAME" in listed.err


def test_without_a_file_here_the_one_of_the_gateway_is_meant_and_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, here = tmp_path / "settings", tmp_path / "here"
    for folder, name in ((kept, "kept"), (here, "own")):
        folder.mkdir()
        configured(folder, {name: ENTRY})
    monkeypatch.setenv("TOOLSEARCH_CONFIG_DIR", str(kept))
    monkeypatch.chdir(here)
    own = run("sources", "list")
    assert ("own" in own.out, "kept" in own.out, own.err) == (True, False, "")
    (here / "mcp.json").unlink()
    other = run("sources", "list")
    assert "kept" in other.out
    assert other.err == f"There is no mcp.json here; this is about {kept / 'mcp.json'}.\n"
    # Where neither is there, a new one is made here.
    (kept / "mcp.json").unlink()
    assert run("sources", "add", "time", "--yes", "--", "uvx", "mcp-server-time").code == 0
    assert (here / "mcp.json").exists()


def test_a_check_reports_every_source_and_what_to_do(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pets.json").write_text(
        json.dumps(document({"/pets": {"get": {"operationId": "list", "summary": "List"}}}))
    )
    quitter = scripted()
    quitter["args"] = ["-S", "-c", "import sys; sys.exit('no token, no server')"]
    with served(answers(401)) as url:
        config = configured(
            tmp_path,
            {
                "zoo": scripted([a_tool("feed"), a_tool("bad", inputSchema="oops")]),
                "npx": {"command": "npx-that-is-not-there"},
                "quitter": quitter,
                "locked": {"url": f"{url}/mcp", "type": "http"},
                "unset": {"command": "node", "env": {"KEY": "${NOBODY_HAS_SET_THIS}"}},
            },
            openapi={"pets": {"document": "pets.json"}, "lost": {"document": "lost.json"}},
        )
        done = run("sources", "check", "-c", config)
        assert done.code == 1
        rows = {row["source"]: row for row in run("sources", "check", "-c", config, "--json").json}
    assert [(name, row["works"], row["tools"]) for name, row in rows.items()] == [
        ("zoo", True, 1),
        ("npx", False, 0),
        ("quitter", False, 0),
        ("locked", False, 0),
        ("unset", False, 0),
        ("pets", True, 1),
        ("lost", False, 0),
    ]
    assert [issue["tool"] for issue in rows["zoo"]["issues"]] == ["bad"]
    assert rows["quitter"]["last_words"] == ["no token, no server"]
    assert f"run: {shlex.join([quitter['command'], *quitter['args']])}" in rows["quitter"]["hint"]
    assert rows["npx"]["reason"].startswith("cannot be started: there is no 'npx-that-is-not-there'")
    assert "whole path" in rows["npx"]["hint"]
    assert "answered 401" in rows["locked"]["reason"]
    assert "Bearer ${TOKEN}" in rows["locked"]["hint"]
    assert "NOBODY_HAS_SET_THIS is not set. Set it" in rows["unset"]["reason"]
    assert "cannot be read" in rows["lost"]["reason"]
    assert "2 of 7 sources work: 2 tools" in done.out
    assert "  | no token, no server" in done.out
    assert "  Hint: Give it what it asks for" in done.out
    assert "error: tool 'bad'" in done.err


@pytest.mark.parametrize(
    ("entry", "reason", "hint"),
    [
        ({"command": "uvx", "args": ["x"], "cwd": "/nowhere"}, "there is no", "Install uv|whole path"),
        ({"url": "http://127.0.0.1:1/mcp"}, "cannot be reached", "Check that it is running"),
        ({"url": "ftp://127.0.0.1/mcp"}, "neither http nor https", "Begin its url with https"),
        ({"status": 404}, "answered 404", "Check the path of its url"),
        ({"status": 403}, "answered 403", "Use credentials that may do this"),
        ({"status": 503}, "HTTP status 503", "It fails by itself"),
        (scripted(silent="tools/list"), "gave no answer to tools/list", "run it once by hand"),
    ],
)
def test_each_kind_of_failure_has_its_hint(
    run: Run, tmp_path: Path, entry: dict[str, Any], reason: str, hint: str
) -> None:
    import re

    with served(answers(entry.get("status", 200))) as url:
        if "status" in entry:
            entry = {"url": f"{url}/mcp", "type": "http"}
        config = configured(tmp_path, {"it": entry})
        (row,) = run("sources", "check", "-c", config, "--timeout", "3", "--json").json
    assert reason in row["reason"]
    assert re.search(hint, row["hint"])


def test_a_check_of_some_starts_no_others(run: Run, tmp_path: Path) -> None:
    config = configured(tmp_path, {"zoo": scripted([a_tool("feed")]), "gone": {"command": "not-there"}})
    done = run("sources", "check", "zoo", "-c", config)
    assert (done.code, done.out.splitlines()[-1]) == (0, "1 of 1 source works: 1 tool")
    refused = run("sources", "check", "zo", "-c", config)
    assert refused.code == 2
    assert "there is no source 'zo'" in refused.err


def test_what_is_added_is_shown_and_the_rest_stays(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{\n    "mcpServers": {"a": {"url": "https://a.example.com"}},\n    "theme":"dark"\n}\n')
    added = run(
        "sources", "add", "time", "-c", path, "--yes", "--env", "TZ=${TZ:-UTC}", "--",
        "uvx", "-q", "mcp-server-time", "--local-timezone=UTC",
    )  # fmt: skip
    assert added.code == 0
    entry = {
        "command": "uvx",
        "args": ["-q", "mcp-server-time", "--local-timezone=UTC"],
        "env": {"TZ": "${TZ:-UTC}"},
    }
    assert json.loads(added.err.partition("\n")[2]) == entry
    assert path.read_text() == (
        '{\n    "mcpServers": {"a": {"url": "https://a.example.com"}, "time": '
        + json.dumps(entry)
        + '},\n    "theme":"dark"\n}\n'
    )
    removed = run("sources", "remove", "a", "-c", path, "--yes")
    assert removed.code == 0
    assert json.loads(path.read_text()) == {"mcpServers": {"time": entry}, "theme": "dark"}


def test_servers_at_urls_and_documents_are_added_too(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    token = "Authorization: Bearer ${TOKEN}"
    url = "https://a.example.com/mcp"
    assert run("sources", "add", "a", "--url", url, "--header", token, "-c", path, "--yes").code == 0
    more = ("--openapi", "pets.yaml", "--server", "https://b.example.com")
    assert run("sources", "add", "pets", *more, "-c", path, "--yes").code == 0
    assert json.loads(path.read_text()) == {
        "mcpServers": {"a": {"url": url, "headers": {"Authorization": "Bearer ${TOKEN}"}}},
        "openapi": {"pets": {"document": "pets.yaml", "server": "https://b.example.com"}},
    }
    taken = run("sources", "add", "a", "--url", url, "-c", path, "--yes")
    assert taken.code == 2
    assert "has a source 'a'. Give --replace" in taken.err
    assert run("sources", "add", "a", "--openapi", "a.json", "--replace", "-c", path, "--yes").code == 0
    assert [row["kind"] for row in run("sources", "list", "-c", path, "--json").json] == [
        "openapi",
        "openapi",
    ]


def test_a_secret_is_written_and_not_shown(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    added = run("sources", "add", "a", "-c", path, "--yes", "--env", "KEY=hunter22", "--", "server")
    assert json.loads(path.read_text())["mcpServers"]["a"]["env"] == {"KEY": "hunter22"}
    assert "hunter22" not in added.err + added.out
    assert "It holds a secret. Better to write ${VAR}" in added.err


def test_no_secret_among_the_arguments_of_a_command_is_shown(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "abcdef3")
    command = ("notes", "--api-key", "abcdef1", "--token=abcdef2", "--verbose", "on", "--token", "${TOKEN}")
    path = tmp_path / "mcp.json"
    added = run("sources", "add", "a", "-c", path, "--yes", "--", *command)
    assert json.loads(path.read_text())["mcpServers"]["a"]["args"] == list(command[1:])
    listed = run("sources", "list", "-c", path, "--json")
    checked = run("sources", "check", "-c", configured(tmp_path, {"a": quitting(*command[1:])}), "--json")
    shown = "notes --api-key [hidden] --token=[hidden] --verbose on --token '${TOKEN}'"
    assert listed.json[0]["what"] == shown
    assert shown.removeprefix("notes ") in checked.json[0]["hint"]
    for done in (added, listed, checked):
        assert "abcdef" not in done.out + done.err


def quitting(*args: str) -> dict[str, Any]:
    """A server that ends at once."""
    return {"command": sys.executable, "args": ["-S", "-c", "", *args]}


def test_nothing_is_written_without_consent(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    refused = run("sources", "add", "a", "-c", path, "--url", "https://a.example.com")
    assert refused.code == 2
    assert "there is nobody to ask. Give --yes" in refused.err
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a",), "give one of COMMAND, --url and --openapi"),
        (("a", "--url", "https://x.example.com", "--", "node"), "give one of COMMAND"),
        (("a", "--env", "secret", "--", "node"), "one of them is no NAME=VALUE"),
        ((" ", "--", "node"), "a server has a blank name"),
        ((" ", "--openapi", "x.json"), "its name is blank"),
    ],
)
def test_what_cannot_be_meant_is_not_written(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    path = tmp_path / "mcp.json"
    refused = run("sources", "add", "-c", path, "--yes", *arguments)
    assert refused.code == 2
    assert said in refused.err
    assert not path.exists()


def test_a_source_that_is_not_there_is_not_removed(run: Run, tmp_path: Path) -> None:
    config = configured(tmp_path, {"calendar": ENTRY})
    refused = run("sources", "remove", "calender", "-c", config, "--yes")
    assert refused.code == 2
    assert "Did you mean 'calendar'?" in refused.err


def test_what_there_is_none_of_is_said(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {}}')
    sources = run("sources", "list", "-c", config)
    assert (sources.code, sources.out, "has no sources" in sources.err) == (0, "", True)
    empty = tmp_path / "trust.json"
    empty.write_text(json.dumps({"format": "toolsearch-trust", "version": 1, "sources": {}}))
    trust = run("trust", "list", "--file", empty)
    assert (trust.code, trust.out, "No tools are known yet" in trust.err) == (0, "", True)
