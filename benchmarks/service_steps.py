"""What benchmarks/service.py compares the service with, each in a process of its own that prints JSON."""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from itertools import cycle
from pathlib import Path

import numpy as np

from benchmarks.data import DEFAULT_DATA
from toolsearch.tools import JsonObject

WARM_UP = 20
EMBEDDED = 10_000


def build(index: Path, tools: int, data: Path) -> JsonObject:
    """Index the first tools of `benchmarks.scale_catalog`.

    The first `EMBEDDED` are embedded by the default encoder, the others get noisy vectors of these (see
    benchmarks/scale_vectors.py): times and memory do not depend on what they say.
    """
    from benchmarks.embedding import VECTORS
    from benchmarks.scale_catalog import scale_tools
    from benchmarks.scale_vectors import CopiesEmbedder
    from toolsearch.catalog import Catalog
    from toolsearch.embedders.bundled import BundledEmbedder
    from toolsearch.retrieval.building import build_index

    made = scale_tools(tools, data)
    embedder = CopiesEmbedder(BundledEmbedder(), made, min(tools, EMBEDDED), VECTORS)
    built = build_index(Catalog(made), embedder)
    built.save(index)
    return {"tools": len(built), "vectors": built.vectors.kind}


def search(index: Path, callers: int, seconds: float, queries: list[str]) -> JsonObject:
    """The same searches as over HTTP, by so many threads of this process, each as fast as it can."""
    from toolsearch.embedders.bundled import BundledEmbedder
    from toolsearch.index.tool_index import ToolIndex
    from toolsearch.retrieval.searcher import ToolSearcher

    embedder = BundledEmbedder()
    searcher = ToolSearcher(ToolIndex.load(index, embedder, verify="size"), embedder)
    for query in queries[:WARM_UP]:
        searcher.search(query)
    stream, lock = cycle(queries), threading.Lock()
    took_ms: list[float] = []
    started = time.perf_counter()

    def ask_on() -> None:
        while (began := time.perf_counter()) - started < seconds:
            with lock:
                query = next(stream)
            searcher.search(query)
            took_ms.append((time.perf_counter() - began) * 1000)

    threads = [threading.Thread(target=ask_on) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s = time.perf_counter() - started
    return {
        "searches": len(took_ms),
        "answers_per_s": round(len(took_ms) / took_s, 2),
        **{f"p{p}_ms": round(float(np.percentile(took_ms, p)), 2) for p in (50, 95, 99)},
    }


def load(index: Path) -> JsonObject:
    """Import the package and load the index, all checksums compared; the caller takes the time."""
    from toolsearch import BundledEmbedder, ToolIndex, ToolSearcher

    embedder = BundledEmbedder()
    searcher = ToolSearcher(ToolIndex.load(index, embedder), embedder)
    return {"tools": len(searcher.index)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("build", "search", "load"))
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--tools", type=int, default=0)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA)
    parser.add_argument("--callers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0)
    chosen = parser.parse_args()
    if chosen.step == "build":
        told = build(chosen.index, chosen.tools, chosen.data)
    elif chosen.step == "search":
        told = search(chosen.index, chosen.callers, chosen.seconds, json.load(sys.stdin))
    else:
        told = load(chosen.index)
    print(json.dumps(told))
