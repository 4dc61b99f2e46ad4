"""`toolsearch index`: build, update, look at and verify index folders."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolsearch.cli.catalogs import issue_json, load_catalog
from toolsearch.cli.errors import EXIT_CODES, ExitCode
from toolsearch.cli.options import (
    CatalogFiles,
    EmbedderSpec,
    IndexFolder,
    Json,
    Kind,
    NoCache,
    Source,
    Strict,
)
from toolsearch.cli.output import counted, progress_bar, say, show, show_json, show_table

if TYPE_CHECKING:
    from toolsearch.index.tool_index import ToolIndex
    from toolsearch.sources.files import LoadedCatalog

group = typer.Typer(help="Build, update and check indexes.", no_args_is_help=True, rich_markup_mode=None)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The index folder.", show_default=False)]


@group.command("build", epilog=EXIT_CODES)
def build(
    catalog: CatalogFiles,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Write the index there.", show_default=False),
    ],
    *,
    embedder: EmbedderSpec = "",
    kind: Annotated[
        Kind, typer.Option(help="flat is exact, ivf and hnsw fast over many tools, auto chooses by size.")
    ] = Kind.AUTO,
    strict: Strict = False,
    source: Source = "",
    no_cache: NoCache = False,
    json: Json = False,
) -> None:
    """Build an index of the tools in catalogs.

    An index that is there already is replaced, once the new one is whole.
    """
    from toolsearch.cli.embedding import open_embedder
    from toolsearch.retrieval.building import build_index

    started = time.perf_counter()
    loaded = load_catalog(catalog, strict=strict, source=source)
    opened = open_embedder(embedder, cache=not no_cache)
    with progress_bar("Embedding") as progress:
        index = build_index(loaded.catalog, opened.embedder, kind=kind.value, progress=progress)
    index.save(output)
    report = _report(output, index, loaded, opened.n_embedded, time.perf_counter() - started)
    _show_report(report, json=json)


@group.command("update", epilog=EXIT_CODES)
def update(
    catalog: CatalogFiles,
    index: IndexFolder,
    *,
    embedder: EmbedderSpec = "",
    strict: Strict = False,
    source: Source = "",
    no_cache: NoCache = False,
    json: Json = False,
) -> None:
    """Bring an index up to date with catalogs.

    Afterwards it holds exactly their tools; only what is new or changed is embedded.
    """
    from toolsearch.cli.embedding import open_embedder_of
    from toolsearch.index.tool_index import ToolIndex
    from toolsearch.retrieval.building import update_index

    started = time.perf_counter()
    opened = open_embedder_of(index, embedder, cache=not no_cache)
    older = ToolIndex.load(index, opened.embedder)
    loaded = load_catalog(catalog, strict=strict, source=source)
    with progress_bar("Embedding") as progress:
        newer = update_index(older, loaded.catalog, opened.embedder, progress=progress)
    newer.save(index)
    report = _report(index, newer, loaded, opened.n_embedded, time.perf_counter() - started)
    diff = older.catalog.diff(loaded.catalog)
    changes = {"added": len(diff.added), "removed": len(diff.removed), "changed": len(diff.changed)}
    _show_report(report | changes, json=json)


@group.command("info", epilog=EXIT_CODES)
def info(folder: Folder, json: Json = False) -> None:
    """Say what is in an index."""
    from toolsearch.index.folder import read_manifest
    from toolsearch.index.tool_index import ToolIndex

    loaded = ToolIndex.load(folder)
    columns = loaded.columns
    sources = [
        {"source": source, "tools": len(rows), "tokens": int(columns.tokens[rows].sum())}
        for source, rows in columns.source_rows.items()
    ]
    report = {
        "index": str(folder),
        **loaded.summary.model_dump(),
        "calibrated": loaded.calibration is not None,
        "tokens": int(columns.tokens.sum()),
        "bytes": sum(entry.size for entry in read_manifest(folder).files.values()),
        "sources": sources,
    }
    if json:
        show_json(report)
        return
    facts = [(key.replace("_", " "), _text(value)) for key, value in report.items() if key != "sources"]
    show_table([("", "left"), ("", "left")], facts)
    show()
    show_table(
        [("tools", "right"), ("tokens", "right"), ("source", "left")],
        [(f"{s['tools']:,}", f"{s['tokens']:,}", str(s["source"] or "(none)")) for s in sources],
    )


@group.command("verify", epilog=EXIT_CODES)
def verify(folder: Folder, json: Json = False) -> None:
    """Check every byte, tool and vector of an index.

    Exits with 1 where something is not what was written.
    """
    from toolsearch.exceptions import IndexDamagedError
    from toolsearch.index.tool_index import ToolIndex

    problem = ""
    manifest = None
    try:
        manifest = ToolIndex.verify(folder)
    except IndexDamagedError as exc:
        problem = str(exc)
    if json:
        n_tools = None if manifest is None else manifest.summary.n_tools
        show_json({"index": str(folder), "intact": not problem, "problem": problem, "tools": n_tools})
    if problem:
        say(f"Error: {problem}")
        raise typer.Exit(ExitCode.FOUND)
    if manifest is not None and not json:
        tools = counted(manifest.summary.n_tools, "tool")
        show(f"{folder}: intact, {tools} in {counted(len(manifest.files), 'file')}")


def _report(
    folder: Path, index: ToolIndex, loaded: LoadedCatalog, n_embedded: int, took_s: float
) -> dict[str, Any]:
    """What was done, as JSON."""
    summary = index.summary
    return {
        "index": str(folder),
        "tools": len(index),
        "sources": len(loaded.catalog.sources),
        "tokens": int(index.columns.tokens.sum()),
        "embedder": summary.embedder_id,
        "dim": summary.dim,
        "vectors": summary.vectors,
        "recall_at_10": summary.recall_at_10,
        "read": loaded.n_read,
        "issues": [issue_json(issue) for issue in loaded.issues],
        "embedded": n_embedded,
        "reused": len(index) - n_embedded,
        "took_s": round(took_s, 3),
    }


def _show_report(report: dict[str, Any], *, json: bool) -> None:
    if json:
        show_json(report)
        return
    show(
        f"{report['index']}: {counted(report['tools'], 'tool')} of {counted(report['sources'], 'source')}, "
        f"{counted(report['tokens'], 'token')}"
    )
    if "added" in report:
        show(f"{report['added']:,} added, {report['changed']:,} changed, {report['removed']:,} removed")
    left_out = sum(issue["severity"] != "mended" for issue in report["issues"])
    if report["issues"]:
        mended = len(report["issues"]) - left_out
        read = counted(report["read"], "definition")
        show(f"{read} read: {left_out:,} left out, {counted(mended, 'remark')} on others")
    show(
        f"{report['embedded']:,} embedded, {report['reused']:,} reused, in {report['took_s']:.1f} s "
        f"({report['embedder']}, {report['vectors']})"
    )


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
