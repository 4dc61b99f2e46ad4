"""Whether configured sources work: each is connected to and asked for its tools, all at once."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module

from toolsearch.exceptions import CatalogFileError, McpConfigError, McpError
from toolsearch.sources.configured import SourcesConfig
from toolsearch.sources.files import LoadIssue
from toolsearch.sources.mcp.hints import hint
from toolsearch.sources.mcp.servers import McpServers
from toolsearch.sources.openapi.config import OpenApiConfig


@dataclass(frozen=True, kw_only=True)
class SourceCheck:
    """How a source is.

    Attributes:
        name: Of the source.
        kind: ``stdio``, ``http``, ``sse``, ``auto`` or ``openapi``.
        n_tools: Tools that can be used.
        n_filtered: Tools that its settings keep out.
        took_s: Until its tools were known, or it had failed.
        version: What it calls itself, with its version; empty where it does not.
        reason: Why it cannot be used; empty where it works.
        hint: What to do about that.
        issues: What is wrong with some of its tools.
        last_words: The last lines that its process wrote to standard error.
    """

    name: str
    kind: str
    n_tools: int = 0
    n_filtered: int = 0
    took_s: float = 0.0
    version: str = ""
    reason: str = ""
    hint: str = ""
    issues: tuple[LoadIssue, ...] = field(default=())
    last_words: tuple[str, ...] = ()

    @property
    def works(self) -> bool:
        return not self.reason


def check_sources(
    config: SourcesConfig, *, timeout_s: float | None = None, environment: Mapping[str, str] | None = None
) -> tuple[SourceCheck, ...]:
    """How each source is, in the order of the configuration; none raises anything.

    Args:
        config: The sources.
        timeout_s: In place of the time that each server has to start and to list a page.
        environment: Where values of ``${VAR}`` come from; that of the process by default.

    Raises:
        ImportError: there are MCP servers, and the extra ``mcp`` is not installed.
    """
    known = os.environ if environment is None else environment
    return asyncio.run(_checked(config, timeout_s, known))


async def _checked(
    config: SourcesConfig, timeout_s: float | None, environment: Mapping[str, str]
) -> tuple[SourceCheck, ...]:
    documents = [asyncio.to_thread(_document, each, environment) for each in config.documents]
    if not config.servers:
        return tuple(await asyncio.gather(*documents))
    configs = config.servers
    if timeout_s is not None:
        configs = tuple(
            replace(each, settings=replace(each.settings, connect_timeout_s=timeout_s)) for each in configs
        )
    servers = McpServers(configs, environment=environment)
    # It takes seconds, which are no server's.
    await asyncio.to_thread(import_module, "toolsearch.sources.mcp.connection")
    try:
        found = await asyncio.gather(*(_server(servers, name) for name in servers.servers), *documents)
    finally:
        await servers.aclose()
    return tuple(found)


async def _server(servers: McpServers, name: str) -> SourceCheck:
    server = servers.servers[name]
    started = time.perf_counter()
    version = reason = advice = ""
    try:
        info, _, _ = await server.connect()
        version = "" if info is None else f"{info.name} {info.version}".strip()
        await server.refresh()
    except McpError as exc:
        reason = exc.reason
        # What is wrong with a configuration is said with what to do.
        advice = "" if isinstance(exc, McpConfigError) else hint(server.config, reason)
    status = server.status
    return SourceCheck(
        name=name,
        kind=server.config.transport,
        n_tools=status.n_tools,
        n_filtered=status.n_filtered,
        took_s=time.perf_counter() - started,
        version=version,
        reason=reason,
        hint=advice,
        issues=status.issues,
        last_words=status.last_words,
    )


def _document(config: OpenApiConfig, environment: Mapping[str, str]) -> SourceCheck:
    started = time.perf_counter()
    try:
        source = config.load(environment)
    except CatalogFileError as exc:
        took_s = time.perf_counter() - started
        return SourceCheck(name=config.name, kind="openapi", took_s=took_s, reason=f"{exc.reason}.")
    return SourceCheck(
        name=config.name,
        kind="openapi",
        n_tools=len(source.list_tools()),
        took_s=time.perf_counter() - started,
        issues=source.issues,
    )
