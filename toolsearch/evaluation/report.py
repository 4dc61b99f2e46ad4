"""What an evaluation found: every query's outcome, and the means over them with their intervals."""

from __future__ import annotations

import importlib.metadata
import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from toolsearch.evaluation import metrics
from toolsearch.evaluation.bootstrap import Interval, bootstrap_intervals
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.exceptions import EvaluationError
from toolsearch.tools import JsonObject

# The packages whose release can change a ranking or a time.
_MEASURED_PACKAGES = (
    "toolsearch",
    "bm25s",
    "faiss-cpu",
    "numpy",
    "onnxruntime",
    "PyStemmer",
    "sentence-transformers",
    "tokenizers",
)


@dataclass(frozen=True)
class QueryOutcome:
    """How one query went.

    Attributes:
        ranked: Ids of the data set, best first, as deep as was asked for.
        confidence: As the search states it; None where it does not.
        best_score: Score of the best hit; -inf where the search found nothing, None where it is not known.
        took_ms: Wall time of the search, embedding of the query included; None where it is not known.
        nothing_fits: The search said that no tool fits.
        error: Why the query could not be answered as asked; empty if it was. Errors are in no mean.
    """

    query: BenchQuery
    ranked: tuple[str, ...] = ()
    confidence: float | None = None
    best_score: float | None = None
    took_ms: float | None = None
    nothing_fits: bool = False
    error: str = ""


@dataclass(frozen=True)
class RunSettings:
    """What was run: `k` for the figures, `depth` of the rankings, the bootstrap's seed, and the names."""

    k: int = 10
    depth: int = 10
    seed: int = 0
    retriever_id: str = ""
    embedder_id: str = ""


@dataclass(frozen=True)
class Abstention:
    """How well "nothing fits" is told from a query that tools of the catalog answer.

    Attributes:
        auroc: See `metrics.auroc`; of the stated confidences, or of the best scores where no search states
            one; None where neither is known.
        unjudged: Queries without a stated confidence where others have one; they are not in the AUROC.
        abstained: Share of the unanswerable queries that were told that nothing fits.
        false_alarms: Share of the answerable queries that were.
    """

    answerable: int
    unanswerable: int
    auroc: float | None
    unjudged: int
    abstained: float
    false_alarms: float


