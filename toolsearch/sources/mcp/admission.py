"""`Admission`: which of the tools that servers list may be used, and when that has to be decided anew."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

from toolsearch.exceptions import McpError, ToolSearchError
from toolsearch.sources.mcp.config import McpServerConfig
from toolsearch.sources.mcp.listing import Listing, read_listing, without_namesakes
from toolsearch.tools import Tool

Admit: TypeAlias = Callable[[str, Sequence[Tool], Sequence[Tool]], Iterable[Tool]]
"""Given a server, its tools as they were and all that it lists now, be they of one raw name: those that are
let in. It is called in a thread."""

RECHECK_S = 1.0
"""How often somebody who may decide otherwise is asked for it."""


@runtime_checkable
class Revised(Protocol):
    """What may decide otherwise of the same tools later, such as a guard whose file people change."""

    def state(self) -> object:
        """Equal to an earlier one as long as nothing is decided otherwise; called often, in a thread."""


class Admission:
    """Passes what servers list through their filters, a program's own, and whoever decides on tools."""

    def __init__(self, filter: Callable[[Tool], bool] | None, admit: Admit | None) -> None:  # noqa: A002
        self._filter = filter
        self._admit = admit

    async def offered(self, config: McpServerConfig, records: list[Any]) -> Listing:
        """What a server lists, of which nothing may be used yet."""
        return await asyncio.to_thread(read_listing, records, config, self._permits)

    async def decided(self, listing: Listing, config: McpServerConfig, before: Listing | None) -> Listing:
        """The listing with the tools that may be used, knowing those that might be `before`.

        Raises:
            McpError: that cannot be decided, so none may.
        """
        tools = listing.offered
        if self._admit is not None:
            older = () if before is None else before.tools
            try:
                tools = tuple(await asyncio.to_thread(self._admit, config.name, older, tools))
            except (ToolSearchError, OSError) as exc:
                raise McpError(config.name, f"is left out, as its tools cannot be admitted: {exc}") from exc
        return without_namesakes(replace(listing, tools=tools), config)

    async def revisions(self) -> AsyncIterator[None]:
        """Goes on each time that something may be decided otherwise; ends at once where nothing ever is."""
        async for _ in revisions(self._admit):
            yield

    def _permits(self, tool: Tool) -> bool:
        return self._filter is None or self._filter(tool)


async def revisions(decides: object, *, every_s: float = RECHECK_S) -> AsyncIterator[None]:
    """Goes on each time that `decides` may decide otherwise than before; ends at once if it never does."""
    if not isinstance(decides, Revised):
        return
    known = await asyncio.to_thread(decides.state)
    while True:
        await asyncio.sleep(every_s)
        now = await asyncio.to_thread(decides.state)
        if now != known:
            known = now
            yield
