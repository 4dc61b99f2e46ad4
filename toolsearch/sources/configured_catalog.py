"""The tools of configured sources as a catalog that was read once, such as to build an index of."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolsearch.catalog import Catalog
from toolsearch.exceptions import CatalogFileError
from toolsearch.sources.configured import SourcesConfig, is_config_file, read_sources
from toolsearch.sources.files import LoadedCatalog, LoadIssue, read_catalog
from toolsearch.sources.mcp.servers import McpServers
from toolsearch.tools import Tool


def read_catalogs(
    *paths: str, strict: bool = False, source: str | None = None, keep_going: bool = False
) -> LoadedCatalog:
    """The tools of catalog files and of what configuration files name, by the rules of `read_catalog`.

    Raises:
        CatalogFileError, DefinitionError, McpConfigError: as `read_catalog` and `read_configured_catalog`.
    """
    configs = [path for path in paths if is_config_file(path)]
    files = [path for path in paths if path not in configs]
    loaded = read_catalog(*files, strict=strict, source=source, keep_going=keep_going)
    return joined(loaded, read_configured_catalog(*configs, strict=strict)) if configs else loaded


def read_configured_catalog(*paths: Path | str, strict: bool = False, **options: Any) -> LoadedCatalog:
    """What the sources of configuration files list now; all servers are started, asked and ended.

    A source that fails is an issue like a tool that cannot be used. `options` are those of `McpServers`.

    Raises:
        McpConfigError, CatalogFileError: as `read_sources`; with `strict`, also for the first error.
    """
    config = read_sources(*paths)
    documents = _of_documents(config)
    listed = _of_servers(config, **options) if config.servers else LoadedCatalog(Catalog(()), (), 0)
    loaded = joined(listed, documents)
    errors = [issue for issue in loaded.issues if issue.severity == "error"]
    if strict and errors:
        raise CatalogFileError(", ".join(map(str, paths)), str(errors[0]))
    return loaded


def joined(files: LoadedCatalog, sources: LoadedCatalog) -> LoadedCatalog:
    """Both as one; of a tool that is in a file and at its source too, the source's own definition counts."""
    issues = [
        LoadIssue(
            f"source {tool.source!r}", None, tool.raw_name, "duplicate", "in a file too; this one counts."
        )
        for name, tool in sources.catalog.items()
        if name in files.catalog
    ]
    catalog = Catalog((*files.catalog.values(), *sources.catalog.values()), replace=True)
    return LoadedCatalog(catalog, (*files.issues, *sources.issues, *issues), files.n_read + sources.n_read)


def _of_servers(config: SourcesConfig, **options: Any) -> LoadedCatalog:
    with McpServers(config.servers, **options) as servers:
        return _loaded(servers.list_tools(), servers.issues)


def _of_documents(config: SourcesConfig) -> LoadedCatalog:
    tools: list[Tool] = []
    issues: list[LoadIssue] = []
    for document in config.documents:
        try:
            source = document.load(os.environ)
        except CatalogFileError as exc:
            issues.append(LoadIssue(str(exc.path), exc.line, "", "error", exc.reason))
            continue
        tools += source.list_tools()
        issues += source.issues
    return _loaded(tools, tuple(issues))


def _loaded(tools: Iterable[Tool], issues: tuple[LoadIssue, ...]) -> LoadedCatalog:
    """The tools without what calls them: that belongs to the process that has their sources open."""
    kept = tuple(replace(tool, call=None, timeout_s=None) for tool in tools)
    n_left_out = sum(issue.severity != "mended" for issue in issues)
    return LoadedCatalog(Catalog(kept), issues, len(kept) + n_left_out)
