"""Sets that are left out of training: each once, and the table says what was gained on each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import left_out, train_encoder
from benchmarks.left_out import COLUMNS, FOLDS, Gain, main
from benchmarks.train_encoder import NEVER, QUERIED

TABLES = Path(left_out.__file__).parent / "results" / "tables"


def test_each_set_that_is_trained_on_is_left_out_once() -> None:
    assert sorted(name for fold in FOLDS for name in fold) == sorted(QUERIED)
    assert not set(QUERIED) & {name.removeprefix("bench/") for name in NEVER}


def test_training_leaves_out_the_sets_of_each_fold_and_keeps_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def train(arguments: list[str]) -> int:
        asked.append(arguments)
        folder = Path(arguments[arguments.index("-o") + 1])
        folder.mkdir(parents=True)
        (folder / "encoder.json").write_text("{}")
        return 0

    monkeypatch.setattr(train_encoder, "main", train)
    assert main(["train", "--encoders", str(tmp_path), "--steps", "7"]) == 0
    assert [tuple(a[a.index("--leave-out") + 1 :]) for a in asked] == list(FOLDS)
    assert {a[a.index("--steps") + 1] for a in asked} == {"7"}
    assert main(["train", "--encoders", str(tmp_path)]) == 0
    assert len(asked) == len(FOLDS)


def test_a_gain_is_what_came_after_less_what_was_before() -> None:
    gain = Gain("set", 2, 1.0, (0.5, 0.25, 0.75, 0.0), (0.75, 0.5, 0.5, 0.5))
    assert gain.gains == (0.25, 0.25, -0.25, 0.5)
    assert len(gain.gains) == len(COLUMNS)


def test_the_committed_table_reaches_what_tuning_set_out_to_reach() -> None:
    """On sets never seen: four points more in the mean, and no set a point worse."""
    table = json.loads((TABLES / "left-out.json").read_text(encoding="utf-8"))
    rows = {row[0]: row for row in table["rows"]}
    assert rows.keys() == {*QUERIED, "mean", "mean of several"}
    columns = table["columns"]
    dense, complete = columns.index("dense, NDCG@10"), columns.index("dense, completeness@10")
    fused = columns.index("default, NDCG@10")
    assert rows["mean"][dense + 1] - rows["mean"][dense] >= 0.04
    assert rows["mean of several"][complete + 1] - rows["mean of several"][complete] >= 0.05
    for name in QUERIED:
        assert rows[name][dense + 1] - rows[name][dense] > -0.01
        assert rows[name][fused + 1] - rows[name][fused] > -0.01
