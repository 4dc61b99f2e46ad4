"""What tuning gains on sets that it never saw: each set, by an encoder trained without it.

    python -m benchmarks.left_out train --encoders DIR [--data DIR] [--steps N]
    python -m benchmarks.left_out measure --encoders DIR [--data DIR]

Trains one encoder for each of `FOLDS`, as `benchmarks.train_encoder` does, on the queries of all sets but
those of the fold; what is done already is kept. `measure` writes benchmarks/results/tables/left-out.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import train_encoder
from benchmarks.ablations import TABLES_FOLDER
from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, load_named
from benchmarks.embedding import RememberingEmbedder, make_embedder
from benchmarks.machine import describe_machine
from benchmarks.peers.comparison import sampled
from benchmarks.results import write_json
from toolsearch.embedders.tuned import TunedEmbedder, is_tuned_folder
from toolsearch.evaluation.datasets import Dataset
from toolsearch.evaluation.report import EvaluationReport, measured_versions
from toolsearch.evaluation.retrievers import make_retriever
from toolsearch.evaluation.runner import evaluate
from toolsearch.exceptions import ToolSearchError
from toolsearch.tools import JsonObject

FOLDS = (
    ("acebench", "toolalpaca", "toollinkos"),
    ("apibank", "metatool", "nestful"),
    ("sealtools", "toolbench", "tooltalk"),
)
"""The sets that are left out together: every set that is trained on is in one of them."""

STEPS = 150
QUERIES_PER_SET = 1000
SEVERAL = 1.5
"""A set has several relevant tools a query from this mean on."""

COLUMNS = {
    "dense, NDCG@10": ("dense", "ndcg@10"),
    "dense, completeness@10": ("dense", "completeness@10"),
    "default, NDCG@10": ("hybrid", "ndcg@10"),
    "default, completeness@10": ("hybrid", "completeness@10"),
}
"""Retriever and measure of what the table shows, before and after."""


@dataclass(frozen=True)
class Gain:
    """A set before and after, in the order of `COLUMNS`."""

    name: str
    queries: int
    gold_per_query: float
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def gains(self) -> tuple[float, ...]:
        return tuple(after - before for before, after in zip(self.before, self.after, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Train or measure as the command line says; the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.action == "train":
            return max(
                _train(options.encoders / f"fold{i}", fold, options) for i, fold in enumerate(FOLDS, start=1)
            )
        table = measure(options.encoders, options.data)
    except ToolSearchError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2
    write_json(table, options.results / "left-out.json")
    return 0


def measure(encoders: Path, data: Path) -> JsonObject:
    """The table of all sets that are in a fold."""
    plain = make_embedder("minilm")
    found = [
        measured_gain(load_named(BENCH_PREFIX + name, data), plain, RememberingEmbedder(tuned))
        for i, fold in enumerate(FOLDS, start=1)
        for tuned in [TunedEmbedder(encoders / f"fold{i}")]
        for name in fold
    ]
    found.sort(key=lambda gain: gain.name)
    several = [gain for gain in found if gain.gold_per_query >= SEVERAL]
    settings = json.loads((encoders / "fold1" / "tuning.json").read_text(encoding="utf-8"))["settings"]
    return {
        "title": "Sets left out of training",
        "text": (
            "Each set by an encoder that was trained without its queries, and without those of two more: "
            f"{'; '.join(map(', '.join, FOLDS))} were left out together. Trained like the bundled encoder,"
            f" for {settings['steps']} steps of {settings['batch_pairs']} pairs with seed "
            f"{settings['seed']}. At most {QUERIES_PER_SET:,} queries a set. *Several* are the sets with "
            f"{SEVERAL} relevant tools a query or more."
        ),
        "command": "python -m benchmarks.left_out train --encoders DIR && "
        "python -m benchmarks.left_out measure --encoders DIR",
        "machine": describe_machine(),
        "versions": measured_versions(),
        "columns": ["set", "queries", *(part for name in COLUMNS for part in (name, "tuned", "gain"))],
        "rows": [
            *(_row(gain) for gain in found),
            _row(_mean("mean", found)),
            _row(_mean("mean of several", several)),
        ],
    }


def measured_gain(dataset: Dataset, plain: RememberingEmbedder, tuned: RememberingEmbedder) -> Gain:
    """The measures of `COLUMNS` with the plain encoder and with the tuned one."""
    asked = sampled(dataset, QUERIES_PER_SET)
    before, after = (
        {
            name: evaluate(make_retriever(name, dataset.catalog, embedder), asked)
            for name in {name for name, _ in COLUMNS.values()}
        }
        for embedder in (plain, tuned)
    )
    gold = sum(len(query.gold) for query in asked.queries) / len(asked.queries)
    name = dataset.name.removeprefix(BENCH_PREFIX)
    print(f"measured {name}", flush=True)
    return Gain(name, len(asked.queries), gold, _figures(before), _figures(after))


def _figures(reports: dict[str, EvaluationReport]) -> tuple[float, ...]:
    return tuple(reports[name].means[measure] for name, measure in COLUMNS.values())


def _mean(name: str, gains: Sequence[Gain]) -> Gain:
    def over(columns: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
        return tuple(sum(column) / len(column) for column in zip(*columns, strict=True))

    queries = sum(gain.queries for gain in gains)
    return Gain(name, queries, 0.0, over([g.before for g in gains]), over([g.after for g in gains]))


def _row(gain: Gain) -> list[str | int | float]:
    row: list[str | int | float] = [gain.name, gain.queries]
    for before, after, change in zip(gain.before, gain.after, gain.gains, strict=True):
        row += [round(before, 4), round(after, 4), f"{100 * change:+.1f}"]
    return row


def _train(folder: Path, left_out: Sequence[str], options: argparse.Namespace) -> int:
    if is_tuned_folder(folder):
        return 0
    print(f"without {', '.join(left_out)}", flush=True)
    arguments = ["-o", str(folder), "--data", str(options.data), "--steps", str(options.steps), "--resume"]
    return train_encoder.main([*arguments, "--leave-out", *left_out])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.left_out", description="Leave sets out.")
    parser.add_argument("action", choices=("train", "measure"))
    parser.add_argument("--encoders", type=Path, required=True, metavar="DIR", help="where they are kept")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="DIR")
    parser.add_argument("--results", type=Path, default=TABLES_FOLDER, metavar="DIR")
    parser.add_argument("--steps", type=int, default=STEPS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
