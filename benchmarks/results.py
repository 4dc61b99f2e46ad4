"""What the conditions leave behind: one JSON file each, with all that the figures depend on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.data import BENCH_PREFIX
from benchmarks.machine import describe_machine
from toolsearch.evaluation.bootstrap import Interval, mean_over_sets
from toolsearch.evaluation.report import EvaluationReport, measured_versions
from toolsearch.tools import JsonObject

RESULTS = Path(__file__).with_name("results")
QUALITY = RESULTS / "quality"

REFERENCE = "hybrid"
"""The condition that all others are compared with, query by query."""

COMPARED = ("recall@1", "recall@5", "completeness@10", "ndcg@10")

# The seed of every interval in the results.
SEED = 0

Reports = Mapping[str, EvaluationReport]
"""The reports of one condition by data set."""


def condition_result(name: str, reports: Reports, reference: Reports | None) -> JsonObject:
    """The result of a condition: every data set, the mean over the bench sets, and `reference` minus it."""
    first = next(iter(reports.values()))
    result: JsonObject = {
        "condition": name,
        "command": f"python -m benchmarks.reproduce --condition {name}",
        "retriever": first.settings.retriever_id,
        "embedder": first.settings.embedder_id,
        "k": first.settings.k,
        "seed": SEED,
        "machine": describe_machine(),
        "versions": measured_versions(),
        "over_sets": over_sets(reports),
    }
    if reference is not None and reference is not reports:
        result[f"{REFERENCE}_minus_this"] = against(reference, reports)
    result["datasets"] = {dataset: _of_dataset(report) for dataset, report in reports.items()}
    return result


def over_sets(reports: Reports) -> JsonObject:
    """The means over the bench sets, each set with the same weight, and their intervals; {} without any."""
    sets = {name: report for name, report in reports.items() if name.startswith(BENCH_PREFIX)}
    if not sets:
        return {}
    first = next(iter(sets.values()))
    intervals = {
        measure: mean_over_sets(
            [list(report.scores[measure].values()) for report in sets.values()], seed=SEED
        )
        for measure in first.means
    }
    return {
        "sets": sorted(sets),
        **{measure: round(interval.mean, 6) for measure, interval in intervals.items()},
        "ci95": {measure: [round(i.low, 6), round(i.high, 6)] for measure, i in intervals.items()},
    }


def against(reference: Reports, other: Reports, measures: Sequence[str] = COMPARED) -> JsonObject:
    """`reference` minus `other` with paired 95 % intervals, over the bench sets and on each data set.

    Only queries that both answered count, and only data sets that both have.
    """
    shared = [name for name in reference if name in other]
    sets = [name for name in shared if name.startswith(BENCH_PREFIX)]
    result: JsonObject = {"datasets": {name: {} for name in shared}}
    for measure in measures:
        columns = {name: _differences(reference[name], other[name], measure) for name in shared}
        if sets:
            result.setdefault("over_sets", {})[measure] = _bounds(
                mean_over_sets([columns[name] for name in sets], seed=SEED)
            )
        for name, column in columns.items():
            result["datasets"][name][measure] = _bounds(mean_over_sets([column], seed=SEED))
    return result


def write_result(result: JsonObject, folder: Path = QUALITY) -> Path:
    """Write a condition's result under its name; the path."""
    path = folder / f"{result['condition']}.json"
    write_json(result, path)
    return path


def write_json(result: JsonObject, path: Path) -> None:
    """Write what was measured, into a folder that is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_results(folder: Path = QUALITY) -> dict[str, JsonObject]:
    """The results in `folder` by condition, sorted."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return {result["condition"]: result for result in results}


def _differences(first: EvaluationReport, second: EvaluationReport, measure: str) -> list[float]:
    ours, theirs = first.scores[measure], second.scores[measure]
    return [ours[query] - theirs[query] for query in ours if query in theirs]


def _bounds(interval: Interval) -> list[float]:
    return [round(value, 6) for value in (interval.mean, interval.low, interval.high)]


def _of_dataset(report: EvaluationReport) -> JsonObject:
    stated_once = ("dataset", "retriever", "embedder", "k", "seed", "versions")
    return {key: value for key, value in report.to_json(timings=False).items() if key not in stated_once}
