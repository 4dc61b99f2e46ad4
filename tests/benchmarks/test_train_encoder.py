"""What the encoder is trained on, and what it is kept from."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra tune")

from benchmarks import train_encoder
from tests.tuning.tiny import build_tiny_model
from toolsearch.embedders.tuned import TunedEmbedder

TOOLS = {
    "refund": "Give a customer the money of an order back. Only whole orders can be paid back.",
    "weather": "Tell the weather of the next days in a town. Days that are over are not told.",
    "mail": "Send a message to a list of people by mail. They do not see each other.",
    "invoice": "Write an invoice for the hours of a project. Hours are rounded up.",
}
SCHEMA = {
    "type": "object",
    "properties": {"when": {"type": "string", "description": "A day, such as today."}},
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three sets with one tool in common: one to be asked, one to be told, one that is never trained on."""

    def write(name: str, *tools: str) -> None:
        folder = tmp_path / name
        folder.mkdir()
        records = [
            {
                "id": f"{name}:{tool}",
                "name": tool,
                "description": TOOLS[tool],
                "inputSchema": {"type": "object"},
            }
            for tool in tools
        ]
        queries = [{"id": tool, "query": f"{tool} please", "gold": [f"{name}:{tool}"]} for tool in tools]
        for file, lines in (("catalog.jsonl", records), ("queries.dev.jsonl", queries)):
            (folder / file).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    write("asked", "refund", "weather", "mail")
    write("told", "weather", "mail", "invoice")
    write("never", "weather")
    monkeypatch.setattr(train_encoder, "QUERIED", ("asked",))
    monkeypatch.setattr(train_encoder, "TOLD", ("told",))
    monkeypatch.setattr(train_encoder, "NEVER", ("bench/never",))
    return tmp_path


def test_a_tool_of_a_set_that_is_never_trained_on_is_kept_out_of_the_others(data: Path) -> None:
    asked, told = train_encoder.training_sources(data)
    assert [example.query for example in asked.examples] == ["refund please", "mail please"]
    assert sorted(tool.name for tool in told.tools) == ["invoice", "mail"]


def test_a_set_that_is_left_out_takes_its_tools_along(data: Path) -> None:
    (told,) = train_encoder.training_sources(data, leave_out=["asked"])
    assert [tool.name for tool in told.tools] == ["invoice"]


def test_the_command_writes_an_encoder(data: Path, tmp_path: Path) -> None:
    base, out = tmp_path / "base", tmp_path / "out"
    base.mkdir()
    build_tiny_model(base)
    words = ["--steps", "2", "--pairs", "3", "--rank", "2", "--layers", "1"]
    assert train_encoder.main(["-o", str(out), "--data", str(data), "--base", str(base), *words]) == 0
    assert TunedEmbedder(out).id.startswith("toolsearch-minilm@")
