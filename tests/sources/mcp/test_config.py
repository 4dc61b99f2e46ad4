"""Configurations of servers: what is read, expanded and refused; environments and logs of their processes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.sources.mcp.support import call, scripted, servers, text_of, tools, until
from toolsearch.exceptions import McpConfigError
from toolsearch.sources.mcp.child_log import ChildLog
from toolsearch.sources.mcp.config import McpServerConfig, is_mcp_config, read_mcp_config
from toolsearch.sources.mcp.environment import child_environment
from toolsearch.sources.mcp.expansion import MissingVariableError, expanded
from toolsearch.sources.mcp.lines import LineSplitter, LongLine
from toolsearch.sources.mcp.servers import McpServers


def one(entry: Any) -> McpServerConfig:
    (config,) = read_mcp_config({"mcpServers": {"a": entry}})
    return config


def test_a_file_of_another_client_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "claude_desktop_config.json"
    path.write_text(
        json.dumps(
            {
                "theme": "dark",
                "mcpServers": {
                    "files": {
                        "command": "npx",
                        "args": ["-y", "server"],
                        "env": {"A": "b"},
                        "autoApprove": [],
                    },
                    "remote": {"url": "https://x.example/mcp", "headers": {"X": "${Y}"}},
                    "old": {"type": "sse", "url": "https://x.example/sse"},
                    "off": {"command": "x", "disabled": True},
                },
            }
        )
    )
    files, remote, old = read_mcp_config(path)
    assert (files.transport, files.command, files.args, files.env) == (
        "stdio",
        "npx",
        ("-y", "server"),
        {"A": "b"},
    )
    assert (remote.transport, remote.headers) == ("auto", {"X": "${Y}"})
    assert old.transport == "sse"


def test_the_form_of_vs_code_is_read_too() -> None:
    data = {"servers": {"a": {"type": "http", "url": "https://x.example"}}}
    assert is_mcp_config(data)
    assert [config.transport for config in read_mcp_config(data)] == ["http"]


@pytest.mark.parametrize(
    "data", [[], {"tools": []}, {"mcpServers": []}, {"servers": [{"url": "x"}]}, "mcpServers"]
)
def test_other_json_is_no_configuration(data: Any) -> None:
    assert not is_mcp_config(data)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({}, "needs a command to start or a url to reach"),
        ({"command": "x", "url": "https://x.example"}, "and not both"),
        ("npx", "it is the text 'npx'. Give an object"),
        ({"command": ["x"]}, "its command is a list. Give a text"),
        ({"command": "x", "args": "y"}, "its args is the text 'y'. Give a list of texts"),
        ({"command": "x", "env": {"KEY": 7}}, "its env 'KEY' is no text"),
        ({"command": "x", "type": "carrier-pigeon"}, "its type is 'carrier-pigeon'; it must be one of stdio"),
        ({"command": "x", "toolsearch": {"timeout": 5}}, "no setting 'timeout'. Did you mean 'timeout_s'"),
        ({"command": "x", "toolsearch": {"timeout_s": 0}}, "timeout_s is 0; it must be a number above 0"),
        ({"command": "x", "toolsearch": {"allow": "get_*"}}, "Give a list of texts"),
        ({"command": "x", "toolsearch": {"context": ["user"]}}, "context names 'user'"),
        (
            {"url": "https://x.example", "toolsearch": {"oauth": {"client_id": "x"}}},
            "oauth lacks client_secret, issuer",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_name_of_the_server(entry: Any, told: str) -> None:
    with pytest.raises(McpConfigError) as error:
        one(entry)
    assert error.value.server == "a"
    assert "'a'" in str(error.value)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "the file is empty"), ("{", ""), ("[1]", "no JSON object"), ("{}", "lists no servers")],
)
def test_a_file_that_is_no_configuration_is_named(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(McpConfigError, match=r"mcp\.json") as error:
        read_mcp_config(path)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a ${X} b", "a 1 b"),
        ("${X}${X}", "11"),
        ("${GONE:-two}", "two"),
        ("${EMPTY:-two}", "two"),
        ("${GONE:-}", ""),
        ("${EMPTY}", ""),
        ("$X ${} ${1} $$", "$X ${} ${1} $$"),
        ("${NESTED}", "${X}"),
    ],
)
def test_variables_are_put_in_once(text: str, value: str) -> None:
    assert expanded(text, {"X": "1", "EMPTY": "", "NESTED": "${X}"}) == value


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(MissingVariableError, match="TOKEN is not set"):
        expanded("Bearer ${TOKEN}", {})


def test_times_without_an_end_are_written_as_null() -> None:
    config = one({"command": "x", "toolsearch": {"idle_s": None, "tool_timeouts_s": {"slow_*": 600}}})
    assert config.settings.idle_s == math.inf
    assert (config.settings.timeout_of("slow_one"), config.settings.timeout_of("one")) == (600, 60)


def test_a_child_is_given_a_short_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-servers")
    monkeypatch.setenv("WANTED", "yes")
    entry = scripted(tools("env"), settings={"inherit_env": ["WANTED"]})
    with servers(a={**entry, "env": {"STATED": "${WANTED}"}}) as source:
        told = json.loads(text_of(call(source, "a", "env")))
    assert told["STATED"] == told["WANTED"] == "yes"
    assert "PATH" in told
    assert not {"OPENAI_API_KEY", "PYTEST_CURRENT_TEST"} & set(told)


def test_a_function_of_the_shell_is_not_handed_on() -> None:
    assert child_environment({"PATH": "/bin", "HOME": "() { x; }"}, {}) == {"PATH": "/bin"}


def test_standard_error_is_kept_without_secrets(tmp_path: Path) -> None:
    entry = scripted(tools("complain"))
    options = {"log_folder": tmp_path, "environment": {"TOKEN": "hunter2hunter2"}}
    source = McpServers.from_config({"mcpServers": {"a": {**entry, "env": {"T": "${TOKEN}"}}}}, **options)
    with source:
        call(source, "a", "complain", {"text": "no entry with hunter2hunter2 or password=opensesame"})
        until(lambda: bool(source.servers["a"].status.last_words))
        (said,) = source.servers["a"].status.last_words
        assert said == "no entry with *** or password=[hidden]"
        (file,) = tmp_path.iterdir()
        assert file.read_text() == f"{said}\n"


def test_a_log_is_rotated_and_never_larger_than_it_may_be(tmp_path: Path) -> None:
    log = ChildLog(tmp_path / "a.log", max_bytes=1_000, files_kept=2)
    for number in range(200):
        log.write(f"line {number:03} " + "x" * 40)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["a.log", "a.log.1", "a.log.2"]
    assert all(path.stat().st_size <= 1_000 for path in tmp_path.iterdir())
    assert (tmp_path / "a.log").read_text().splitlines()[-1].startswith("line 199")
    assert log.last().startswith("line 199")


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_lines_are_the_same_however_they_come(size: int) -> None:
    data = b"one\n\ntwo three\n" + b"x" * 50 + b"\nend\nrest"
    splitter = LineSplitter(20)
    lines = [
        line for start in range(0, len(data), size) for line in splitter.feed(data[start : start + size])
    ]
    assert [line for line in lines if isinstance(line, bytes)] == [b"one", b"", b"two three", b"end"]
    assert [line.n_bytes for line in lines if isinstance(line, LongLine)] == [50]


def test_a_log_that_cannot_be_written_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("no folder")
    log = ChildLog(tmp_path / "file" / "a.log")
    log.write("one")
    log.write("two")
    assert log.lines == ("one", "two")
    assert caplog.text.count("cannot be written and is given up") == 1
