"""What the HTTP service costs over the search in it, and what it does with more than it can answer.

    python -m benchmarks.service [--tools 10000] [--sizes 1000 10000 100000] [--data FOLDER] [--only PART ...]

Needs the extras ``bench`` and ``server``, and the bench catalogs. Tools are those of
benchmarks/scale_catalog.py, queries the dev queries of the bench sets, cut to their first `QUERY_WORDS`
words: as long as those that a model writes for a search tool. The service is ``toolsearch serve`` in a
process of its own with its default settings, the load comes from another one (benchmarks/service_load.py), so
that the service, what loads it and whatever else runs share the cores. What is compared ran in turn within
one run: ratios hold on a busy machine where times do not.

Parts:

latency   Search at 16 connections, each with one request at a time, against 16 threads that call
          `ToolSearcher.search` in one process, on the same queries in the same order. p99 over p99.
overload  What 16 connections got answered a second is the sustainable load. Then twice that rate arrives
          whatever becomes of it: every answer must be a 200, or a 429 with ``Retry-After``.
batch     64 searches in one request against 64 requests, one after another over one connection.
memory    100,000 requests of all kinds, or as many as fit into `MEMORY_S` seconds, new sessions and changes
          of the catalog among them: resident memory after a tenth of them, and after all.
start     From starting the process to ready, against a process that imports the package and loads the index.
sizes     Memory, latency and throughput at several catalog sizes, for docs/operations.md.
proxy     What the model proxy adds over what a plain pass-through adds; see benchmarks/service_proxy.py.

About 25 minutes. Writes benchmarks/results/service.json after each part; parts that are not asked for stay as
they were measured before.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.data import DEFAULT_DATA
from benchmarks.machine import describe_machine
from benchmarks.results import RESULTS
from benchmarks.scale_catalog import read_queries
from benchmarks.service_process import Serving, loaded, step
from benchmarks.service_proxy import proxied
from toolsearch.evaluation.report import measured_versions
from toolsearch.tools import JsonObject

CALLERS = 16
REPEATS = 5
BATCH_REPEATS = 15
SECONDS = 8.0
QUERY_WORDS = 8
BATCH = 64
OVER = 2.0
MEMORY_REQUESTS = 100_000
MEMORY_S = 400.0
WARM_UP_S = 3.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description="Measure the service.")
    parser.add_argument(
        "--tools", type=int, default=10_000, metavar="N", help="catalog of all parts but sizes"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=(1000, 10_000, 100_000), metavar="N")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="FOLDER", help="bench catalogs")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=tuple(PARTS), metavar="PART")
    parser.add_argument("--indexes", type=Path, metavar="FOLDER", help="where indexes are kept between runs")
    parser.add_argument("--results", type=Path, default=RESULTS / "service.json", metavar="FILE")
    options = parser.parse_args(arguments)
    results = json.loads(options.results.read_text(encoding="utf-8")) if options.results.is_file() else {}
    with tempfile.TemporaryDirectory() as scratch:
        measured = Measured(options.indexes or Path(scratch), options)
        for name in options.only:
            print(name, flush=True)
            part = {"tools": options.tools, **PARTS[name](measured), "machine": describe_machine()}
            print(json.dumps(part, indent=1), flush=True)
            results = {
                **results,
                "command": "python -m benchmarks.service",
                "versions": measured_versions(),
                "queries": len(measured.queries),
                "query_words": QUERY_WORDS,
                name: part,
            }
            options.results.parent.mkdir(parents=True, exist_ok=True)
            options.results.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


class Measured:
    """The indexes and queries of a run."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.options = options
        self.queries = [" ".join(query.split()[:QUERY_WORDS]) for query in read_queries(options.data)]
        self._folder = folder

    def index(self, tools: int | None = None) -> Path:
        """The folder of an index of so many tools, built when it is first asked for."""
        n = tools or self.options.tools
        path = self._folder / f"tools-{n}"
        if not path.exists():
            step("build", path, "--tools", str(n), "--data", str(self.options.data.resolve()))
        return path

    @property
    def searches(self) -> list[tuple[str, str, Any]]:
        return [("POST", "/v1/search", {"queries": query}) for query in self.queries]


