"""The mean of several trainings lies between what they made and what they began with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.average_encoders import average, main
from tests.tuning.tiny import TOOLS
from toolsearch.embedders.tuned import TunedEmbedder
from toolsearch.tuning.encoder import load_encoder
from toolsearch.tuning.pairs import Example, tool_source
from toolsearch.tuning.settings import TuneSettings
from toolsearch.tuning.tune import tune

SETTINGS = TuneSettings(steps=2, rank=2, alpha=4, layers=2, batch_pairs=4, precision="fp32", threads=1)


@pytest.fixture(scope="module")
def runs(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two trainings of the tiny model with different seeds."""
    source = tool_source("tools", TOOLS).with_examples(
        Example(text, (row,)) for row, text in enumerate(["weather", "rain", "letter", "parcel", "meeting"])
    )
    folders = [tmp_path_factory.mktemp(f"run{seed}") for seed in (1, 2)]
    for seed, folder in enumerate(folders, start=1):
        tune([source], out=folder, base=tiny_model, settings=replace(SETTINGS, seed=seed))
    return folders


def test_all_of_one_run_is_that_run(tiny_model: Path, runs: list[Path]) -> None:
    alone = average({runs[0]: 3.0}, keep=1.0, base=str(tiny_model))
    expected = torch.from_numpy(TunedEmbedder(runs[0]).embed_documents(["get rain"]))
    torch.testing.assert_close(torch.from_numpy(alone.vectors(["get rain"], 16)), expected, atol=0.02, rtol=0)


def test_weights_are_means_of_the_changes(tiny_model: Path, runs: list[Path]) -> None:
    began = load_encoder(tiny_model, device="cpu", precision="fp32").model.state_dict()
    one, two = (average({run: 1.0}, keep=1.0, base=str(tiny_model)).model.state_dict() for run in runs)
    mean = average({runs[0]: 3.0, runs[1]: 1.0}, keep=0.8, base=str(tiny_model)).model.state_dict()
    changed = 0
    for name, value in began.items():
        expected = value + 0.8 * (0.75 * (one[name] - value) + 0.25 * (two[name] - value))
        torch.testing.assert_close(mean[name], expected)
        changed += not torch.equal(one[name], value)
    assert changed


def test_the_record_names_each_run_with_its_weight(
    tiny_model: Path, runs: list[Path], tmp_path: Path
) -> None:
    record = tmp_path / "encoder.json"
    folders = [f"{runs[0]}=3", str(runs[1])]
    arguments = ["-o", str(tmp_path / "out"), "--base", str(tiny_model), "--record", str(record), *folders]
    assert main(arguments) == 0
    found = json.loads(record.read_text(encoding="utf-8"))
    assert found["embedder_id"] == TunedEmbedder(tmp_path / "out").id
    assert [(run["name"], run["weight"]) for run in found["runs"]] == [
        (runs[0].name, 3.0),
        (runs[1].name, 1.0),
    ]
    assert str(tmp_path) not in record.read_text(encoding="utf-8")
