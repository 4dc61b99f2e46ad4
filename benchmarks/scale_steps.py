"""One step of benchmarks/scale.py in a process of its own: prints what it measured as JSON."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import psutil

from benchmarks.scale_catalog import read_queries, real_tools, scale_tools
from benchmarks.scale_vectors import CopiesEmbedder
from toolsearch.catalog import Catalog
from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, Progress, Vectors
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.index.manifest import Manifest
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import SearchRequest
from toolsearch.retrieval.calibration import calibrate
from toolsearch.retrieval.ranking import DEPTH
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.tools import JsonObject, Tool

HEAVY = ("faiss", "onnxruntime", "torch", "tiktoken", "tokenizers", "bm25s", "fastapi", "mcp")
WARM_UP = 20
K = 10
RECALL_QUERIES = 200

# Words that more tools hold than any others, alone.
COMMON = (
    "get list",
    "get data of a user",
    "list all files by id",
    "create a new user with name and type",
    "update the value of an item",
    "search data by name",
    "get the list of users by id and name",
    "send a message to the user",
)

Options = argparse.Namespace
_T = TypeVar("_T")


def prepare(options: Options) -> JsonObject:
    """Embed the real tools, so that no later step has to."""
    real = real_tools(options.data)
    embedder = _embedder(options, real[: options.tools], len(real))
    return {"real": len(real), "noise": embedder.noise.to_json()}


def build(options: Options) -> JsonObject:
    """Make the tools, build their index from vectors that are given, save it."""
    make_s, tools = _timed(lambda: scale_tools(options.tools, options.data))
    embedder = _embedder(options, tools, len(real_tools(options.data)))
    timed = _Timed(embedder)
    sort_s, catalog = _timed(lambda: Catalog(tools))
    build_s, index = _timed(lambda: ToolIndex.build(catalog, timed))
    calibrate_s, calibration = _timed(lambda: calibrate(index, embedder))
    index = index.with_calibration(calibration.to_json())
    save_s, manifest = _timed(lambda: index.save(options.index))
    return {
        "vectors": index.vectors.kind,
        "recall_of_rows": round(index.vectors.recall_at_10, 4),
        "make_s": round(make_s, 3),
        "catalog_s": round(sort_s, 3),
        "build_s": round(build_s - timed.took_s, 3),
        "calibrate_s": round(calibrate_s, 3),
        "save_s": round(save_s, 3),
        "index_mb": round(sum(entry.size for entry in manifest.files.values()) / 2**20, 1),
        "parts_mb": _parts(manifest),
        "catalog_fingerprint": index.summary.catalog_fingerprint,
        "build_peak_mb": _peak_mb(),
    }


def _parts(manifest: Manifest) -> JsonObject:
    """Megabytes of the files of each part of an index."""
    parts: dict[str, int] = {}
    for name, entry in manifest.files.items():
        part = name.partition(".")[0]
        parts[part] = parts.get(part, 0) + entry.size
    return {part: round(size / 2**20, 1) for part, size in sorted(parts.items())}


def load(options: Options) -> JsonObject:
    """Load an index, once with every checksum compared and once by sizes."""
    imported_mb = _rss_mb()
    load_s, index = _timed(lambda: ToolIndex.load(options.index))
    rss_mb = _rss_mb()
    load_size_s, _ = _timed(lambda: ToolIndex.load(options.index, verify="size"))
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
    index = ToolIndex.load(options.index, embedder, verify="size")
    searcher = ToolSearcher(index, embedder)
    queries = read_queries(options.data)
    embedding, searching = [], []
    stages: dict[str, list[float]] = {}
    for i, query in enumerate([*queries[:WARM_UP], *queries]):
        embed_s, _ = _timed(partial(embedder.embed_queries, [query]))
        search_s, result = _timed(partial(searcher.search, SearchRequest(queries=(query,), k=K)))
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
        "common_words_p50_ms": _stage_ms(searcher, COMMON, "lexical"),
        "rss_searching_mb": _rss_mb(),
    }


def filtered(options: Options) -> JsonObject:
    """Search among the tools of one server, and among those of half of the servers."""
    embedder = BundledEmbedder(max_tokens=options.document_tokens)
    index = ToolIndex.load(options.index, embedder, verify="size")
    searcher = ToolSearcher(index, embedder)
    queries = read_queries(options.data)[:60]
    sizes = {source: len(rows) for source, rows in index.columns.source_rows.items()}
    largest = max(sizes, key=lambda source: (sizes[source], source))
    measured: JsonObject = {}
    for name, sources in (("one_server", [largest]), ("half", sorted(sizes)[::2])):
        request = partial(SearchRequest, k=K, sources=frozenset(sources))
        first_s, _ = _timed(partial(searcher.search, request(queries=(queries[0],))))
        times = [_timed(partial(searcher.search, request(queries=(query,))))[0] * 1000 for query in queries]
        measured[name] = {
            "tools": sum(sizes[source] for source in sources),
            "first_s": round(first_s, 3),
            "search_p50_ms": round(float(np.median(times)), 3),
        }
    globs_s, _ = _timed(partial(searcher.search, SearchRequest(queries=(queries[0],), k=K, allow=("*get*",))))
    return {"filtered": measured, "first_glob_s": round(globs_s, 3)}


def recall(options: Options) -> JsonObject:
    """Share of the exact ten nearest tools to each query that a search in the vectors finds."""
    embedder = BundledEmbedder(max_tokens=options.document_tokens)
    index = ToolIndex.load(options.index, verify="size")
    vectors = embedder.embed_queries(read_queries(options.data)[:RECALL_QUERIES])
    measured: JsonObject = {"recall_queries": len(vectors)}
    exact = [found.scores[-1] for found in index.vectors.search(vectors, K, exact=True)]
    for name, depth in (("recall_at_10", DEPTH), ("recall_at_10_alone", K)):
        found = index.vectors.search(vectors, depth)
        shares = [
            np.count_nonzero(near.scores[:K] >= kth) / K for near, kth in zip(found, exact, strict=True)
        ]
        measured[name] = round(float(np.mean(shares)), 4)
    return measured


def update(options: Options) -> JsonObject:
    """Put five new tools into the index, and change and remove as many."""
    embedder = BundledEmbedder(max_tokens=options.document_tokens)
    index = ToolIndex.load(options.index, verify="size")
    names = index.columns.names
    new = [replace(index.tool(row), raw_name=f"brand_new_{row}", source="fresh") for row in range(5)]
    changed = [replace(index.tool(row), description="Paints a bicycle in a colour.") for row in range(5, 10)]
    update_s, newer = _timed(lambda: index.with_tools([*new, *changed], embedder, replace=True))
    remove_s, _ = _timed(lambda: newer.without(*names[10:15]))
    return {
        "update_s": round(update_s, 3),
        "remove_s": round(remove_s, 3),
        "update_peak_mb": _peak_mb(),
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


class _Timed(EmbedderAround):
    """An embedder, and the seconds that its documents took."""

    def __init__(self, inner: Embedder) -> None:
        super().__init__(inner)
        self.took_s = 0.0

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        took_s, rows = _timed(lambda: super(_Timed, self).embed_documents(texts, progress=progress))
        self.took_s += took_s
        return rows


def _embedder(options: Options, tools: Sequence[Tool], n_real: int) -> CopiesEmbedder:
    bundled = BundledEmbedder(max_tokens=options.document_tokens)
    return CopiesEmbedder(bundled, tools, n_real, options.vectors)


def _stage_ms(searcher: ToolSearcher, queries: Sequence[str], stage: str) -> float:
    requests = [SearchRequest(queries=(query,), k=K) for query in queries]
    times = [searcher.search(request).timings_ms[stage] for request in [*requests, *requests]]
    return round(float(np.median(times[len(requests) :])), 3)


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


STEPS = {step.__name__: step for step in (prepare, build, load, search, filtered, recall, update, imports)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--index", type=Path, default=Path())
    parser.add_argument("--tools", type=int, default=0)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--document-tokens", type=int, required=True)
    chosen = parser.parse_args()
    print(json.dumps(STEPS[chosen.step](chosen)))
