"""Time, memory and recall with a thousand to a million tools.

    python -m benchmarks.scale [--sizes 1000 10000 50000 200000 1000000] [--data FOLDER]

Needs the extra ``bench`` and the bench catalogs. The tools are the 43,000 real ones of these catalogs and,
beyond, copies of them with other names and texts (see benchmarks/scale_catalog.py). The real ones are
embedded once, cut at 64 tokens to spare time, and kept under .cache/; the vectors of copies are noisy ones of
their originals (see benchmarks/scale_vectors.py). Queries are dev queries of the bench sets. Every figure
that another is compared with comes from the same process, so that ratios hold on a busy machine where times
do not.

On two idle cores: 5 minutes to embed the real tools where that was not done before, then about a minute for
each 40,000 tools, so an hour for the default. A million tools take 16 GB of memory while they are built, 5 GB
of disk, and 25 minutes. Writes benchmarks/results/scale.json after each size; sizes that are not asked for
stay as they were measured before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.data import DEFAULT_DATA, REPOSITORY
from benchmarks.embedding import VECTORS
from benchmarks.machine import describe_machine
from benchmarks.results import RESULTS
from toolsearch.evaluation.report import measured_versions
from toolsearch.tools import JsonObject

SIZES = (1000, 10_000, 50_000, 200_000, 1_000_000)
DOCUMENT_TOKENS = 64
REPEATS = 3
BUILT_ONCE_FROM = 40_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for and write the results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description="Measure time and memory."
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="catalog sizes")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="FOLDER", help="bench catalogs")
    parser.add_argument("--results", type=Path, default=RESULTS / "scale.json", metavar="FILE")
    options = parser.parse_args(arguments)
    step = _Steps(options.data)
    prepared = step("prepare", tools=max(options.sizes))
    imported = _best([step("imports") for _ in range(2 * REPEATS)], "import_s")
    measured = {size["tools"]: size for size in _measured_before(options.results)}
    with tempfile.TemporaryDirectory() as scratch:
        for n in sorted(options.sizes):
            print(f"{n} tools", flush=True)
            measured[n] = _measure(step, n, Path(scratch) / str(n))
            print(json.dumps(measured[n], indent=1), flush=True)
            results = {
                "command": "python -m benchmarks.scale",
                "machine": describe_machine(),
                "versions": measured_versions(),
                "document_tokens": DOCUMENT_TOKENS,
                "about": _about(prepared, measured[n]),
                "import": imported,
                "sizes": [measured[size] for size in sorted(measured)],
            }
            options.results.parent.mkdir(parents=True, exist_ok=True)
            options.results.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


def _about(prepared: JsonObject, size: JsonObject) -> str:
    """What the tools, the vectors and the queries are."""
    noise = prepared["noise"]
    return (
        f"Tools are the {prepared['real']:,} real ones of the bench catalogs and, beyond, copies of them "
        "with other names and texts. The real ones are embedded, "
        f"at {DOCUMENT_TOKENS} tokens. **Vectors of copies are not embedded but made**: "
        "that of the original, moved as far, and in such directions, as "
        f"{noise['sample']} copies that were embedded lie from theirs "
        f"(cosine {noise['cosine_p50']:.3f}, from {noise['cosine_p10']:.3f} to {noise['cosine_p90']:.3f} "
        f"for eight in ten). Queries are {size['queries']} dev queries of the bench sets, "
        f"{size['recall_queries']} of them for the recall, which is the share of the ten nearest tools that "
        "a search in the vectors finds."
    )


def _measured_before(path: Path) -> list[JsonObject]:
    """The sizes in `path` that were measured as they are now; those of earlier forms lack the recall."""
    if not path.is_file():
        return []
    sizes: list[JsonObject] = json.loads(path.read_text(encoding="utf-8"))["sizes"]
    return [size for size in sizes if "recall_queries" in size]


def _measure(step: _Steps, n: int, index: Path) -> JsonObject:
    repeats = REPEATS if n < BUILT_ONCE_FROM else 1
    built = _best([step("build", tools=n, index=index) for _ in range(repeats)], "build_s")
    loaded = _best([step("load", index=index) for _ in range(REPEATS)], "load_s")
    searched = _best([step("search", index=index) for _ in range(REPEATS)], "search_p50_ms")
    return {
        "tools": n,
        **built,
        **loaded,
        **searched,
        **step("recall", index=index),
        **step("filtered", index=index),
        **step("update", index=index),
        "load_over_build": round(loaded["load_s"] / built["build_s"], 4),
        "search_over_embedding": round(searched["search_p50_ms"] / searched["embed_p50_ms"], 3),
        "memory_over_vectors_mb": round(loaded["rss_loaded_mb"] - loaded["vectors_mb"], 1),
    }


class _Steps:
    """What a step measured, in a process of its own; see benchmarks/scale_steps.py."""

    def __init__(self, data: Path) -> None:
        self._data = data

    def __call__(self, name: str, *, index: Path = Path(), tools: int = 0) -> JsonObject:
        command = [sys.executable, "-m", "benchmarks.scale_steps", name]
        command += ["--index", str(index), "--tools", str(tools), "--data", str(self._data.resolve())]
        command += ["--vectors", str(VECTORS), "--document-tokens", str(DOCUMENT_TOKENS)]
        done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True)
        measured: JsonObject = json.loads(done.stdout)
        return measured


def _best(runs: Sequence[dict[str, Any]], key: str) -> JsonObject:
    """The run that other work on the machine disturbed least."""
    return min(runs, key=lambda run: run[key])


if __name__ == "__main__":
    sys.exit(main())
