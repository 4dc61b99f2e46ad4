"""The tools of configured MCP servers as a catalog that was read once, such as to build an index of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from toolsearch.catalog import Catalog
from toolsearch.exceptions import CatalogFileError
from toolsearch.sources.documents import read_documents
from toolsearch.sources.files import LoadedCatalog, LoadIssue
from toolsearch.sources.mcp.config import SERVERS_KEYS, is_mcp_config
from toolsearch.sources.mcp.servers import McpServers

_LARGEST = 1_000_000


def is_mcp_config_file(path: Path | str) -> bool:
    """Whether this file configures MCP servers; a folder does not, as reading one starts processes."""
    file = Path(path)
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return False
        if not any(key in file.read_text(encoding="utf-8", errors="replace") for key in SERVERS_KEYS):
            return False
        documents = list(read_documents(str(path)))
    except (OSError, CatalogFileError):
        # Whoever reads it as a catalog says what is wrong with it.
        return False
    return len(documents) == 1 and is_mcp_config(documents[0].value)


def read_mcp_catalog(*paths: Path | str, strict: bool = False, **options: Any) -> LoadedCatalog:
    """What the servers of configuration files list now; all are started, asked and ended.

    A server that fails is an issue like a tool that cannot be used. `options` are those of `McpServers`.

    Raises:
        McpConfigError: a file cannot be read, or a server in it cannot be meant.
        CatalogFileError: with `strict`, for the first error.
    """
    with McpServers.from_config(*paths, **options) as servers:
        tools = tuple(replace(tool, call=None, timeout_s=None) for tool in servers.list_tools())
        issues = servers.issues
    errors = [issue for issue in issues if issue.severity == "error"]
    if strict and errors:
        raise CatalogFileError(", ".join(map(str, paths)), str(errors[0]))
    n_left_out = sum(issue.severity != "mended" for issue in issues)
    return LoadedCatalog(Catalog(tools), issues, len(tools) + n_left_out)


def joined(files: LoadedCatalog, servers: LoadedCatalog) -> LoadedCatalog:
    """Both as one; of a tool that is in a file and on its server too, the server's own definition counts."""
    issues = [
        LoadIssue(
            f"MCP server {tool.source!r}", None, tool.raw_name, "duplicate", "in a file too; this one counts."
        )
        for name, tool in servers.catalog.items()
        if name in files.catalog
    ]
    catalog = Catalog((*files.catalog.values(), *servers.catalog.values()), replace=True)
    return LoadedCatalog(catalog, (*files.issues, *servers.issues, *issues), files.n_read + servers.n_read)
