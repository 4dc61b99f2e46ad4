"""What search gains by learning from use, and what it loses, by replaying requests one after another.

    python -m benchmarks.usage_replay [--data DIR] [--queries N]

Each request is answered with what the ones before it have taught, and then teaches itself. Writes
benchmarks/results/tables/usage-replay.json.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.ablations import TABLES_FOLDER
from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, is_there, load_named
from benchmarks.embedding import RememberingEmbedder, make_embedder
from benchmarks.machine import describe_machine
from benchmarks.peers.comparison import sampled
from toolsearch.embedders.base import Vectors
from toolsearch.evaluation import metrics
from toolsearch.evaluation.bootstrap import mean_over_sets
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.evaluation.report import measured_versions
from toolsearch.exceptions import ToolSearchError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.fusion import NAME_WEIGHT, Channels
from toolsearch.retrieval.learned import learned_of
from toolsearch.retrieval.query import clean_query, searched_steps
from toolsearch.retrieval.ranking import Wording, rank
from toolsearch.retrieval.searcher import NOTHING_FITS_BELOW
from toolsearch.retrieval.teaching import can_compare
from toolsearch.retrieval.usage import LearnedUsage, UsageEvent
from toolsearch.retrieval.usage_score import UsageWeights
from toolsearch.tools import JsonObject

SETS = ("demo", *(f"{BENCH_PREFIX}{name}" for name in (
    "acebench", "apibank", "bfcl", "livemcpbench", "metatool", "nestful", "toolalpaca", "toolbench",
    "toollinkos", "tooltalk",
)))  # fmt: skip
"""All dev sets but the one whose tools are asked for hardly twice."""

UNSEEN_BY_ENCODER = frozenset({"demo", "bench/bfcl", "bench/livemcpbench"})
QUERIES = 500
FOUND = 10
"""A tool can be called, and so be learned, only where it was among so many hits."""

NEAR_DUPLICATE = 0.95
"""Cosine with an earlier request from which on a request is taken for the same one."""

MINUTES_APART = 10
SEED = 0
K = 10
LEAST = 20
"""A set with fewer requests of a kind is left out of the mean of that kind."""

KINDS = ("with a history", "without one", "repeated")


@dataclass(frozen=True)
class Arm:
    """A way to replay.

    Attributes:
        silent: Share of the tools that nobody ever tells anything of.
        wrong: Share of what is told that names another hit than a relevant one.
    """

    name: str
    weights: UsageWeights = field(default_factory=UsageWeights)
    silent: float = 0.5
    wrong: float = 0.0


DEFAULT = UsageWeights()
ARMS = (
    Arm("the default"),
    *(Arm(f"reach {reach}", replace(DEFAULT, reach=reach)) for reach in (1.0, 1.05, 1.2, 1.5)),
    *(Arm(f"floor {floor}", replace(DEFAULT, floor=floor)) for floor in (0.3, 0.5, 0.6)),
    *(Arm(f"prior {prior}", replace(DEFAULT, prior=prior)) for prior in (0.5, 2.0)),
    Arm("every tool is told of", silent=0.0),
    *(Arm(f"{wrong:.0%} of what is told is wrong", wrong=wrong) for wrong in (0.1, 0.2, 0.4)),
)


@dataclass(frozen=True)
class Request:
    """A request with its vector and what the other channels say of it; `vector` None where it is unread."""

    query: BenchQuery
    vector: Vectors | None
    channels: Channels


@dataclass(frozen=True)
class Replayed:
    """The requests of a set in the order in which they are replayed."""

    name: str
    index: ToolIndex
    dataset: Dataset
    requests: tuple[Request, ...]
    idle: Vectors

    @property
    def ids(self) -> Sequence[str]:
        return [self.dataset.id_of[name] for name in self.index.columns.names]


@dataclass(frozen=True)
class Change:
    """What learning changed for one request, in NDCG@10, recall@1, recall@5 and completeness@10."""

    kind: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    def of(self, measure: int) -> float:
        return self.after[measure] - self.before[measure]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the table; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.usage_replay", description="Replay requests.")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="DIR")
    parser.add_argument("--queries", type=int, default=QUERIES, metavar="N", help="the most of a set")
    parser.add_argument("--results", type=Path, default=TABLES_FOLDER, metavar="DIR")
    options = parser.parse_args(arguments)
    embedder = make_embedder("bundled")
    try:
        sets = [prepared(name, embedder, options) for name in SETS if is_there(name, options.data)]
    except ToolSearchError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2
    options.results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(table(sets, embedder), indent=1, ensure_ascii=False)
    (options.results / "usage-replay.json").write_text(f"{text}\n", encoding="utf-8")
    return 0


def prepared(name: str, embedder: RememberingEmbedder, options: argparse.Namespace) -> Replayed:
    """A set in a seeded order, which stands in for time: no set says when its requests were made."""
    whole = load_named(name, options.data)
    dataset = sampled(whole, options.queries)
    index = ToolIndex.build(dataset.catalog, embedder)
    order = sorted(dataset.queries, key=lambda query: _drawn("order", query.id))
    requests = tuple(_request(index, query, embedder) for query in order)
    idle = embedder.embed_queries([clean_query(query.text)[0] for query in whole.queries if not query.gold])
    print(f"prepared {name}", flush=True)
    return Replayed(name, index, dataset, requests, idle)


def replay(one: Replayed, arm: Arm) -> tuple[list[Change], LearnedUsage]:
    """What learning changed for each request that some tool serves, and what was learned in the end."""
    now = [0.0]
    usage = LearnedUsage(weights=arm.weights, clock=lambda: now[0])
    rng = random.Random(SEED)  # noqa: S311 - it only has to be the same each time
    ids, row_of = one.ids, {tool_id: row for row, tool_id in enumerate(one.ids)}
    silent = {row for row, tool_id in enumerate(ids) if _drawn("silent", tool_id) < arm.silent}
    digests = one.index.columns.document_digests
    told: set[int] = set()
    past = np.zeros((len(one.requests), one.index.vectors.dim), dtype=np.float32)
    changes = []
    for number, request in enumerate(one.requests):
        now[0] += MINUTES_APART * 60
        gold = {row_of[tool_id] for tool_id in request.query.gold}
        served = {row_of[tool_id] for tool_id in request.query.served_by if tool_id in row_of}
        before = _best(request.channels)
        after = before
        if request.vector is not None:
            after = _best(_with_usage(request, one.index, usage))
            repeated = number > 0 and float((past[:number] @ request.vector).max()) >= NEAR_DUPLICATE
            kind = KINDS[2] if repeated else KINDS[0] if gold & told else KINDS[1]
            past[number] = request.vector
            changes.append(Change(kind, _figures(before, request, ids), _figures(after, request, ids)))
        for row in sorted(gold):
            if request.vector is None or row not in after[:FOUND]:
                continue
            taught = row
            others = [hit for hit in after[:FOUND] if hit not in served]
            if rng.random() < arm.wrong and others:
                taught = rng.choice(others)
            if taught in silent:
                continue
            name = one.index.columns.names[taught]
            session = f"session {number}"
            usage.learn(
                UsageEvent(name, digests[taught], "succeeded", request.vector, session_id=session, at=now[0])
            )
            if taught == row:
                told.add(row)
    return changes, usage


def table(sets: Sequence[Replayed], embedder: RememberingEmbedder) -> JsonObject:
    """Each arm over the sets, then the default set by set."""
    rows = []
    default: dict[str, list[Change]] = {}
    for arm in ARMS:
        print(f"replaying: {arm.name}", flush=True)
        changes = {one.name: replay(one, arm)[0] for one in sets}
        if arm == ARMS[0]:
            default = changes
        rows.append([arm.name, *_row(changes)])
    for name, changes_of_set in default.items():
        own = {name: changes_of_set}
        rows.append([f"the default on {name.removeprefix(BENCH_PREFIX)}", *_row(own, least=1)])
    return {
        "title": "Learning from use",
        "text": _text(sets),
        "command": "python -m benchmarks.usage_replay",
        "embedder": embedder.id,
        "machine": describe_machine(),
        "versions": measured_versions(),
        "columns": [
            "replay",
            "requests with a history",
            "their NDCG@10",
            "recall@1",
            "recall@5",
            "requests without one",
            "their NDCG@10",
            "recall@1",
            "recall@5",
            "repeated requests",
            "their NDCG@10",
        ],
        "rows": rows,
    }


def _row(changes: Mapping[str, Sequence[Change]], *, least: int = LEAST) -> list[str | int]:
    row: list[str | int] = []
    for kind, measures in zip(KINDS, ((0, 1, 2), (0, 1, 2), (0,)), strict=True):
        of_kind = [[c for c in by_set if c.kind == kind] for by_set in changes.values()]
        least_of_kind = least if kind != KINDS[2] else 1
        of_kind = [by_set for by_set in of_kind if len(by_set) >= least_of_kind]
        row.append(sum(map(len, of_kind)))
        row += [_points([[c.of(m) for c in by_set] for by_set in of_kind]) for m in measures]
    return row


def _points(columns: Sequence[Sequence[float]]) -> str:
    if not columns:
        return ""
    found = mean_over_sets(columns, seed=SEED)
    return "{:+.1f} [{:+.1f}, {:+.1f}]".format(
        *(100 * value + 0.0 for value in (found.mean, found.low, found.high))
    )


def _text(sets: Sequence[Replayed]) -> str:
    weights = UsageWeights()
    return (
        f"At most {max(len(one.requests) for one in sets)} dev requests of each of {len(sets)} sets, in a "
        "seeded order that stands in for time, each in a session of its own. A request is answered with what "
        f"those before it have taught; then its relevant tools count as called if they are among the {FOUND} "
        "hits. Half of the tools, drawn by seed, are silent: nobody ever tells anything of them, so their "
        "requests are *without a history* and show what the others take from them. A request is *repeated* "
        f"where an earlier one has a cosine of {NEAR_DUPLICATE} or more with it; these are counted apart. "
        "Figures are gains in points over no learning, means over sets with at least "
        f"{LEAST} such requests, with 95 % intervals. The default is a floor of {weights.floor}, a reach of "
        f"{weights.reach} and a prior of {weights.prior:g}, chosen on these requests. The encoder was "
        "trained on the requests of all sets but "
        f"{', '.join(sorted(name.removeprefix(BENCH_PREFIX) for name in UNSEEN_BY_ENCODER))}, which leaves "
        f"less to gain on the others. {_idle_text(sets)}"
    )


def _idle_text(sets: Iterable[Replayed]) -> str:
    """How many requests that nothing serves look as if past ones served them."""
    n_idle, n_sure = 0, 0
    for one in sets:
        if not len(one.idle):
            continue
        _, usage = replay(one, Arm("every tool is told of", silent=0.0))
        for vector in one.idle:
            n_idle += 1
            support = max(usage.supports(vector[None, :], "").values(), default=0.0)
            n_sure += support >= NOTHING_FITS_BELOW
    return (
        f"Of {n_idle} requests that nothing serves, {n_sure} had enough support in the end not to be told "
        "that nothing fits."
    )


def _request(index: ToolIndex, query: BenchQuery, embedder: RememberingEmbedder) -> Request:
    text, steps = clean_query(query.text)[0], searched_steps(query.text)
    vectors = embedder.embed_queries([text, *steps])
    wordings = [Wording(s, v, embedder.reads(s)) for s, v in zip(steps, vectors[1:], strict=True)]
    found = rank(index, text, vectors[0], None, steps=wordings, reads=embedder.reads(text))
    vector = vectors[0] if can_compare(embedder, text) else None
    by_row = found.channels.taken(np.argsort(found.rows, kind="stable"))
    return Request(query, vector, by_row)


def _with_usage(request: Request, index: ToolIndex, usage: LearnedUsage) -> Channels:
    """The channels with what past requests add; rows that no other channel puts forward have its least."""
    assert request.vector is not None
    learned = learned_of(usage, index, request.vector[None, :], tenant="", allowed=None)
    if learned is None:
        return request.channels
    new = np.setdiff1d(learned.rows, request.channels.rows)
    return learned.lifted(_joined(request, index, new) if len(new) else request.channels)


def _joined(request: Request, index: ToolIndex, new: NDArray[np.int64]) -> Channels:
    channels = request.channels
    assert request.vector is not None
    lexical = index.lexicon.weigh(clean_query(request.query.text)[0]).of(new).astype(np.float64)
    dense = index.vectors.similarity(request.vector, new).astype(np.float64)
    rows = np.concatenate([channels.rows, new])
    order = np.argsort(rows, kind="stable")
    lift = None if channels.lift is None else np.concatenate([channels.lift, np.zeros(len(new))])[order]
    return Channels(
        rows[order],
        np.concatenate([channels.dense, dense])[order],
        np.concatenate([channels.lexical, lexical])[order],
        np.concatenate([channels.name, np.zeros(len(new))])[order],
        channels.reads,
        lift,
    )


def _best(channels: Channels) -> list[int]:
    """The best rows as a search ranks them."""
    scores = channels.learned() + NAME_WEIGHT * channels.name
    best: list[int] = channels.rows[np.argsort(-scores, kind="stable")[: max(K, FOUND)]].tolist()
    return best


def _figures(rows: Sequence[int], request: Request, ids: Sequence[str]) -> tuple[float, ...]:
    ranked, query = [ids[row] for row in rows], request.query
    other = query.alternatives
    return (
        metrics.ndcg_at_k(ranked, query.gold, K, alternatives=other),
        metrics.recall_at_k(ranked, query.gold, 1, alternatives=other),
        metrics.recall_at_k(ranked, query.gold, 5, alternatives=other),
        metrics.completeness_at_k(ranked, query.gold, K, alternatives=other),
    )


def _drawn(what: str, key: str) -> float:
    """A number from 0 to 1 that follows from `key` and the seed."""
    digest = sha256(f"{SEED} {what} {key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


if __name__ == "__main__":
    sys.exit(main())
