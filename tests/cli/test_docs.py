"""docs/cli.md says what is so."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.conftest import Run
from toolsearch.cli import app
from toolsearch.cli.errors import ExitCode
from toolsearch.lint import RULES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ toolsearch (.+)$", TEXT, re.MULTILINE)


def test_every_example_runs(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "indexes").symlink_to(ROOT / "indexes")
    monkeypatch.chdir(tmp_path)
    assert len(COMMANDS) > 10
    for command in COMMANDS:
        done = run(*shlex.split(command))
        assert (done.code, done.err.startswith("Error")) == (0, False), command


def test_what_an_example_prints_is_what_the_docs_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the embedder of the package; times aside."""
    (tmp_path / "indexes").symlink_to(ROOT / "indexes")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLSEARCH_CACHE_DIR", str(tmp_path / "cache"))
    shown = re.findall(r"^\$ toolsearch (.+)\n((?:[^$`].*\n)+)", TEXT, re.MULTILINE)
    assert len(shown) >= 3
    for command, output in shown:
        done = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
        assert _timeless(output) in _timeless(done.stdout), command


def test_the_example_of_sources_and_calls_prints_what_the_docs_show(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the server of docs/mcp.md; times aside."""
    pytest.importorskip("mcp", reason="needs the extra mcp")
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    (server,) = re.findall(r"write_text\(\'{3}\n(.*?)\'{3}\)", page, re.DOTALL)
    (tmp_path / "notes.py").write_text(server, encoding="utf-8")
    # What is called python there is the one that runs here.
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```text\n(toolsearch sources add.*?)```", TEXT, re.DOTALL)
    shown = re.findall(r"^toolsearch (.+)\n((?:(?!toolsearch).*\n)+)", example, re.MULTILINE)
    assert len(shown) == 5
    for command, output in shown:
        done = run(*shlex.split(command))
        # A longer time makes its column wider.
        assert _timeless(done.out).split() == _timeless(output).split(), command


def _timeless(text: str) -> str:
    return re.sub(r"[0-9.]+ s\b|\b\d+\.\d(?=  )", "T s", text)


def test_every_command_has_an_example() -> None:
    shown = {" ".join(word for word in command.split()[:2]) for command in COMMANDS}
    for name in ("index build", "index update", "index info", "index verify", "catalog convert", "demo"):
        assert name in shown
    assert {"search", "eval", "tokens", "lint"} <= {command.split()[0] for command in COMMANDS}


def test_every_rule_is_listed_with_its_severity() -> None:
    listed = dict(re.findall(r"^\| `([a-z-]+)` \| (error|warning|info)", TEXT, re.MULTILINE))
    assert listed == {rule.code: rule.severity for rule in RULES}


def test_every_exit_code_is_listed() -> None:
    listed = {int(code) for code in re.findall(r"^\| ([0-4]) \|", TEXT, re.MULTILINE)}
    assert listed == set(ExitCode)