def latency(measured: Measured) -> JsonObject:
    """p99 over HTTP against p99 in process, in turn."""
    inside, over_http = [], []
    for _ in range(REPEATS):
        inside.append(_inside(measured))
        with Serving(measured.index()) as service:
            loaded(service, measured.searches, connections=CALLERS, seconds=WARM_UP_S)
            over_http.append(loaded(service, measured.searches, connections=CALLERS, seconds=SECONDS))
    ratios = [http["p99_ms"] / own["p99_ms"] for http, own in zip(over_http, inside, strict=True)]
    return {
        "callers": CALLERS,
        "in_process": _middle(inside),
        "http": _middle(over_http),
        "p99_ratios": [round(ratio, 3) for ratio in ratios],
        "p99_ratio": round(median(ratios), 3),
        "throughput_ratio": round(_of(over_http, "answers_per_s") / _of(inside, "answers_per_s"), 3),
        "failures": sum(sum(run["failures"].values()) for run in over_http),
    }


def overload(measured: Measured) -> JsonObject:
    """What becomes of twice as many requests as can be answered."""
    with Serving(measured.index()) as service:
        loaded(service, measured.searches, connections=CALLERS, seconds=WARM_UP_S)
        sustained = loaded(service, measured.searches, connections=CALLERS, seconds=SECONDS)
        rate = OVER * sustained["answers_per_s"]
        over = loaded(service, measured.searches, connections=4000, seconds=2 * SECONDS, rate=rate)
        after = loaded(service, measured.searches, connections=CALLERS, seconds=SECONDS)
    refused = over["statuses"].get("429", 0)
    errors = sum(n for status, n in over["statuses"].items() if status not in {"200", "429"})
    return {
        "sustained": sustained,
        "rate_per_s": round(rate, 1),
        "over": over,
        "refused_share": round(refused / over["requests"], 3),
        "errors": errors + over["refused_without_retry_after"] + sum(over["failures"].values()),
        "answered_over_sustained": round(over["answers_per_s"] / sustained["answers_per_s"], 3),
        "after_over_before": round(after["answers_per_s"] / sustained["answers_per_s"], 3),
    }


