"""Rerun the conditions of `conditions.yaml` and compare what comes out with what is expected.

    python -m benchmarks.reproduce [--condition NAME] [--data DIR]

Prints expected and measured scores and writes the result of each condition to benchmarks/results/quality/.
A data set that is not there is named and skipped.
Exit code 0: all that was measured is within tolerance; 1: a score is not; 2: a condition could not be run,
or no data set was there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.conditions import (
    CONDITIONS_FILE,
    Condition,
    Deviation,
    compare,
    read_conditions,
    write_conditions,
)
from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, is_there, load_named
from benchmarks.embedding import RememberingEmbedder, make_embedder
from benchmarks.results import QUALITY, REFERENCE, SEED, condition_result, over_sets, write_result
from benchmarks.retrievers import BY_WORDS_ALONE, make_named
from toolsearch.evaluation.datasets import Dataset
from toolsearch.evaluation.report import EvaluationReport
from toolsearch.evaluation.runner import evaluate
from toolsearch.exceptions import EvaluationError, ToolSearchError

EXPECTED_MEASURES = ("recall@5", "completeness@10", "ndcg@10")
SHOWN_MEASURES = ("recall@1", "recall@5", "recall@10", "completeness@10", "ndcg@10", "mrr")

K = 10


@dataclass
class Runs:
    """The reports of one invocation by condition and data set, and what they share."""

    data: Path
    console: Console
    reports: dict[str, dict[str, EvaluationReport]] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    _datasets: dict[str, Dataset] = field(default_factory=dict)
    _embedders: dict[str, RememberingEmbedder] = field(default_factory=dict)

    def run(self, name: str, condition: Condition) -> list[Deviation]:
        """Run a condition on each of its data sets that is there; what is expected next to the measured."""
        if condition.embedder not in self._embedders:
            self._embedders[condition.embedder] = make_embedder(condition.embedder)
        embedder = self._embedders[condition.embedder]
        deviations = []
        for dataset_name in condition.expected:
            if not is_there(dataset_name, self.data):
                self.skipped.add(dataset_name)
                continue
            if dataset_name not in self._datasets:
                self._datasets[dataset_name] = load_named(dataset_name, self.data)
            dataset = self._datasets[dataset_name]
            if condition.retriever not in BY_WORDS_ALONE:
                embedder.embed_queries([query.text for query in dataset.queries])
            retriever = make_named(condition.retriever, dataset.catalog, embedder)
            report = evaluate(
                retriever, dataset, k=K, seed=SEED, retriever_id=condition.retriever, embedder_id=embedder.id
            )
            self.reports.setdefault(name, {})[dataset_name] = report
            found = compare(condition, dataset_name, report.means)
            deviations += found
            self.console.print(_line(name, report, found))
        return deviations

    def write(self, folder: Path) -> None:
        """Write the result of every condition that was run."""
        for name, reports in self.reports.items():
            write_result(condition_result(name, reports, self.reports.get(REFERENCE)), folder)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; the exit code."""
    options = _parser().parse_args(arguments)
    console = Console(width=160)
    runs = Runs(options.data, console)
    try:
        conditions = read_conditions(options.conditions)
        chosen = _chosen(conditions, options.condition)
        deviations = [d for name, condition in chosen.items() for d in runs.run(name, condition)]
    except ToolSearchError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2
    if runs.skipped:
        print(_skipped(runs.skipped, options.data), file=sys.stderr)
    if not runs.reports:
        return 2
    _print_means(runs.reports, console)
    if not options.no_results:
        runs.write(options.results)
    if options.accept:
        write_conditions({**conditions, **_accepted(chosen, runs.reports)}, options.conditions)
        return 0
    if not deviations:
        console.print("No scores are expected of these conditions yet; --accept writes the measured ones.")
        return 0
    past = [deviation for deviation in deviations if not deviation.is_within]
    console.print(f"{len(deviations) - len(past)} of {len(deviations)} scores are within tolerance.")
    return 1 if past else 0


def _skipped(names: set[str], data: Path) -> str:
    folders = sorted(name for name in names if name.startswith(BENCH_PREFIX))
    parts = [f"skipped data sets that cannot be read here ({len(names)}):"]
    if folders:
        parts.append(f"{', '.join(folders)}: not under {data}; name their folder with --data")
    if "bfcl" in names:
        from benchmarks.loaders.bfcl import REQUIREMENT

        parts.append(f"bfcl: pip install --no-deps {REQUIREMENT}")
    return "\n  ".join(parts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduce",
        description="Rerun benchmark conditions and compare the scores.",
    )
    add = parser.add_argument
    add("--condition", action="append", metavar="NAME", help="only this one; may be repeated")
    add("--data", type=Path, default=DEFAULT_DATA, metavar="DIR", help="folder of the bench sets")
    add("--conditions", type=Path, default=CONDITIONS_FILE, metavar="FILE", help="another conditions file")
    add("--results", type=Path, default=QUALITY, metavar="DIR", help="where the results go")
    add("--no-results", action="store_true", help="write no results")
    add("--accept", action="store_true", help="make the measured scores the expected ones")
    return parser


def _chosen(conditions: Mapping[str, Condition], names: Sequence[str] | None) -> dict[str, Condition]:
    for name in names or ():
        if name not in conditions:
            raise EvaluationError(f"There is no condition {name!r}; there are {', '.join(conditions)}.")
    return {name: conditions[name] for name in names or conditions}


def _accepted(
    conditions: Mapping[str, Condition], reports: Mapping[str, Mapping[str, EvaluationReport]]
) -> dict[str, Condition]:
    accepted = {}
    for name, condition in conditions.items():
        measured = {
            dataset: {measure: round(report.means[measure], 4) for measure in EXPECTED_MEASURES}
            for dataset, report in reports.get(name, {}).items()
        }
        accepted[name] = condition.model_copy(update={"expected": {**condition.expected, **measured}})
    return accepted


def _line(name: str, report: EvaluationReport, deviations: Sequence[Deviation]) -> str:
    scores = [f"{measure} {report.means[measure]:.4f}" for measure in EXPECTED_MEASURES]
    if deviations:
        scores = [f"{d.measure} {d.measured:.4f} {_verdict(d)}" for d in deviations]
    errors = f"  [red]{len(report.errors)} errors[/red]" if report.errors else ""
    return f"{name:12} {report.dataset:20} {'  '.join(scores)}{errors}"


def _verdict(deviation: Deviation) -> str:
    expected = f"expected {deviation.expected:.4f}"
    return f"({expected})" if deviation.is_within else f"[red]({expected}: past tolerance)[/red]"


def _print_means(reports: Mapping[str, Mapping[str, EvaluationReport]], console: Console) -> None:
    table = Table(title="Means over the bench sets, each with the same weight")
    table.add_column("condition")
    table.add_column("sets", justify="right")
    for measure in SHOWN_MEASURES:
        table.add_column(measure, justify="right")
    for name, by_set in reports.items():
        means = over_sets(by_set)
        if means:
            scores = (f"{means[measure]:.3f}" for measure in SHOWN_MEASURES)
            table.add_row(name, str(len(means["sets"])), *scores)
    if table.row_count:
        console.print(table)


if __name__ == "__main__":
    sys.exit(main())
