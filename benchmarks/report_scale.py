"""The part of the report on time and memory."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.markdown import cell, machine_line, prose, table
from toolsearch.tools import JsonObject


def scale_section(scale: JsonObject) -> Iterator[str]:
    """Its lines, from what benchmarks/scale.py measured."""
    sizes = scale["sizes"]
    yield "## Time and memory"
    yield ""
    yield from prose(
        f"Measured on: {machine_line(scale['machine'])}. Times are of the least disturbed of three runs; "
        "where the machine was busy, trust the ratios: what is compared ran in the same minute. Tools are "
        f"operations of AWS and variants of them, embedded at {scale['document_tokens']} tokens; queries are "
        "those of the demo set."
    )
    yield from table(
        ["", *(f"{size['tools']:,} tools" for size in sizes)],
        (
            [title, *(cell(size[key]) for size in sizes)]
            for title, key in (
                ("vectors", "vectors"),
                ("embedding of a query alone, p50 / ms", "embed_p50_ms"),
                ("search, p50 / ms", "search_p50_ms"),
                ("search, p95 / ms", "search_p95_ms"),
                ("**search over embedding, p50**", "search_over_embedding"),
                ("build with all vectors cached / s", "build_s"),
                ("save / s", "save_s"),
                ("load, all checksums compared / s", "load_s"),
                ("load, sizes compared / s", "load_by_size_s"),
                ("**load over build**", "load_over_build"),
                ("index on disk / MB", "index_mb"),
                ("vectors / MB", "vectors_mb"),
                ("resident after load / MB", "rss_loaded_mb"),
                ("**resident beyond vectors / MB**", "memory_over_vectors_mb"),
                ("resident while searching, encoder included / MB", "rss_searching_mb"),
            )
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
