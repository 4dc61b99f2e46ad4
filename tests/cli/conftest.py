"""Commands run in this process, with a hashing embedder in place of the model."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from typer.testing import CliRunner

from toolsearch.cli import app, embedding
from toolsearch.testing import HashingEmbedder

TOOLS: list[dict[str, Any]] = [
    {
        "name": "send_email",
        "server": "mail",
        "description": "Send an email to one or more people.",
        "input_schema": {
            "type": "object",
            "properties": {"to": {"type": "string", "description": "Whom to."}},
        },
        "tags": ["mail", "writing"],
        "read_only": False,
    },
    {
        "name": "search_emails",
        "server": "mail",
        "description": "Find emails by words, sender or date.",
        "input_schema": {"type": "object", "properties": {}},
        "tags": ["mail"],
        "read_only": True,
    },
    {
        "name": "events.create",
        "server": "cal",
        "description": "Create an event in a calendar.\nInvites people.",
        "input_schema": {"type": "object", "properties": {}},
        "tags": ["writing"],
    },
    {
        "name": "get_weather",
        "server": "geo",
        "description": "Weather forecast of a city for some days.",
        "input_schema": {"type": "object", "properties": {}},
        "read_only": True,
    },
]


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run: TypeAlias = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs `toolsearch` with these arguments and this standard input."""

    def load(spec: str = "hashing") -> HashingEmbedder:
        return HashingEmbedder(int(spec.partition("@")[2] or 256))

    monkeypatch.setattr(embedding, "load_embedder", load)
    monkeypatch.setenv("TOOLSEARCH_CACHE_DIR", str(tmp_path / "cache"))

    def run(*arguments: object, stdin: str = "") -> Outcome:
        done = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin, catch_exceptions=False)
        return Outcome(done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """A file of four tools on three servers."""
    path = tmp_path / "tools.jsonl"
    write(path, TOOLS)
    return path


@pytest.fixture
def index(run: Run, catalog: Path, tmp_path: Path) -> Path:
    """An index of `catalog`."""
    folder = tmp_path / "index"
    assert run("index", "build", catalog, "-o", folder).code == 0
    return folder


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
