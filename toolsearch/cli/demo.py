"""`toolsearch demo`: a first look, on the catalog that comes with the package."""

from __future__ import annotations

import time

from toolsearch.cli.options import Json
from toolsearch.cli.output import counted, progress_bar, show, show_json
from toolsearch.cli.results import result_json, show_result


def demo(json: Json = False) -> None:
    """See what it does, on a demo catalog.

    Indexes the catalog in memory and answers a few requests, with scores and the tokens that are spared.
    """
    from toolsearch.cli.embedding import open_embedder
    from toolsearch.demo import SHOWCASE, demo_folder
    from toolsearch.retrieval.base import SearchRequest
    from toolsearch.retrieval.building import build_index
    from toolsearch.retrieval.searcher import ToolSearcher
    from toolsearch.sources.files import read_catalog

    catalog = read_catalog(demo_folder() / "catalog").catalog
    opened = open_embedder("", cache=True)
    embedder = opened.embedder
    started = time.perf_counter()
    with progress_bar("Embedding") as progress:
        index = build_index(catalog, embedder, progress=progress)
    took_s = time.perf_counter() - started
    searcher = ToolSearcher(index, embedder)
    results = [searcher.search(SearchRequest(queries=request.queries)) for request in SHOWCASE]
    tokens = int(index.columns.tokens.sum())
    if json:
        show_json(
            {
                "tools": len(index),
                "sources": len(catalog.sources),
                "tokens": tokens,
                "embedded": opened.n_embedded,
                "index_s": round(took_s, 3),
                "requests": [
                    {"shows": request.shows, **result_json(request.queries, result, explain=True)}
                    for request, result in zip(SHOWCASE, results, strict=True)
                ],
            }
        )
        return
    show(
        f"Indexed {counted(len(index), 'tool')} of {counted(len(catalog.sources), 'server')} "
        f"in {took_s:.1f} s, {opened.n_embedded:,} of them embedded just now. "
        f"All their definitions cost {tokens:,} tokens in every request to a model."
    )
    for request, result in zip(SHOWCASE, results, strict=True):
        show()
        show(f"{request.shows.capitalize()}: {' + '.join(map(repr, request.queries))}")
        show_result(request.queries, result, n_tools=len(index), explain=False)
        show(f"found in {result.timings_ms['total']:.1f} ms")
