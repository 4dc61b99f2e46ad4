"""`toolsearch lint`: what is wrong with a catalog."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli.errors import ExitCode
from toolsearch.cli.options import CatalogFiles, EmbedderSpec, Json, NoCache, Source
from toolsearch.cli.output import counted, printable, progress_bar, show, show_json

if TYPE_CHECKING:
    from toolsearch.lint import Finding

FINDINGS_SHOWN = 10


def lint(
    catalog: CatalogFiles,
    *,
    embedder: EmbedderSpec = "",
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 for warnings too.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every finding of each kind.")] = False,
    source: Source = "",
    no_cache: NoCache = False,
    json: Json = False,
) -> None:
    """Look for what is wrong with catalogs.

    Finds tools that are broken, suspicious, hard to find or hard to tell apart.

    Exits with 1 when there are errors: definitions that cannot be used, orders to the model, hidden text.
    """
    from toolsearch.cli.embedding import open_embedder
    from toolsearch.index.tool_index import ToolIndex
    from toolsearch.lint import lint_catalog
    from toolsearch.sources.configured_catalog import read_catalogs

    loaded = read_catalogs(*catalog, source=source or None, keep_going=True)
    chosen = open_embedder(embedder, cache=not no_cache).embedder
    with progress_bar("Embedding") as progress:
        index = ToolIndex.build(loaded.catalog, chosen, progress=progress)
    findings = lint_catalog(loaded.catalog, issues=loaded.issues, index=index, embedder=chosen)
    counts = {
        severity: sum(finding.severity == severity for finding in findings)
        for severity in ("error", "warning", "info")
    }
    if json:
        show_json({"tools": len(loaded.catalog), **counts, "findings": [f.to_json() for f in findings]})
    else:
        _show(findings, every=every)
        errors, warnings, remarks = counts.values()
        show(
            f"{counted(len(loaded.catalog), 'tool')}: {counted(errors, 'error')}, "
            f"{counted(warnings, 'warning')}, {counted(remarks, 'remark')}"
        )
    if counts["error"] or (strict and counts["warning"]):
        raise typer.Exit(ExitCode.FOUND)


def _show(findings: tuple[Finding, ...], *, every: bool) -> None:
    """Findings by kind, each kind with its hint."""
    for (severity, code), same in groupby(findings, key=lambda f: (f.severity, f.code)):
        group = list(same)
        shown = group if every else group[:FINDINGS_SHOWN]
        show(f"{severity}: {code} ({len(group):,})")
        for finding in shown:
            about = f"{finding.tool}: " if finding.tool else ""
            show(printable(f"  {about}{finding.message}"))
        if len(shown) < len(group):
            show(f"  and {len(group) - len(shown):,} more; --all shows them")
        show(f"  Hint: {group[0].hint}")
        show()
