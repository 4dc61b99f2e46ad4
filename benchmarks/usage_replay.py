"""What search gains by learning from use, and what it loses, by replaying requests one after another.

    python -m benchmarks.usage_replay [--data DIR] [--queries N]

Each request is answered with what the ones before it have taught, and then teaches itself. Writes
benchmarks/results/tables/usage-replay.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.ablations import TABLES_FOLDER
from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, is_there, load_named
from benchmarks.embedding import make_embedder
from benchmarks.machine import describe_machine
from benchmarks.replaying import FOUND, KINDS, NEAR_DUPLICATE, Arm, Change, Replayed, prepared, replay
from benchmarks.results import SEED, write_json
from toolsearch.evaluation.bootstrap import mean_over_sets
from toolsearch.evaluation.report import measured_versions
from toolsearch.exceptions import ToolSearchError
from toolsearch.retrieval.searcher import NOTHING_FITS_BELOW
from toolsearch.retrieval.usage_score import UsageWeights
from toolsearch.tools import JsonObject

SETS = ("demo", *(f"{BENCH_PREFIX}{name}" for name in (
    "acebench", "apibank", "bfcl", "livemcpbench", "metatool", "nestful", "toolalpaca", "toolbench",
    "toollinkos", "tooltalk",
)))  # fmt: skip
"""All dev sets but the one whose tools are asked for hardly twice."""

UNSEEN_BY_ENCODER = frozenset({"demo", "bench/bfcl", "bench/livemcpbench"})
QUERIES = 500
LEAST = 20
"""A set with fewer requests of a kind is left out of the mean of that kind."""

DEFAULT = UsageWeights()
ARMS = (
    Arm("the default"),
    *(Arm(f"reach {reach}", replace(DEFAULT, reach=reach)) for reach in (1.0, 1.1, 1.2, 1.5)),
    *(Arm(f"floor {floor}", replace(DEFAULT, floor=floor)) for floor in (0.3, 0.5, 0.6)),
    *(Arm(f"prior {prior}", replace(DEFAULT, prior=prior)) for prior in (0.5, 2.0)),
    Arm("every tool is told of", silent=0.0),
    *(Arm(f"{wrong:.0%} of what is told is wrong", wrong=wrong) for wrong in (0.1, 0.2, 0.4)),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the table; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.usage_replay", description="Replay requests.")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="DIR")
    parser.add_argument("--queries", type=int, default=QUERIES, metavar="N", help="the most of a set")
    parser.add_argument("--results", type=Path, default=TABLES_FOLDER, metavar="DIR")
    options = parser.parse_args(arguments)
    embedder = make_embedder("bundled")
    try:
        sets = []
        for name in SETS:
            if is_there(name, options.data):
                sets.append(prepared(load_named(name, options.data), embedder, at_most=options.queries))
                print(f"prepared {name}", flush=True)
    except ToolSearchError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2
    write_json(table(sets, embedder.id), options.results / "usage-replay.json")
    return 0


def table(sets: Sequence[Replayed], embedder_id: str) -> JsonObject:
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
        "embedder": embedder_id,
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
    return (
        f"At most {max(len(one.requests) for one in sets)} dev requests of each of {len(sets)} sets, in a "
        "seeded order that stands in for time, each in a session of its own. A request is answered with what "
        f"those before it have taught; then its relevant tools count as called if they are among the {FOUND} "
        "hits. Half of the tools, drawn by seed, are silent: nobody ever tells anything of them, so their "
        "requests are *without a history* and show what the others take from them. A request is *repeated* "
        f"where an earlier one has a cosine of {NEAR_DUPLICATE} or more with it; these are counted apart. "
        "Figures are gains in points over no learning, means over sets with at least "
        f"{LEAST} such requests, with 95 % intervals. The default is a floor of {DEFAULT.floor}, a reach of "
        f"{DEFAULT.reach} and a prior of {DEFAULT.prior:g}, chosen on these requests. The encoder was "
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


if __name__ == "__main__":
    sys.exit(main())
