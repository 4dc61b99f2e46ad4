"""`toolsearch tune`: a folder that is an embedder and says what it gained, or a word on what is missing."""

import json
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, write
from tests.tuning.tiny import TOOLS, build_tiny_model
from toolsearch.catalog import tool_record
from toolsearch.cli import tuning
from toolsearch.embedders.static import StaticEmbedder
from toolsearch.embedders.tuned import TunedEmbedder

REQUESTS = {
    "sky.get_forecast": ("is the city sun", "what is the sun for my day", "list the sun"),
    "sky.get_rain": ("rain", "is my day rain", "what rain is for my city"),
    "post.send_mail": ("send the draft", "write my mail", "mail to the city"),
    "post.track_parcel": ("what is my parcel", "list my parcel", "is the order parcel"),
    "plan.create_event": ("list my meeting", "a calendar event", "create calendar day"),
    "bank.pay_invoice": ("money for the invoice", "pay my order", "pay"),
    "bank.refund_order": ("get my money", "refund", "what money is for my order"),
}


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="needs the extra tune")
    pytest.importorskip("onnx", reason="needs the extra tune")
    folder = tmp_path_factory.mktemp("tiny")
    build_tiny_model(folder)
    return folder


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    write(tmp_path / "tools.jsonl", [tool_record(tool) for tool in TOOLS])
    return tmp_path / "tools.jsonl"


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    """Three requests a tool, and one about a tool that is not there."""
    records: list[dict[str, Any]] = [
        {"id": f"{tool}-{i}", "query": text, "gold": [tool]}
        for tool, texts in REQUESTS.items()
        for i, text in enumerate(texts)
    ]
    write(tmp_path / "queries.jsonl", [*records, {"id": "x", "query": "x", "gold": ["gone"]}])
    return tmp_path / "queries.jsonl"


def test_a_tuned_folder_is_an_embedder_with_a_card(
    run: Run, tiny_model: Path, catalog: Path, queries: Path, tmp_path: Path
) -> None:
    out = tmp_path / "tuned"
    done = run(
        *("tune", catalog, "--queries", queries, "-o", out, "--base", tiny_model),
        *("--steps", 6, "--threads", 1, "--seed", 3, "--name", "acme", "--json"),
    )
    assert done.code == 0
    assert "1 query left out" in done.err
    assert "step 0 of 6" in done.err
    assert done.json["embedder_id"] == TunedEmbedder(out).id
    assert done.json["steps"] == 6
    assert done.json["held_out_queries"] == 6
    assert {gain["retriever"] for gain in done.json["gains"]} == {"dense", "hybrid"}
    assert json.loads((out / "tuning.json").read_text())["settings"]["seed"] == 3
    card = (out / "MODEL_CARD.md").read_text()
    for gain in done.json["gains"]:
        assert f"| {gain['retriever']} | {gain['measure']} | {gain['before']:.3f} |" in card
    assert not (out / "checkpoint.pt").exists()


def test_a_catalog_alone_can_be_tuned_on(run: Run, tiny_model: Path, catalog: Path, tmp_path: Path) -> None:
    out = tmp_path / "tuned"
    done = run(
        *("tune", catalog, "-o", out, "--base", tiny_model, "--steps", 3, "--threads", 1),
    )
    assert done.code == 0
    assert f"Embedder {TunedEmbedder(out).id}" in done.out
    assert done.out.strip().endswith(f"--embedder {out}")


def test_a_usage_log_is_trained_on(run: Run, tiny_model: Path, catalog: Path, tmp_path: Path) -> None:
    write(
        tmp_path / "usage.jsonl",
        [{"query": text, "tools": [tool]} for tool, texts in REQUESTS.items() for text in texts]
        + [{"query": "x", "tools": ["gone"]}],
    )
    done = run(
        *("tune", catalog, "--usage", tmp_path / "usage.jsonl", "-o", tmp_path / "tuned"),
        *("--base", tiny_model, "--steps", 2, "--threads", 1, "--held-out", 0),
    )
    assert done.code == 0
    assert "1 request of the log called no tool of the catalog." in done.err
    assert "21 pairs of queries" in done.err


def test_a_static_encoder_is_distilled_without_training(
    run: Run, tiny_model: Path, catalog: Path, tmp_path: Path
) -> None:
    """Of a folder that tune wrote; the catalog alone is read."""
    from toolsearch.tuning.encoder import load_encoder
    from toolsearch.tuning.export import export_encoder

    tuned, out = tmp_path / "tuned", tmp_path / "fast"
    encoder = load_encoder(tiny_model, precision="fp32", device="cpu")
    export_encoder(encoder, tuned, name="acme", check_texts=["get the weather"])
    done = run("tune", catalog, "-o", out, "--base", tuned, "--static", "--name", "fast", "--json")
    assert done.code == 0
    assert done.json["distilled_from"] == TunedEmbedder(tuned).id
    assert done.json["embedder_id"] == StaticEmbedder(out).id
    assert StaticEmbedder(out).dim == 32


def test_without_the_extra_it_says_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "find_spec", lambda name: None if name == "torch" else util.find_spec(name))
    done = run("tune", "catalog.jsonl", "-o", tmp_path / "out")
    assert done.code == 2
    assert "needs torch" in done.err
    assert "pip install 'toolsearch[tune]'" in done.err


def test_the_command_line_does_not_load_torch() -> None:
    code = "import sys, toolsearch.cli.tuning, toolsearch.tuning; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
