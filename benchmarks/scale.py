"""Time and memory with 1,000, 10,000 and 50,000 tools.

    python -m benchmarks.scale [--tools 1000 10000 50000]

Needs the extra ``bench``. The tools are operations of AWS (see benchmarks/loaders/botocore.py); beyond their
20,000 or so, variants of them in made-up environments. Their texts are embedded once, cut at 64 tokens to
spare time, and kept under .cache/; queries are those of the demo set. Every figure that another is compared
with comes from the same process, or from one that ran right after it, so that ratios hold on a busy machine
where times do not. Writes benchmarks/results/scale.json.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.data import DEFAULT_DATA, REPOSITORY, load_named
from benchmarks.embedding import VECTORS
from benchmarks.loaders.botocore import read_botocore
from benchmarks.loaders.records import write_folder
from benchmarks.machine import describe_machine
from benchmarks.results import RESULTS
from toolsearch.evaluation.report import measured_versions
from toolsearch.tools import JsonObject

SIZES = (1000, 10_000, 50_000)
DOCUMENT_TOKENS = 64
REPEATS = 3

# What the variants of an operation say of themselves.
ENVIRONMENTS = (
    ("staging", "In the staging account, which is emptied every night."),
    ("audit", "As a dry run that changes nothing and writes an audit record."),
    ("partner", "On behalf of a partner, within the limits of the partner contract."),
    ("archive", "In the archive account, where data is kept for seven years."),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for and write the results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description="Measure time and memory."
    )
    parser.add_argument("--tools", type=int, nargs="+", default=SIZES, metavar="N", help="catalog sizes")
    parser.add_argument("--results", type=Path, default=RESULTS / "scale.json", metavar="FILE")
    options = parser.parse_args(arguments)
    machine = describe_machine()
    operations = list(read_botocore())
    records = list(itertools.islice(scale_records(iter(operations)), max(options.tools)))
    with tempfile.TemporaryDirectory() as scratch:
        sizes = [_measure(records[:n], Path(scratch) / str(n)) for n in sorted(options.tools)]
    results = {
        "command": "python -m benchmarks.scale",
        "machine": machine,
        "versions": measured_versions(),
        "document_tokens": DOCUMENT_TOKENS,
        "operations": len(operations),
        "import": _best([_step("imports") for _ in range(2 * REPEATS)], "import_s"),
        "sizes": sizes,
    }
    options.results.parent.mkdir(parents=True, exist_ok=True)
    options.results.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


def scale_records(operations: Iterator[JsonObject]) -> Iterator[JsonObject]:
    """Every operation in an order that mixes the services, then their variants, one environment at a time."""
    mixed = sorted(operations, key=_mixing_key)
    yield from mixed
    for environment, note in ENVIRONMENTS:
        for record in mixed:
            yield {
                **record,
                "server": f"{record['server']}-{environment}",
                "description": f"{note} {record['description']}".strip(),
            }


def _mixing_key(record: JsonObject) -> str:
    return hashlib.sha256(f"{record['server']}.{record['name']}".encode()).hexdigest()


def _measure(records: Sequence[JsonObject], folder: Path) -> JsonObject:
    write_folder(folder, records)
    catalog, index = str(folder / "catalog.jsonl"), str(folder / "index")
    print(f"{len(records)} tools: embedding what is not cached, then building", flush=True)
    _step("build", catalog, index)
    built = _best([_step("build", catalog, index) for _ in range(REPEATS)], "build_s")
    loaded = _best([_step("load", index) for _ in range(REPEATS)], "load_s")
    searched = _best([_step("search", index, str(_queries(folder))) for _ in range(REPEATS)], "search_p50_ms")
    result = {
        "tools": len(records),
        **built,
        **loaded,
        **searched,
        "load_over_build": round(loaded["load_s"] / built["build_s"], 4),
        "search_over_embedding": round(searched["search_p50_ms"] / searched["embed_p50_ms"], 3),
        "memory_over_vectors_mb": round(loaded["rss_loaded_mb"] - loaded["vectors_mb"], 1),
    }
    print(json.dumps(result, indent=1), flush=True)
    return result


def _queries(folder: Path) -> Path:
    path = folder / "queries.txt"
    texts = [query.text.replace("\n", " ") for query in load_named("demo", DEFAULT_DATA).queries]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def _step(name: str, *arguments: str) -> JsonObject:
    """What a step measured, in a process of its own; see benchmarks/scale_steps.py."""
    command = [sys.executable, "-m", "benchmarks.scale_steps", name, *arguments, "--vectors", str(VECTORS)]
    command += ["--document-tokens", str(DOCUMENT_TOKENS)]
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True)
    measured: JsonObject = json.loads(done.stdout)
    return measured


def _best(runs: Sequence[dict[str, Any]], key: str) -> JsonObject:
    """The run that other work on the machine disturbed least."""
    return min(runs, key=lambda run: run[key])


if __name__ == "__main__":
    sys.exit(main())
