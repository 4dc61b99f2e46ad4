"""The tools of configured sources with what calls them, for as long as they are open."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from toolsearch.catalog import Catalog
from toolsearch.exceptions import CatalogFileError
from toolsearch.naming import SEPARATOR, public_name
from toolsearch.sources.configured import SourcesConfig, is_config_file, read_sources
from toolsearch.sources.files import LoadIssue
from toolsearch.sources.mcp.servers import McpServers
from toolsearch.sources.openapi.config import OpenApiConfig
from toolsearch.tools import Tool

LARGEST_RESULT = 1 << 26
"""Characters or bytes of a result that is wanted whole: what is read of a message of a server at most."""


@dataclass(frozen=True)
class OpenTools:
    """Tools that can be called, and why there may be others."""

    catalog: Catalog
    issues: tuple[LoadIssue, ...] = ()


def sources_at(locations: Sequence[str]) -> SourcesConfig:
    """What configuration files name, and OpenAPI documents that are given as such, by path or URL.

    Raises:
        McpConfigError, CatalogFileError: as `read_sources`.
    """
    configs = [location for location in locations if is_config_file(location)]
    config = read_sources(*configs)
    # A document of its own is called by its title, which is not known yet.
    bare = tuple(OpenApiConfig(name="", document=each) for each in locations if each not in configs)
    return replace(config, documents=(*config.documents, *bare))


def may_hold(config: SourcesConfig, name: str) -> SourcesConfig:
    """The sources whose tools can be called `name`, so that no others need be started; all for a raw name."""
    fitting = [each.name for each in config.documents if each.name and name.startswith(_beginning(each.name))]
    fitting += [each.name for each in config.servers if name.startswith(_beginning(each.prefix))]
    documents = tuple(each for each in config.documents if not each.name)
    if not fitting:
        return config
    chosen = config.only(fitting)
    return replace(chosen, documents=(*chosen.documents, *documents))


@contextmanager
def open_tools(
    config: SourcesConfig, *, whole: bool = False, environment: Mapping[str, str] | None = None
) -> Iterator[OpenTools]:
    """The tools of the sources; their servers run until the end of the context.

    With `whole`, results are not cut to what a model can be given.
    """
    known = os.environ if environment is None else environment
    tools: list[Tool] = []
    issues: list[LoadIssue] = []
    for document in config.documents:
        try:
            more = {"max_result_bytes": LARGEST_RESULT} if whole else {}
            source = document.load(known, **more)
        except CatalogFileError as exc:
            issues.append(LoadIssue(str(exc.path), exc.line, "", "error", exc.reason))
        else:
            tools += source.list_tools()
    if not config.servers:
        yield OpenTools(Catalog(tools), tuple(issues))
        return
    servers = config.servers
    if whole:
        servers = tuple(
            replace(each, settings=replace(each.settings, max_result_chars=LARGEST_RESULT))
            for each in servers
        )
    with McpServers(servers, environment=known) as opened:
        catalog = Catalog((*tools, *opened.catalog.values()))
        yield OpenTools(catalog, (*issues, *opened.issues))


def found(tools: Catalog, name: str) -> Tool:
    """The tool of this public name, or the only one that is called so by its source, or as ``source/name``.

    Raises:
        UnknownToolError: there is none, or there are several.
    """
    from toolsearch.exceptions import UnknownToolError
    from toolsearch.naming import near_names

    if name in tools:
        return tools[name]
    called = [tool for tool in tools.values() if name in {tool.raw_name, f"{tool.source}/{tool.raw_name}"}]
    if len(called) == 1:
        return called[0]
    near = tuple(tool.name for tool in called) or near_names(name, tools)
    raise UnknownToolError(name, near)


def _beginning(prefix: str) -> str:
    """What public names with a prefix begin with; of a long one, what no cut takes away."""
    return public_name(prefix, "x").partition(SEPARATOR)[0][:40] if prefix else ""