def batch(measured: Measured) -> JsonObject:
    """Searches a second in batches and one by one, over one connection, in turn."""
    searches = [{"queries": query} for query in measured.queries[: len(measured.queries) // BATCH * BATCH]]
    batches: list[tuple[str, str, Any]] = [
        ("POST", "/v1/search/batch", {"searches": searches[begin : begin + BATCH]})
        for begin in range(0, len(searches), BATCH)
    ]
    singles: list[tuple[str, str, Any]] = [("POST", "/v1/search", search) for search in searches]
    one, many = [], []
    with Serving(measured.index()) as service:
        loaded(service, singles, connections=1, seconds=WARM_UP_S)
        for _ in range(BATCH_REPEATS):
            one.append(
                loaded(service, singles, connections=1, seconds=60, total=len(singles))["answers_per_s"]
            )
            answered = loaded(service, batches, connections=1, seconds=60, total=2 * len(batches))
            many.append(BATCH * answered["answers_per_s"])
    ratios = [over / single for over, single in zip(many, one, strict=True)]
    return {
        "batch": BATCH,
        "single_per_s": round(median(one), 1),
        "batched_per_s": round(median(many), 1),
        "ratios": [round(ratio, 2) for ratio in ratios],
        "ratio": round(median(ratios), 2),
    }


def memory(measured: Measured) -> JsonObject:
    """Resident memory as requests of all kinds are answered."""
    mix = _mix(measured)
    with Serving(measured.index(), "--database", "service.db") as service:
        ready_mb = service.rss_mb
        sizes: list[float] = []
        done, took_s = 0, 0.0
        failures = 0
        for _ in range(10):
            run = loaded(
                service,
                mix,
                connections=CALLERS,
                seconds=MEMORY_S / 10,
                total=MEMORY_REQUESTS // 10,
                first=done,
            )
            done, took_s = done + run["requests"], took_s + run["seconds"]
            failures += sum(run["failures"].values())
            failures += sum(n for status, n in run["statuses"].items() if int(status) >= 500)
            sizes.append(service.rss_mb)
    return {
        "requests": done,
        "seconds": round(took_s, 1),
        "failures": failures,
        "ready_mb": ready_mb,
        "rss_mb": sizes,
        "grown_mb": round(sizes[-1] - sizes[0], 1),
        "grown_share": round(sizes[-1] / sizes[0] - 1, 4),
    }


def _mix(measured: Measured) -> list[tuple[str, str, Any]]:
    """A thousand requests, mostly cheap ones, so that many fit into the time.

    One in 25 searches, half of these in a session that is new each time; two are batches, and one changes a
    tool.
    """
    cheap: list[tuple[str, str, Any]] = [
        ("GET", "/healthz", None),
        ("GET", "/v1/tools?limit=5", None),
        ("GET", "/v1/tools/no-such-tool", None),
        ("GET", "/v1/catalogs/default", None),
        ("POST", "/v1/search", {"queries": "select:no_such_tool"}),
        ("POST", "/v1/search", {"k": 0}),
        ("GET", "/no-such-path", None),
    ]
    mix = [cheap[i % len(cheap)] for i in range(1000)]
    for i in range(0, len(mix), 50):
        query = measured.queries[i % len(measured.queries)]
        mix[i] = ("POST", "/v1/sessions/memory-{n}/search", {"arguments": {"queries": [query]}})
        mix[i + 25] = ("POST", "/v1/search", {"queries": query})
    mix[10] = ("POST", "/v1/feedback", {"tool": "no_such_tool", "outcome": "called"})
    for i in (20, 520):
        batch = [{"queries": query} for query in measured.queries[i % 256 :][:16]]
        mix[i] = ("POST", "/v1/search/batch", {"searches": batch})
    mix[30] = (
        "PUT",
        "/v1/tools/memory__note",
        {"name": "note", "server": "memory", "description": "Note {n}."},
    )
    return mix


def start(measured: Measured) -> JsonObject:
    """From starting the process to ready, against import and load in a process, in turn."""
    ready, load = [], []
    for _ in range(REPEATS):
        load.append(step("load", measured.index())["seconds"])
        with Serving(measured.index()) as service:
            ready.append(service.ready_s)
    ratios = [served / own for served, own in zip(ready, load, strict=True)]
    return {
        "ready_s": round(median(ready), 2),
        "import_and_load_s": round(median(load), 2),
        "ratios": [round(ratio, 2) for ratio in ratios],
        "ratio": round(median(ratios), 2),
    }


def sizes(measured: Measured) -> JsonObject:
    """What a service of each size takes and gives."""
    rows = []
    for n in measured.options.sizes:
        with Serving(measured.index(n)) as service:
            ready_mb = service.rss_mb
            loaded(service, measured.searches, connections=1, seconds=WARM_UP_S)
            alone = loaded(service, measured.searches, connections=1, seconds=SECONDS)
            busy = loaded(service, measured.searches, connections=CALLERS, seconds=SECONDS)
            rows.append(
                {
                    "tools": n,
                    "ready_s": round(service.ready_s, 2),
                    "ready_mb": ready_mb,
                    "rss_mb": service.rss_mb,
                    "disk_mb": service.index_mb,
                    "one_connection": alone,
                    "connections": busy,
                }
            )
    return {"callers": CALLERS, "rows": rows}


def proxy(measured: Measured) -> JsonObject:
    """What the model proxy adds to a request without a search, over what a plain pass-through adds."""
    del measured
    return proxied()


PARTS: dict[str, Callable[[Measured], JsonObject]] = {
    part.__name__: part for part in (latency, overload, batch, memory, start, sizes, proxy)
}


def _inside(measured: Measured) -> JsonObject:
    given = json.dumps(measured.queries)
    return step("search", measured.index(), "--callers", str(CALLERS), "--seconds", str(SECONDS), given=given)


def _of(runs: Sequence[JsonObject], key: str) -> float:
    return float(median(run[key] for run in runs))


def _middle(runs: Sequence[JsonObject]) -> JsonObject:
    return {key: round(_of(runs, key), 2) for key in ("answers_per_s", "p50_ms", "p95_ms", "p99_ms")}


if __name__ == "__main__":
    sys.exit(main())
