"""One step of benchmarks/scale.py in a process of its own: prints what it measured as JSON."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import psutil

from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.embedders.cache import CachedEmbedder
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import SearchRequest
from toolsearch.retrieval.calibration import calibrate
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.sources.files import read_catalog
from toolsearch.tools import JsonObject

HEAVY = ("faiss", "onnxruntime", "torch", "tiktoken", "tokenizers", "bm25s", "fastapi", "mcp")
WARM_UP = 20
K = 10

Options = argparse.Namespace
_T = TypeVar("_T")


def build(options: Options) -> JsonObject:
    """Read a catalog file, build its index from cached vectors, save it."""
    embedder = CachedEmbedder(BundledEmbedder(max_tokens=options.document_tokens), options.vectors)
    read_s, loaded = _timed(lambda: read_catalog(options.paths[0]))
    build_s, index = _timed(lambda: ToolIndex.build(loaded.catalog, embedder))
    calibrate_s, calibration = _timed(lambda: calibrate(index, embedder))
    index = index.with_calibration(calibration.to_json())
    save_s, _ = _timed(lambda: index.save(options.paths[1]))
    files = [path for path in Path(options.paths[1]).rglob("*") if path.is_file()]
    return {
        "vectors": index.vectors.kind,
        "recall_at_10": index.vectors.recall_at_10,
        "read_s": round(read_s, 3),
        "build_s": round(build_s, 3),
        "calibrate_s": round(calibrate_s, 3),
        "save_s": round(save_s, 3),
        "index_mb": round(sum(path.stat().st_size for path in files) / 2**20, 1),
        "catalog_fingerprint": index.summary.catalog_fingerprint,
        "build_peak_mb": _peak_mb(),
    }


def load(options: Options) -> JsonObject:
    """Load an index, once with every checksum compared and once by sizes."""
    imported_mb = _rss_mb()
    load_s, index = _timed(lambda: ToolIndex.load(options.paths[0]))
    rss_mb = _rss_mb()
    load_size_s, _ = _timed(lambda: ToolIndex.load(options.paths[0], verify="size"))
    return {
        "load_s": round(load_s, 4),
        "load_by_size_s": round(load_size_s, 4),
        "vectors_mb": round(len(index) * index.vectors.dim * 4 / 2**20, 1),
        "rss_imported_mb": imported_mb,
        "rss_loaded_mb": rss_mb,
    }


def search(options: Options) -> JsonObject:
    """Search for many queries, and embed each of them alone in turn with the searches."""
    embedder = BundledEmbedder(max_tokens=options.document_tokens)
    index = ToolIndex.load(options.paths[0], embedder)
    searcher = ToolSearcher(index, embedder)
    queries = Path(options.paths[1]).read_text(encoding="utf-8").splitlines()
    embedding, searching = [], []
    stages: dict[str, list[float]] = {}
    for i, query in enumerate([*queries[:WARM_UP], *queries]):
        embed_s, _ = _timed(partial(embedder.embed_queries, [query]))
        request = SearchRequest(queries=(query,), k=K)
        search_s, result = _timed(partial(searcher.search, request))
        if i < WARM_UP:
            continue
        embedding.append(embed_s * 1000)
        searching.append(search_s * 1000)
        for stage, took_ms in result.timings_ms.items():
            stages.setdefault(stage, []).append(took_ms)
    return {
        "queries": len(queries),
        **{f"embed_p{p}_ms": round(float(np.percentile(embedding, p)), 3) for p in (50, 95)},
        **{f"search_p{p}_ms": round(float(np.percentile(searching, p)), 3) for p in (50, 95)},
        "stages_p50_ms": {stage: round(float(np.median(times)), 3) for stage, times in stages.items()},
        "rss_searching_mb": _rss_mb(),
    }


def imports(options: Options) -> JsonObject:
    """How long ``import toolsearch`` takes beyond starting Python, and what it brings in."""
    del options
    bare_s, _ = _timed(lambda: _python("pass"))
    import_s, _ = _timed(lambda: _python("import toolsearch"))
    modules = json.loads(_python("import json, sys, toolsearch; print(json.dumps(sorted(sys.modules)))"))
    return {
        "python_s": round(bare_s, 3),
        "import_s": round(max(import_s - bare_s, 0.0), 3),
        "modules": len(modules),
        "heavy_modules": [name for name in HEAVY if name in modules],
    }


def _timed(act: Callable[[], _T]) -> tuple[float, _T]:
    started = time.perf_counter()
    result = act()
    return time.perf_counter() - started, result


def _python(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def _rss_mb() -> float:
    return round(psutil.Process().memory_info().rss / 2**20, 1)


def _peak_mb() -> float:
    import resource

    # In kilobytes on Linux.
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10, 1)


STEPS = {"build": build, "load": load, "search": search, "imports": imports}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--document-tokens", type=int, required=True)
    chosen = parser.parse_args()
    print(json.dumps(STEPS[chosen.step](chosen)))
