"""`Gateway`: many tool sources behind one MCP server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import mcp_types as types

from toolsearch.catalog import Catalog
from toolsearch.checks import check_choice, check_whole
from toolsearch.delivery.base import Delivery
from toolsearch.discovery.settings import MAX_LIMIT
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import EmbeddingError, McpError, ToolSearchError
from toolsearch.gateway.calls import Calls
from toolsearch.gateway.clients import Clients
from toolsearch.gateway.finding import described, found
from toolsearch.gateway.fixed_tools import Mode, instructions
from toolsearch.gateway.live_search import LiveSearch
from toolsearch.gateway.passing import Passing
from toolsearch.gateway.questions import asked
from toolsearch.gateway.server import GatewayServer
from toolsearch.gateway.sources import GatewaySources
from toolsearch.messages import ToolResult
from toolsearch.sources.mcp.admission import revisions
from toolsearch.sources.mcp.asking import Question, Reply
from toolsearch.sources.mcp.servers import McpServers
from toolsearch.tools import JsonObject, Tool
from toolsearch.trust import TrustGuard
from toolsearch.trust.guard import admit_all

WAIT_S = 20.0
"""How long the first client waits for servers that have not listed their tools at any earlier time."""

_log = logging.getLogger(__name__)


class Gateway:
    """Searches and calls the tools of all sources for its clients, and passes on resources and prompts.

    >>> async with Gateway(load_sources(["mcp.json"])) as gateway:
    ...     await serve_stdio(gateway.server)

    Attributes:
        server: A server of the official SDK, for as many clients and transports as there are.
    """

    def __init__(
        self,
        sources: GatewaySources,
        *,
        mode: Mode = "bridge",
        guard: TrustGuard | None = None,
        folder: Path | str | None = None,
        embedder: Callable[[], Embedder] | None = None,
        limit: int = 5,
        wait_s: float = WAIT_S,
        name: str = "toolsearch",
    ) -> None:
        """Starts nothing yet.

        Args:
            sources: What is behind it; see `load_sources`.
            mode: How clients are given tools.
            guard: Decides which tools may be used; None for all.
            folder: Where the index, and what servers list, is kept between runs; None for nowhere.
            embedder: Makes the embedder of the search; by default the bundled one.
            limit: The most tools that a query finds unless the model asks for another number.
            wait_s: How long what the first client asks for waits for servers; those that are late come later.
            name: What it calls itself.

        Raises:
            ValueError: an unknown mode, or a limit out of its range.
        """
        check_choice("mode", mode, Mode)
        check_whole("limit", limit, most=MAX_LIMIT)
        home = None if folder is None else Path(folder)
        self._sources = sources
        self._mode = mode
        self._guard = guard
        self._limit = limit
        self._wait_s = wait_s
        self._fixed_tools = sources.fixed_tools
        self._fixed: tuple[Tool, ...] = ()
        self._servers = McpServers(
            sources.servers,
            saved=None if home is None else home / "tools",
            log_folder=None if home is None else home / "logs",
            admit=guard,
            on_question=self._asked,
        )
        self._search = LiveSearch(embedder or _bundled, None if home is None else home / "index")
        self._clients = Clients()
        self._passing = Passing(self._servers.servers, home, self._clients.tell, guard)
        self._opening: asyncio.Task[None] | None = None
        self._telling: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._undo: list[Callable[[], None]] = []
        self._last = Catalog()
        self._joined: tuple[Catalog | None, tuple[Tool, ...], Catalog] = None, (), self._last
        self.server = GatewayServer(
            self,
            self._clients,
            Calls(self._clients),
            self._passing,
            mode=mode,
            name=name,
            sources=sources.names,
            limit=limit,
            instructions=instructions(mode, sources.names),
        )

    @property
    def servers(self) -> McpServers:
        """The MCP servers behind it."""
        return self._servers

    async def __aenter__(self) -> Self:
        for issue in self._sources.issues:
            _log.warning("%s", issue)
        self._fixed = self._fixed_tools
        if self._guard is not None:
            # A trust file that cannot be used is told before anything is served.
            await asyncio.to_thread(self._guard.file.load)
            self._fixed = await asyncio.to_thread(self._admitted, self._guard)
        loop = self._loop = asyncio.get_running_loop()

        def changed(catalog: Catalog) -> None:
            del catalog
            self._index()
            loop.call_soon_threadsafe(self._has_changed)

        def told(server: str, notification: types.ServerNotification) -> None:
            loop.call_soon_threadsafe(self._notified, server, notification)

        self._undo = [self._servers.on_change(changed), self._servers.on_notification(told)]
        self._opening = asyncio.create_task(self._open())
        if self._guard is not None:
            self._run(self._follow_decisions(self._guard))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for undo in self._undo:
            undo()
        tasks = [task for task in (self._opening, *self._telling) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await self._passing.close()
        await self._servers.aclose()
        for document in self._sources.documents:
            await document.aclose()

    async def catalog(self) -> Catalog:
        """The tools that there are, once the sources have had their time."""
        if self._opening is None:
            raise RuntimeError("The gateway is not open: async with Gateway(...).")
        await asyncio.shield(self._opening)
        return self._now()

    async def find(self, arguments: JsonObject, delivery: Delivery) -> ToolResult:
        """What `tool_search` answers."""
        catalog = await self.catalog()
        return await asyncio.to_thread(found, arguments, catalog, self._search, delivery, limit=self._limit)

    async def describe(self, arguments: JsonObject) -> ToolResult:
        """What `describe_tool` answers."""
        return described(arguments, await self.catalog())

    async def log_from(self, level: types.LoggingLevel) -> None:
        """Asks the servers that run for log messages of that level and above."""
        running = [each for each in self._servers.servers.values() if each.status.state == "ready"]
        await asyncio.gather(*(_set_level(server, level) for server in running))

    async def _open(self) -> None:
        await self._servers.start(wait_s=self._wait_s)
        for status in self._servers.statuses:
            if status.reason:
                _log.warning("MCP server %r %s", status.server, status.reason)
        if self._mode != "all":
            await asyncio.to_thread(self._index)
        self._last = self._now()

    def _now(self) -> Catalog:
        listed, fixed = self._servers.catalog, self._fixed
        known, older, joined = self._joined
        if known is not listed or older is not fixed:
            joined = Catalog((*fixed, *listed.values()))
            self._joined = listed, fixed, joined
        return joined

    def _admitted(self, guard: TrustGuard) -> tuple[Tool, ...]:
        """The tools of no MCP server that may be used."""
        reviews = admit_all(guard, self._fixed_tools)
        return tuple(tool for review in reviews for tool in review.admitted)

    async def _follow_decisions(self, guard: TrustGuard) -> None:
        async for _ in revisions(guard):
            try:
                fixed = await asyncio.to_thread(self._admitted, guard)
            except (ToolSearchError, OSError) as exc:
                _log.warning("the tools of documents are left out, as they cannot be admitted: %s", exc)
                fixed = ()
            if fixed != self._fixed:
                self._fixed = fixed
                await asyncio.to_thread(self._index)
                self._has_changed()
            for what in sorted(await self._passing.decide_again()):
                await self._clients.tell(what)

    def _index(self) -> None:
        if self._mode == "all":
            return
        try:
            self._search.follow(self._now)
        except EmbeddingError as exc:
            _log.warning("the tools cannot be indexed: %s", exc)

    def _has_changed(self) -> None:
        older, self._last = self._last, self._now()
        if self._opening is None or not self._opening.done():
            return
        difference = older.diff(self._last)
        if self._mode == "all" and difference:
            self._run(self._clients.tell("tools"))
        elif self._mode == "dynamic":
            self._run(self._clients.tell_changed_tools({*difference.removed, *difference.changed}))

    def _notified(self, server: str, notification: types.ServerNotification) -> None:
        match notification:
            case types.PromptListChangedNotification():
                self._run(self._clients.tell("prompts"))
            case types.ResourceListChangedNotification():
                self._run(self._clients.tell("resources"))
            case types.LoggingMessageNotification(params=params):
                self._run(self._clients.pass_on(server, params))
            case _:
                pass

    async def _asked(self, server: str, question: Question) -> Reply:
        """What the client that calls a server replies to it; awaited in the loop of the servers."""
        if self._loop is None:
            raise RuntimeError("The gateway is not open: async with Gateway(...).")

        async def ask() -> Reply:
            return await asked(server, question, self._clients.flights_of(server))

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(ask(), self._loop))

    def _run(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


async def _set_level(server: Any, level: types.LoggingLevel) -> None:
    try:
        _, capabilities, _ = await server.connect()
        if capabilities.logging is not None:
            params = types.SetLevelRequestParams(level=level)
            await server.ask(types.SetLevelRequest(params=params), types.EmptyResult)
    except McpError as exc:
        _log.warning("MCP server %r keeps its log level: %s", server.name, exc.reason)


def _bundled() -> Embedder:
    from toolsearch.embedders.bundled import BundledEmbedder
    from toolsearch.embedders.cache import CachedEmbedder

    return CachedEmbedder(BundledEmbedder())