@dataclass(frozen=True)
class EvaluationReport:
    """The outcomes of a data set's queries, in its order, and what follows from them.

    Means are over the queries that have gold tools and no error, each counted once. Measures are named as
    in the JSON: ``recall@1``, ``hit_rate@5``, ``completeness@10``, ``ndcg@10`` and ``mrr``, which looks at
    the first `k` ranks like all others.
    """

    dataset: str
    n_tools: int
    catalog_fingerprint: str
    settings: RunSettings
    outcomes: tuple[QueryOutcome, ...]
    group_of: Mapping[str, str] = field(default_factory=dict, repr=False)
    dropped: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @cached_property
    def scored(self) -> tuple[QueryOutcome, ...]:
        """The outcomes that the means are over."""
        return tuple(o for o in self.outcomes if o.query.gold and not o.error)

    @cached_property
    def errors(self) -> tuple[QueryOutcome, ...]:
        """The outcomes of queries that could not be answered as asked."""
        return tuple(o for o in self.outcomes if o.error)

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, float]]:
        """For each measure, its value by query id: what `paired_difference` takes."""
        return _by_measure(self.scored, self.settings.k, {})

    @cached_property
    def near_scores(self) -> Mapping[str, Mapping[str, float]]:
        """`scores` with each group of near-duplicates taken for one tool; empty without groups.

        Rankings are read as deep as they are, so that k different tools are left once groups are joined.
        """
        return _by_measure(self.scored, self.settings.k, self.group_of) if self.group_of else {}

    @cached_property
    def means(self) -> Mapping[str, float]:
        """The mean of each measure."""
        return _means(self.scores)

    @cached_property
    def near(self) -> Mapping[str, float]:
        """The mean of each measure with near-duplicates taken for one tool; empty without groups."""
        return _means(self.near_scores)

    @cached_property
    def intervals(self) -> Mapping[str, Interval]:
        """The 95 % bootstrap interval of each mean."""
        columns = {name: list(column.values()) for name, column in self.scores.items()}
        return bootstrap_intervals(columns, seed=self.settings.seed) if self.scored else {}

    @cached_property
    def kinds(self) -> Mapping[str, Mapping[str, float]]:
        """The means by kind of query, kinds sorted; empty where queries have none."""
        kinds = sorted({o.query.kind for o in self.scored})
        if kinds in ([], [""]):
            return {}
        members = {kind: [o for o in self.scored if o.query.kind == kind] for kind in kinds}
        return {
            kind: {"queries": len(some), **_means(_by_measure(some, self.settings.k, {}))}
            for kind, some in members.items()
        }

    @cached_property
    def abstention(self) -> Abstention | None:
        """None where all queries, or none, have an answer in the catalog."""
        asked = [o for o in self.outcomes if not o.error]
        empty = [o for o in asked if not o.query.gold]
        if not empty or not self.scored:
            return None
        stated = [[o.confidence for o in side if o.confidence is not None] for side in (self.scored, empty)]
        best = [[o.best_score for o in side if o.best_score is not None] for side in (self.scored, empty)]
        basis = stated if any(stated) else best
        return Abstention(
            answerable=len(self.scored),
            unanswerable=len(empty),
            auroc=metrics.auroc(*basis) if all(basis) else None,
            unjudged=len(self.scored) + len(empty) - sum(map(len, stated)) if any(stated) else 0,
            abstained=metrics.mean(o.nothing_fits for o in empty),
            false_alarms=metrics.mean(o.nothing_fits for o in self.scored),
        )

    def query_ms(self, percentile: float) -> float | None:
        """A percentile (0 to 100) of the searches' wall times; None where they are not known."""
        times = [o.took_ms for o in self.outcomes if o.took_ms is not None and not o.error]
        return float(np.percentile(times, percentile)) if times else None

    def to_json(self, *, timings: bool = True) -> JsonObject:
        """The report without the rankings, as JSON values in a fixed order.

        Without `timings` two runs of the same search over the same data are equal.
        """
        report: JsonObject = {
            "dataset": self.dataset,
            "tools": self.n_tools,
            "queries": len(self.outcomes),
            "scored": len(self.scored),
            "errors": len(self.errors),
            "dropped": len(self.dropped),
            "tools_left_out": len(self.left_out),
            **{name: round(value, 6) for name, value in self.means.items()},
        }
        if timings:
            report |= {f"query_ms_p{p}": _rounded(self.query_ms(p), 3) for p in (50, 95)}
        report["ci95"] = {name: [round(i.low, 6), round(i.high, 6)] for name, i in self.intervals.items()}
        if self.near:
            report["near"] = {name: round(value, 6) for name, value in self.near.items()}
        if self.kinds:
            report["kinds"] = {
                kind: {name: round(value, 6) for name, value in row.items()}
                for kind, row in self.kinds.items()
            }
        if self.abstention is not None:
            report["abstention"] = {
                "answerable": self.abstention.answerable,
                "unanswerable": self.abstention.unanswerable,
                "auroc": _rounded(self.abstention.auroc, 6),
                "unjudged": self.abstention.unjudged,
                "abstained": round(self.abstention.abstained, 6),
                "false_alarms": round(self.abstention.false_alarms, 6),
            }
        if self.errors:
            report["failed"] = [{"id": o.query.id, "error": o.error} for o in self.errors]
        report |= {
            "k": self.settings.k,
            "seed": self.settings.seed,
            "retriever": self.settings.retriever_id,
            "embedder": self.settings.embedder_id,
            "catalog_fingerprint": self.catalog_fingerprint,
            "versions": measured_versions(),
        }
        return report

    def write_run(self, path: Path | str) -> None:
        """Write the rankings as JSONL, ``{"id", "ranked": [tool ids]}`` in the data set's order and ids.

        A query that failed has an empty ranking and an ``"error"``. `score_run` reads the file back.
        """
        lines = []
        for outcome in self.outcomes:
            record: JsonObject = {"id": outcome.query.id, "ranked": list(outcome.ranked)}
            if outcome.error:
                record["error"] = outcome.error
            lines.append(_json_line(record))
        Path(path).write_bytes(b"".join(lines))


