"""Every peer and ours over the same queries of the same catalogs, and what is written of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from benchmarks.embedding import EMBEDDERS, VECTORS, DocumentsRemembered
from benchmarks.machine import describe_machine
from benchmarks.peers.process import PeerError, PeerProcess, SearchTimes, Timed
from benchmarks.peers.registry import PEERS, Peer
from benchmarks.results import REFERENCE, RESULTS, SEED, against, over_sets, write_json
from benchmarks.retrievers import BY_WORDS_ALONE, make_named
from toolsearch.embedders.base import Embedder
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.evaluation.report import EvaluationReport, measured_versions
from toolsearch.evaluation.runner import evaluate
from toolsearch.exceptions import EvaluationError
from toolsearch.tools import JsonObject

PEERS_RESULT = RESULTS / "peers.json"

UNTUNED = "untuned"

OURS: Mapping[str, tuple[str, str]] = {
    REFERENCE: (REFERENCE, "bundled"),
    UNTUNED: (REFERENCE, "minilm"),
    "plain-rrf": ("plain-rrf", "minilm"),
    "plain-dense": ("plain-dense", "minilm"),
    "plain-bm25": ("plain-bm25", "minilm"),
}
"""Our own entries of the comparison: a retriever and an embedder each.

`untuned` has the encoder that peers are given, so that it differs from them by nothing that was learned from
the queries of the sets.
"""

MEASURES = ("hit_rate@1", "recall@5", "completeness@5", "ndcg@10")

QUERIES_PER_SET = 200
K = 10

Say = Callable[[str], None]
Start = Callable[[Peer, Embedder | None], AbstractContextManager[PeerProcess]]


@dataclass
class Entry:
    """A retriever of the comparison: what it is, and its reports and times by data set."""

    about: JsonObject
    reports: dict[str, EvaluationReport] = field(default_factory=dict)
    times: dict[str, JsonObject] = field(default_factory=dict)


def sampled(dataset: Dataset, at_most: int = QUERIES_PER_SET, seed: int = SEED) -> Dataset:
    """The data set with `at_most` of its queries, those with relevant tools alone.

    Which ones follows from the seed and their ids, so it is the same for every retriever and in every
    process. They stay in the data set's order.
    """

    def key(query: BenchQuery) -> str:
        return sha256(f"{seed} {query.id}".encode()).hexdigest()

    drawn = sorted((query for query in dataset.queries if query.gold), key=key)[:at_most]
    chosen = {query.id for query in drawn}
    return replace(dataset, queries=tuple(query for query in dataset.queries if query.id in chosen))


def plain_minilm() -> Embedder:
    """The encoder for peers and plain baselines.

    Raises:
        EvaluationError: it is another one by now, so nothing would be plain about it.
    """
    embedder = EMBEDDERS["minilm"]()
    if not embedder.id.startswith("minilm-l6-int8@"):
        raise EvaluationError(f"Peers are compared with plain all-MiniLM-L6-v2, not with {embedder.id!r}.")
    return embedder


def run_ours(name: str, datasets: Iterable[Dataset], say: Say, *, vectors: Path = VECTORS) -> Entry:
    """One of `OURS` over the data sets."""
    retriever_name, embedder_name = OURS[name]
    embedder = plain_minilm() if embedder_name == "minilm" else EMBEDDERS[embedder_name]()
    kept = DocumentsRemembered(embedder, vectors)
    about: JsonObject = {"name": name, "title": f"ours: {name}", "ours": True, "status": "run"}
    about["embedder"] = None if retriever_name in BY_WORDS_ALONE else embedder.id
    entry = Entry(about)
    for dataset in datasets:
        started = time.perf_counter()
        retriever = Timed(make_named(retriever_name, dataset.catalog, kept), kept)
        ready_s = time.perf_counter() - started
        report = evaluate(retriever, dataset, k=K, depth=K, seed=SEED, retriever_id=name, strict=True)
        entry.reports[dataset.name] = report
        entry.times[dataset.name] = _times(retriever.times, ready_s)
        say(_line(name, report))
    return entry


def run_peer(
    name: str, datasets: Iterable[Dataset], start: Start | None, say: Say, *, vectors: Path = VECTORS
) -> Entry:
    """A peer over the data sets; `start` is None where it is not installed.

    A peer that fails has no figures at all: means over fewer sets than others have would mislead.
    """
    peer = PEERS[name]
    about: JsonObject = {"name": name, "title": peer.title, "ours": False, "package": peer.package}
    about |= {"usage": peer.usage, "embedder": None}
    if start is None:
        say(f"{name}: not run: not installed. Install it: python -m benchmarks.peers setup")
        return Entry({**about, "status": "not run", "reason": "not installed"})
    embedder = DocumentsRemembered(plain_minilm(), vectors) if peer.embeds else None
    about["embedder"] = embedder.id if embedder else None
    entry = Entry({**about, "status": "run"})
    set_name = "its start"
    try:
        with start(peer, embedder) as process:
            entry.about["versions"] = process.versions
            for dataset in datasets:
                set_name = dataset.name
                retriever = process.index(dataset.catalog, K)
                report = evaluate(retriever, dataset, k=K, depth=K, seed=SEED, retriever_id=name, strict=True)
                entry.reports[dataset.name] = report
                entry.times[dataset.name] = _times(retriever.times, retriever.ready_s)
                say(_line(name, report))
    except (PeerError, EvaluationError) as exc:
        say(f"{name}: not run: failed at {set_name}: {exc}")
        return Entry({**about, "status": "not run", "reason": f"failed at {set_name}"})
    return entry


def result(entries: Sequence[Entry], datasets: Sequence[Dataset], asked: Mapping[str, int]) -> JsonObject:
    """What benchmarks/results/peers.json holds; `asked` has the number of queries with relevant tools."""
    reference = next((e.reports for e in entries if e.about["name"] == REFERENCE), None)
    return {
        "command": "python -m benchmarks.peers run",
        "k": K,
        "seed": SEED,
        "queries_per_set": QUERIES_PER_SET,
        "machine": describe_machine(),
        "versions": measured_versions(),
        "sets": {
            dataset.name: {
                "tools": len(dataset.catalog),
                "queries": len(dataset.queries),
                "of": asked[dataset.name],
                "catalog_fingerprint": dataset.catalog.fingerprint,
            }
            for dataset in datasets
        },
        "retrievers": [_entry(entry, reference) for entry in entries],
    }


def write(found: JsonObject, path: Path = PEERS_RESULT) -> None:
    """Write the result."""
    write_json(found, path)


def _entry(entry: Entry, reference: Mapping[str, EvaluationReport] | None) -> JsonObject:
    if not entry.reports:
        return entry.about
    means = over_sets(entry.reports)
    shown = {"sets": means["sets"], **_figures(means)} if means else {}
    row: JsonObject = {**entry.about, "over_sets": shown}
    if reference is not None and reference is not entry.reports:
        row[f"{REFERENCE}_minus_this"] = against(reference, entry.reports, MEASURES)
    row["datasets"] = {
        name: {
            **_figures(report.to_json(timings=False)),
            **entry.times[name],
        }
        for name, report in entry.reports.items()
    }
    return row


def _figures(row: JsonObject) -> JsonObject:
    """The measures of the comparison and their intervals."""
    return {
        **{measure: row[measure] for measure in MEASURES},
        "ci95": {measure: row["ci95"][measure] for measure in MEASURES},
    }


def _times(searches: Sequence[SearchTimes], ready_s: float) -> JsonObject:
    counted = searches[1:]  # the first query is asked twice, once to warm up
    wall_ms = [search.wall_ms for search in counted]
    return {
        "own_cpu_ms_p50": _percentile([search.own_cpu_ms for search in counted], 50),
        "embedding_cpu_ms_p50": _percentile([search.embedding_cpu_ms for search in counted], 50),
        "query_ms_p50": _percentile(wall_ms, 50),
        "query_ms_p95": _percentile(wall_ms, 95),
        "ready_s": round(ready_s, 2),
    }


def _percentile(values: Sequence[float], percentile: float) -> float:
    return round(float(np.percentile(values, percentile)), 2)


def _line(name: str, report: EvaluationReport) -> str:
    scores = "  ".join(f"{measure} {report.means[measure]:.3f}" for measure in MEASURES)
    return f"{name:18} {report.dataset:20} {scores}"
