"""`GatewaySources`: what a gateway stands in front of."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolsearch.exceptions import CatalogFileError, McpConfigError
from toolsearch.given import Tools, as_tools
from toolsearch.sources.files import LoadIssue
from toolsearch.sources.mcp.config import McpServerConfig, check_prefixes
from toolsearch.sources.open_tools import sources_at
from toolsearch.sources.openapi import OpenApiSource
from toolsearch.sources.remote import is_url
from toolsearch.tools import Tool


@dataclass(frozen=True)
class GatewaySources:
    """MCP servers, OpenAPI documents, and any other tools that can be called.

    Attributes:
        servers: How MCP servers are started or reached.
        documents: OpenAPI documents.
        tools: Others.
        issues: What was left out, and why.

    Raises:
        McpConfigError: two of them have one name or prefix, or a tool has nothing that calls it.
    """

    servers: tuple[McpServerConfig, ...] = ()
    documents: tuple[OpenApiSource, ...] = ()
    tools: tuple[Tool, ...] = ()
    issues: tuple[LoadIssue, ...] = ()

    def __post_init__(self) -> None:
        taken = [config.name for config in self.servers] + [each.name for each in self.documents]
        twice = sorted({name for name in taken if taken.count(name) > 1})
        if twice:
            raise McpConfigError(f"two sources are called {twice[0]!r}. Rename one.")
        check_prefixes(self.servers, {tool.source for tool in self.fixed_tools})
        bare = next((tool for tool in self.tools if tool.call is None), None)
        if bare is not None:
            raise McpConfigError(
                f"of the tool {bare.name!r} only the definition is known. Give what calls it, such as "
                "the configuration of its MCP server or its OpenAPI document."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all sources, sorted; they are known before any server is."""
        stated = {tool.source for tool in self.fixed_tools} | {config.name for config in self.servers}
        return tuple(sorted(stated - {""}))

    @property
    def fixed_tools(self) -> tuple[Tool, ...]:
        """The tools that are of no MCP server."""
        return (*(tool for document in self.documents for tool in document.list_tools()), *self.tools)


def load_sources(
    locations: Sequence[str], tools: Tools = (), *, environment: Mapping[str, str] | None = None
) -> GatewaySources:
    """The sources that configuration files name and OpenAPI documents are, by path or URL, and `tools`.

    A document that cannot be had from its URL is an issue, and so is a gateway among the servers, which would
    start itself.

    Raises:
        McpConfigError, CatalogFileError: a file cannot be read or meant, or as `GatewaySources`.
    """
    known = os.environ if environment is None else environment
    config = sources_at(locations)
    servers: list[McpServerConfig] = []
    documents: list[OpenApiSource] = []
    issues: list[LoadIssue] = []
    for server in config.servers:
        if starts_gateway(server.command, server.args):
            reason = "it is a gateway itself, and left out."
            issues.append(LoadIssue(f"MCP server {server.name!r}", None, "", "error", reason))
        else:
            servers.append(server)
    for each in config.documents:
        try:
            document = each.load(known)
        except CatalogFileError as exc:
            if not is_url(each.document):
                raise
            issues.append(LoadIssue(each.document, None, "", "error", exc.reason))
        else:
            documents.append(document)
            issues += document.issues
    return GatewaySources(tuple(servers), tuple(documents), as_tools(tools), tuple(issues))


def starts_gateway(command: str, args: Sequence[str]) -> bool:
    """Whether the process that is started so is a gateway of this package."""
    return "toolsearch" in [Path(word).stem for word in (command, *args)] and "gateway" in args
