"""`toolsearch call`: one call of a tool of an MCP server or an OpenAPI document."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from tests.cli.conftest import Run
from tests.cli.test_process import toolsearch
from tests.sources.mcp.support import scripted, served, tools

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "mcp.json"
    servers = {
        "zoo": scripted(tools("feed", "raw", "big", "die", "error")),
        "bank": scripted(tools("pay", "feed")),
        "gone": {"command": "no-such-command-at-all"},
    }
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


def raw(*content: dict[str, Any], **more: Any) -> str:
    return json.dumps({"result": {"content": list(content), **more}})


def test_a_result_goes_to_standard_output(run: Run, config: Path) -> None:
    done = run("call", "zoo__feed", "--args", '{"animal": "Rex"}', "-c", config)
    assert (done.code, json.loads(done.out), done.err) == (0, {"animal": "Rex"}, "")
    assert run("call", "zoo__feed", "-c", config).out == "{}\n"


def test_arguments_come_from_standard_input(run: Run, config: Path) -> None:
    done = run("call", "bank/pay", "--args", "-", "-c", config, stdin='{"much": 7}')
    assert (done.code, done.json) == (0, {"much": 7})


def test_only_the_server_that_may_have_the_tool_is_started(run: Run, config: Path) -> None:
    """The one that cannot be started is not missed."""
    assert run("call", "bank__pay", "-c", config).err == ""


def test_tools_of_servers_with_another_prefix_or_none_are_found(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    servers = {
        "zoo": scripted(tools("feed"), settings={"prefix": "z"}),
        "bank": scripted(tools("z__pay", "feed"), settings={"prefix": ""}),
    }
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    for name in ("z__feed", "feed", "zoo/feed", "z__pay"):
        assert run("call", name, "-c", path).code == 0, name


def test_what_the_tool_says_of_its_failure_goes_to_standard_error(run: Run, config: Path) -> None:
    said = raw({"type": "text", "text": "The cage is empty."}, isError=True)
    done = run("call", "zoo__raw", "--args", said, "-c", config)
    assert (done.code, done.out, done.err) == (1, "", "The cage is empty.\n")
    shown = run("call", "zoo__raw", "--args", said, "-c", config, "--json")
    assert shown.code == 1
    assert shown.json == {
        "tool": "zoo__raw",
        "is_error": True,
        "content": [{"kind": "text", "text": "The cage is empty."}],
        "structured": None,
    }


@pytest.mark.parametrize(
    ("called", "code", "said"),
    [
        (("zoo__die", "{}"), 4, "ended the connection before it answered"),
        (("gone__pay", "{}"), 4, "there is no 'no-such-command-at-all'"),
        (("zoo__fed", "{}"), 2, "Unknown tool 'zoo__fed'. Did you mean 'zoo__feed'"),
        (("zoo__feed", "[1]"), 2, 'the arguments are one object, such as {"city": "Oslo"}'),
        (("zoo__feed", "{oops"), 2, "no JSON: "),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(
    run: Run, config: Path, called: tuple[str, str], code: int, said: str
) -> None:
    name, arguments = called
    done = run("call", name, "--args", arguments, "-c", config)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_a_name_that_two_servers_have_is_not_guessed(run: Run, config: Path) -> None:
    entries = json.loads(config.read_text())
    del entries["mcpServers"]["gone"]
    config.write_text(json.dumps(entries))
    assert run("call", "pay", "-c", config).code == 0
    done = run("call", "feed", "-c", config)
    assert done.code == 2
    assert "Did you mean 'bank__feed', 'zoo__feed'?" in done.err


def test_a_large_result_goes_whole_into_a_file(run: Run, config: Path, tmp_path: Path) -> None:
    large = json.dumps({"unit": "0123456789", "times": 20_000})
    cut = run("call", "zoo__big", "--args", large, "-c", config)
    assert "150,000 characters more were cut off" in cut.out
    output = tmp_path / "result.txt"
    done = run("call", "zoo__big", "--args", large, "-c", config, "-o", output)
    assert (done.code, done.out) == (0, "")
    assert done.err == f"{output}: 200,000 characters.\n"
    assert output.read_text() == "0123456789" * 20_000 + "\n"


def test_pictures_are_written_beside_the_file(run: Run, config: Path, tmp_path: Path) -> None:
    said = raw({"type": "image", "data": PIXEL, "mimeType": "image/png"})
    output = tmp_path / "result.txt"
    assert run("call", "zoo__raw", "--args", said, "-c", config, "-o", output).code == 0
    assert (tmp_path / "result.txt.1.png").read_bytes() == base64.b64decode(PIXEL)
    assert output.read_text() == "[image, image/png, 8 bytes]\n"


def test_an_operation_of_an_openapi_document_is_called(run: Run, tmp_path: Path) -> None:
    app = FastAPI(title="Pets", openapi_url="/openapi.json")

    @app.get("/pets/{name}", operation_id="find")
    async def find(name: str, loud: bool = False) -> dict[str, Any]:
        return {"name": name.upper() if loud else name, "long": "x" * 150_000 if name == "Long" else ""}

    with served(app) as url:
        document = tmp_path / "pets.json"
        document.write_text(json.dumps({**app.openapi(), "servers": [{"url": url}]}))
        config = tmp_path / "mcp.json"
        entry = {"document": "pets.json", "server": url}
        config.write_text(json.dumps({"openapi": {"shop": entry}}))
        arguments = '{"name": "Rex", "loud": true}'
        done = run("call", "shop__find", "--args", arguments, "-c", config)
        assert (done.code, done.json) == (0, {"name": "REX", "long": ""})
        # From a URL the document is of the service itself.
        at_url = run("call", "pets__find", "--args", arguments, "-c", f"{url}/openapi.json")
        assert (at_url.code, at_url.json) == (0, {"name": "REX", "long": ""})
        output = tmp_path / "long.json"
        assert run("call", "find", "--args", '{"name": "Long"}', "-c", config, "-o", output).code == 0
        assert len(json.loads(output.read_text())["long"]) == 150_000
        refused = run("call", "find", "-c", config)
        assert refused.code == 2
        assert "'name' is a required property" in refused.err


def test_a_shell_completes_sources_and_the_beginnings_of_tools(config: Path) -> None:
    import click

    from toolsearch.cli.completion import source_names, tool_names

    context = click.Context(click.Command("call"))
    context.params = {"config": [str(config)]}
    assert list(tool_names(context, "z")) == ["zoo__"]
    assert list(source_names(context, "")) == ["zoo", "bank", "gone"]
    entries = json.loads(config.read_text(encoding="utf-8"))
    entries["mcpServers"]["zoo"]["toolsearch"] = {"prefix": "animals"}
    entries["mcpServers"]["bank"]["toolsearch"] = {"prefix": ""}
    config.write_text(json.dumps(entries), encoding="utf-8")
    assert list(tool_names(context, "")) == ["animals__", "gone__"]
    context.params = {"config": [str(config.with_name("none.json"))]}
    assert list(source_names(context, "")) == []
    config.write_text("{")
    context.params = {"config": [str(config)]}
    assert list(source_names(context, "")) == []


def test_a_shell_gets_what_it_may_offer(config: Path) -> None:
    """From the process that its completion script starts."""
    words = f"toolsearch call --config {config} zo"
    done = toolsearch(_TOOLSEARCH_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD="4")
    assert (done.returncode, done.stdout.split()) == (0, ["zoo__"])
