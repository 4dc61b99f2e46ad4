"""The part of the report on time and memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.markdown import cell, machine_line, prose, table
from toolsearch.tools import JsonObject

_ROWS = (
    ("vectors", "vectors"),
    ("**recall@10 against exact, as searches ask**", "recall_at_10"),
    ("recall@10 against exact, where ten are asked for", "recall_at_10_alone"),
    ("embedding of a query alone, p50 / ms", "embed_p50_ms"),
    ("search, p50 / ms", "search_p50_ms"),
    ("search, p95 / ms", "search_p95_ms"),
    ("**search over embedding, p50**", "search_over_embedding"),
    ("words of a query that are all common, p50 / ms", "common_words_p50_ms"),
    ("search in one server, p50 / ms", "filtered.one_server.search_p50_ms"),
    ("search in half of the servers, p50 / ms", "filtered.half.search_p50_ms"),
    ("build, vectors given / s", "build_s"),
    ("calibrate / s", "calibrate_s"),
    ("save / s", "save_s"),
    ("load, all checksums compared / s", "load_s"),
    ("load, sizes compared / s", "load_by_size_s"),
    ("**load over build**", "load_over_build"),
    ("add 5 tools and change 5 / s", "update_s"),
    ("index on disk / MB", "index_mb"),
    ("vectors / MB", "vectors_mb"),
    ("resident after load / MB", "rss_loaded_mb"),
    ("**resident beyond vectors / MB**", "memory_over_vectors_mb"),
    ("resident while searching, encoder included / MB", "rss_searching_mb"),
    ("peak while building / MB", "build_peak_mb"),
)


def scale_section(scale: JsonObject) -> Iterator[str]:
    """Its lines, from what benchmarks/scale.py measured."""
    sizes = scale["sizes"]
    yield "## Time and memory"
    yield ""
    yield from prose(
        f"Measured on: {machine_line(scale['machine'])}. Times are of the least disturbed run; where the "
        "machine was busy, trust the ratios: what is compared ran in the same process, in turn. "
        f"{scale['about']}"
    )
    yield from table(
        ["", *(f"{size['tools']:,} tools" for size in sizes)],
        (
            [title, *("" if (found := _figure(size, key)) is None else cell(found) for size in sizes)]
            for title, key in _ROWS
            if any(_figure(size, key) is not None for size in sizes)
        ),
    )
    yield ""
    stages = [stage for stage in sizes[-1]["stages_p50_ms"] if stage != "total"]
    yield "Where the time of a search goes, p50 in ms:"
    yield ""
    yield from table(
        ["tools", *stages],
        (
            [f"{size['tools']:,}", *(f"{size['stages_p50_ms'][stage]:.2f}" for stage in stages)]
            for size in sizes
        ),
    )
    yield ""
    imported = scale["import"]
    heavy = ", ".join(imported["heavy_modules"]) or "none"
    yield from prose(
        f"`import toolsearch` takes {imported['import_s']:.2f} s beyond starting Python "
        f"({imported['python_s']:.2f} s) and leaves {imported['modules']} modules loaded; of FAISS, ONNX, "
        f"torch and the like: {heavy}."
    )
    yield "![Search time and memory by catalog size](images/scale.png)"
    yield ""


def _figure(size: JsonObject, key: str) -> Any:
    """What was measured at a size; None where it was not."""
    figure: Any = size
    for part in key.split("."):
        figure = None if figure is None else figure.get(part)
    return figure