def _json_line(record: JsonObject) -> bytes:
    try:
        return json.dumps(record, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can carry
        return json.dumps(record).encode() + b"\n"


def make_report(
    dataset: Dataset, outcomes: Iterable[QueryOutcome], settings: RunSettings
) -> EvaluationReport:
    """The report of these outcomes of the data set's queries.

    Raises:
        EvaluationError: there are no queries, or every one is an error; says the first.
    """
    report = EvaluationReport(
        dataset=dataset.name,
        n_tools=len(dataset.catalog),
        catalog_fingerprint=dataset.catalog.fingerprint,
        settings=settings,
        outcomes=tuple(outcomes),
        group_of=dataset.group_of,
        dropped=dataset.dropped,
        left_out=dataset.left_out,
    )
    if not report.outcomes:
        raise EvaluationError(f"Data set {dataset.name!r} has no queries to score.")
    if len(report.errors) == len(report.outcomes):
        first = report.errors[0]
        raise EvaluationError(
            f"Every query of data set {dataset.name!r} failed; the first ({first.query.id!r}): {first.error}",
            ids=tuple(o.query.id for o in report.errors),
        )
    return report


def measured_versions() -> dict[str, str]:
    """The versions of Python and of the installed packages that can change a ranking or a time."""
    versions = {"python": platform.python_version()}
    for package in _MEASURED_PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _by_measure(
    outcomes: Sequence[QueryOutcome], k: int, group_of: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    columns: dict[str, dict[str, float]] = {}
    for outcome in outcomes:
        for name, value in _measures(outcome, k, group_of).items():
            columns.setdefault(name, {})[outcome.query.id] = value
    return columns


def _measures(outcome: QueryOutcome, k: int, group_of: Mapping[str, str]) -> dict[str, float]:
    ranked: Sequence[str] = outcome.ranked
    gold: Sequence[str] = outcome.query.gold
    alternatives: dict[str, list[str]] = {key: list(ids) for key, ids in outcome.query.alternatives.items()}
    if group_of:
        ranked = metrics.as_groups(ranked, group_of)
        joined: dict[str, list[str]] = {}
        for key, ids in alternatives.items():
            joined.setdefault(group_of.get(key, key), []).extend(metrics.as_groups(ids, group_of))
        gold, alternatives = metrics.as_groups(gold, group_of), joined
    measures: dict[str, float] = {}
    for name, measure, cutoffs in (
        ("recall", metrics.recall_at_k, (1, 3, 5, 10)),
        ("hit_rate", metrics.hit_rate_at_k, (1, 5, 10)),
        ("completeness", metrics.completeness_at_k, (5, 10)),
        ("ndcg", metrics.ndcg_at_k, (10,)),
    ):
        # A cutoff beyond k would be a figure of ranks that nobody asked for.
        for cutoff in sorted({*(c for c in cutoffs if c <= k), k}):
            measures[f"{name}@{cutoff}"] = measure(ranked, gold, cutoff, alternatives=alternatives)
    measures["mrr"] = metrics.reciprocal_rank(ranked[:k], gold, alternatives=alternatives)
    return measures


def _means(columns: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    return {name: metrics.mean(column.values()) for name, column in columns.items()}


def _rounded(value: float | None, digits: int) -> float | None:
    return value if value is None or math.isinf(value) else round(value, digits)
