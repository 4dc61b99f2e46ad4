"""Reading catalogs for all commands, and `toolsearch catalog`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolsearch.cli.errors import EXIT_CODES
from toolsearch.cli.options import CatalogFiles, CatalogForm, OnlyServers, Source, Strict
from toolsearch.cli.output import counted, say, show_json

if TYPE_CHECKING:
    from toolsearch.sources.files import LoadedCatalog, LoadIssue

ISSUES_SHOWN = 20

group = typer.Typer(help="Work on catalog files.", no_args_is_help=True, rich_markup_mode=None)


def load_catalog(paths: Sequence[str], *, strict: bool = False, source: str = "") -> LoadedCatalog:
    """The tools of `paths`; what was wrong with some of them goes to standard error.

    A configuration of MCP servers and OpenAPI documents stands for the tools that these list now.

    Raises:
        CatalogFileError, DefinitionError, McpConfigError: as `read_catalogs`; also where there is no tool.
    """
    from toolsearch.exceptions import CatalogFileError
    from toolsearch.sources.configured_catalog import read_catalogs

    loaded = read_catalogs(*paths, strict=strict, source=source or None)
    for issue in loaded.issues[:ISSUES_SHOWN]:
        say(str(issue))
    if len(loaded.issues) > ISSUES_SHOWN:
        say(f"and {len(loaded.issues) - ISSUES_SHOWN} more; --json has all.")
    if not loaded.catalog:
        raise CatalogFileError(", ".join(paths), "there is no tool in it.")
    return loaded


def issue_json(issue: LoadIssue) -> dict[str, Any]:
    """A load issue as JSON."""
    return {
        "path": issue.path,
        "line": issue.line,
        "tool": issue.tool,
        "severity": issue.severity,
        "reason": issue.reason,
    }


@group.command("convert", epilog=EXIT_CODES)
def convert(
    catalog: CatalogFiles,
    *,
    to: Annotated[CatalogForm, typer.Option("--to", help="The form to write.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write there, not to standard output."),
    ] = None,
    server: OnlyServers = None,
    strict: Strict = False,
    source: Source = "",
) -> None:
    """Write the tools of catalogs in another form, as JSON.

    A list in the form of MCP belongs to one server; choose it with --server where there are several.
    """
    from toolsearch.formats import write_tools

    loaded = load_catalog(catalog, strict=strict, source=source)
    tools = [tool for tool in loaded.catalog.values() if not server or tool.source in server]
    if not tools:
        raise typer.BadParameter(f"no tool is of {', '.join(server or ())}.", param_hint="--server")
    written = write_tools(tools, to.format_name)
    if output is None:
        show_json(written)
        return
    text = json.dumps(written, indent=2, ensure_ascii=False) + "\n"
    output.write_text(text, encoding="utf-8", errors="backslashreplace")
    say(f"{output}: {counted(len(tools), 'tool')}.")
