"""All pages of a server's tools, and what the tools of a server are once they are read and filtered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from toolsearch.exceptions import DefinitionError, McpLostError, McpProtocolError
from toolsearch.formats import read_entries
from toolsearch.formats.base import ORIGIN_KEYS
from toolsearch.sources.files import LoadIssue
from toolsearch.sources.mcp.config import McpServerConfig
from toolsearch.sources.mcp.filters import permits
from toolsearch.tools import JsonObject, Tool

if TYPE_CHECKING:
    from toolsearch.sources.mcp.connection import Connection

MAX_PAGES = 10_000
_PAGES_IN_TIME = 10


@dataclass(frozen=True)
class Listing:
    """What a server lists.

    Attributes:
        tools: Those that may be used, in the server's order, without a `call`, and one of each raw name.
        offered: Those that can be used and that filters let through, before anybody has decided on them; of
            one raw name there may be several.
        issues: What was wrong with others, or changed.
        records: All of them, as the server wrote them.
        n_filtered: How many are not let through.
    """

    tools: tuple[Tool, ...] = ()
    offered: tuple[Tool, ...] = ()
    issues: tuple[LoadIssue, ...] = ()
    records: tuple[Any, ...] = field(default=(), repr=False)
    n_filtered: int = 0


async def list_all(connection: Connection, *, page_timeout_s: float) -> list[Any]:
    """Every tool of a server as it wrote it. All pages together may take ten times as long as one.

    Raises:
        McpProtocolError: its pages have no end.
        McpError: as `Connection.request`.
    """
    from toolsearch.sources.mcp.tolerant import RAW_TOOLS

    records: list[Any] = []
    seen: set[str] = set()
    cursor: str | None = None
    total_s = _PAGES_IN_TIME * page_timeout_s
    try:
        async with asyncio.timeout(total_s):
            for _ in range(MAX_PAGES):
                page = await connection.list_page(cursor, timeout_s=page_timeout_s)
                records += (page.meta or {}).get(RAW_TOOLS, ())
                cursor = page.next_cursor
                if cursor is None:
                    return records
                if cursor in seen:
                    raise McpProtocolError(
                        connection.server,
                        f"lists its tools without an end: page {len(seen) + 1} leads back to an earlier one.",
                    )
                seen.add(cursor)
    except TimeoutError:
        raise McpLostError(
            connection.server,
            f"did not list all its tools within {total_s:g} s; {len(records):,} came.",
        ) from None
    raise McpProtocolError(connection.server, f"lists its tools on more than {MAX_PAGES:,} pages.")


def read_listing(
    records: Sequence[Any],
    config: McpServerConfig,
    also: Callable[[Tool], bool] = lambda tool: True,
) -> Listing:
    """What the records of a server offer; one that cannot be used leaves the others as they are.

    Of tools of one raw name all are among them, as whoever admits tools may know which one is meant. None is
    admitted yet.
    `also` is asked beside the filters of the configuration, before anything is named or indexed.
    """
    place = f"MCP server {config.name!r}"
    tools: list[Tool] = []
    issues: list[LoadIssue] = []
    n_filtered = 0
    for entry in read_entries([_own_words(record) for record in records], source=config.name, form="mcp"):
        tool = entry.tool
        if isinstance(tool, DefinitionError):
            issues.append(LoadIssue(place, None, tool.tool, "error", tool.reason))
            continue
        if not (permits(config.settings, tool) and also(tool)):
            n_filtered += 1
            continue
        issues += (LoadIssue(place, None, tool.raw_name, "mended", message) for message in entry.mended)
        tools.append(replace(tool, prefix=config.settings.prefix))
    return Listing((), tuple(tools), tuple(issues), tuple(records), n_filtered)


def without_namesakes(listing: Listing, config: McpServerConfig) -> Listing:
    """The listing with the first tool of each raw name, as a call cannot say which one it means."""
    tools: dict[str, Tool] = {}
    issues = [issue for issue in listing.issues if issue.severity != "duplicate"]
    for tool in listing.tools:
        if tool.raw_name in tools:
            place = f"MCP server {config.name!r}"
            said = "listed twice; the first one is kept."
            issues.append(LoadIssue(place, None, tool.raw_name, "duplicate", said))
        else:
            tools[tool.raw_name] = tool
    return replace(listing, tools=tuple(tools.values()), issues=tuple(issues))


def _own_words(record: Any) -> Any:
    """A record that cannot claim to be of another server, nor hold other definitions."""
    if not isinstance(record, dict):
        return record
    kept: JsonObject = {key: value for key, value in record.items() if key not in ORIGIN_KEYS}
    return {**kept, "inputSchema": record.get("inputSchema")}
