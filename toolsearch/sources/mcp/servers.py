"""`McpServers`: the tools of many MCP servers, as one tool source."""

from __future__ import annotations

import asyncio
import atexit
import logging
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from toolsearch.catalog import Catalog
from toolsearch.exceptions import McpConfigError, McpError
from toolsearch.functions.running import in_thread
from toolsearch.given import Tools
from toolsearch.sources.files import LoadIssue
from toolsearch.sources.mcp.admission import Admission, Admit
from toolsearch.sources.mcp.child_log import ChildLog
from toolsearch.sources.mcp.config import McpServerConfig, check_prefixes, read_mcp_config
from toolsearch.sources.mcp.host import LoopThread
from toolsearch.sources.mcp.life import ServerLife
from toolsearch.sources.mcp.listing import Listing
from toolsearch.sources.mcp.quiet import THREAD, keep_quiet
from toolsearch.sources.mcp.saved import SavedDefinitions
from toolsearch.sources.mcp.server import McpCall, McpServer, McpStatus
from toolsearch.tools import Tool

if TYPE_CHECKING:
    import httpx2
    import mcp_types as types

    from toolsearch.sources.mcp.asking import OnQuestion

_log = logging.getLogger(__name__)


class McpServers:
    """Servers by name, connected all at once and each by itself: one that is slow or dead keeps up no other.

    They live in a thread of their own until they are closed, so that their tools run in any event loop.

    >>> with McpServers.from_config("mcp.json") as servers:
    ...     router = ToolRouter(model, servers.catalog)
    ...     print(router.run_sync("What changed in the repository this week?").text)

    Attributes:
        servers: Each server, for what a catalog of tools has no room for.
    """

    def __init__(
        self,
        configs: Iterable[McpServerConfig],
        *,
        saved: Path | str | None = None,
        log_folder: Path | str | None = None,
        filter: Callable[[Tool], bool] | None = None,  # noqa: A002
        admit: Admit | None = None,
        auth: Mapping[str, httpx2.Auth] | None = None,
        environment: Mapping[str, str] | None = None,
        on_question: OnQuestion | None = None,
    ) -> None:
        """Connects to nothing yet.

        Args:
            configs: The servers; see `read_mcp_config`.
            saved: A folder for what they list, so that a lazy server need not be started to be searched.
            log_folder: A folder for what their processes write to standard error, a file each.
            filter: Asked of each tool beside the filters of its server's settings.
            admit: Decides on the tools that a server lists now, knowing those that it listed before; one that
                is `Revised`, as a guard is, is asked anew when its decisions change.
            auth: What adds credentials to the requests of a server, such as the OAuth providers of the SDK.
            environment: Where values of ``${VAR}`` come from; that of the process by default.
            on_question: Replies to servers whose settings let them ask for something; it is awaited in the
                loop of the servers. Without it they are told that nobody can be asked.

        Raises:
            McpConfigError: two servers have one name or prefix, or `auth` is for a server that is not there.
            ImportError: the extra ``mcp`` is not installed.
        """
        if find_spec("mcp") is None:
            raise ImportError("MCP servers need the package mcp. Install it: pip install 'toolsearch[mcp]'")
        self._configs = _by_name(configs)
        check_prefixes(self._configs.values())
        unknown = sorted(set(auth or ()) - self._configs.keys())
        if unknown:
            raise McpConfigError(f"auth is for {', '.join(unknown)}, and there is no such server.")
        self._saved = None if saved is None else SavedDefinitions(saved)
        self._admission = Admission(filter, admit)
        self._catalog = Catalog()
        self._callbacks: list[Callable[[Catalog], None]] = []
        self._listeners: list[Callable[[str, types.ServerNotification], None]] = []
        self._starting: set[asyncio.Task[None]] = set()
        self._telling: asyncio.Task[None] | None = None
        self._deciding: asyncio.Task[None] | None = None
        self._undecided: dict[str, McpError] = {}
        self._turns = {name: asyncio.Lock() for name in self._configs}
        self._told = self._catalog
        self._is_started = False
        self._is_closed = False
        self._host = LoopThread(THREAD)
        keep_quiet()
        self._lives: dict[str, ServerLife] = {}
        servers: dict[str, McpServer] = {}
        for name, config in self._configs.items():
            path = (
                None if log_folder is None else Path(log_folder) / f"{config.digest[:16]}-{name_of(name)}.log"
            )
            log = ChildLog(path)
            self._lives[name] = ServerLife(
                config,
                environment=os.environ if environment is None else environment,
                log=log,
                auth=(auth or {}).get(name),
                on_listed=_bound(self._listed, name),
                on_notification=_told_of(self, name),
                on_question=on_question,
            )
            servers[name] = McpServer(self._lives[name], self._host, log)
        self.servers: Mapping[str, McpServer] = MappingProxyType(servers)
        atexit.register(self.close)

    @classmethod
    def from_config(cls, *configs: Path | str | Mapping[str, Any], **options: Any) -> Self:
        """The servers of configuration files, or of JSON objects like them.

        Raises:
            McpConfigError: as `read_mcp_config`, and as the class.
        """
        return cls([server for config in configs for server in read_mcp_config(config)], **options)

    @property
    def name(self) -> str:
        return f"MCP servers {', '.join(self._configs)}"

    @property
    def catalog(self) -> Catalog:
        """The tools of all servers that are known by now. A newer one takes its place when they change."""
        return self._catalog

    @property
    def statuses(self) -> tuple[McpStatus, ...]:
        """What is known of each server."""
        return tuple(server.status for server in self.servers.values())

    @property
    def issues(self) -> tuple[LoadIssue, ...]:
        """What is wrong with servers and with their tools."""
        found: list[LoadIssue] = []
        for status in self.statuses:
            if status.reason:
                place = f"MCP server {status.server!r}"
                found.append(LoadIssue(place, None, "", "error", status.reason))
            found += status.issues
        return tuple(found)

    def list_tools(self) -> Sequence[Tool]:
        """The tools of all servers, which are started if need be; blocks until each has had its time."""
        self.open()
        return tuple(self.catalog.values())

    def open(self, *, wait_s: float = math.inf) -> Self:
        """Starts all servers at once, and waits until each is ready or has failed, up to `wait_s` seconds.

        Those that come later are added to the catalog. None raises anything: see `issues`.
        """
        self._host.wait(self._opened(wait_s))
        return self

    async def start(self, *, wait_s: float = math.inf) -> Self:
        """`open`, for callers with an event loop."""
        await self._host.run(self._opened(wait_s))
        return self

    def close(self) -> None:
        """Ends every connection and process; returns when they are gone. May be called more than once."""
        atexit.unregister(self.close)
        if not self._is_closed:
            self._is_closed = True
            if self._host.is_running:
                self._host.wait(self._end())
            self._host.close()

    async def aclose(self) -> None:
        """`close`, for callers with an event loop."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def with_calls(self, tools: Tools) -> Catalog:
        """The tools, such as those of a saved index, where they are of these servers with what calls them."""
        return Catalog(map(self._callable, Catalog.of(tools).values()))

    def on_change(self, callback: Callable[[Catalog], None]) -> Callable[[], None]:
        """Has `callback` called with each newer catalog, in a thread, one at a time; gives what ends that.

        Of several changes in short order only the last may be told. To keep a router up to date, assign the
        catalog to it: it embeds only what has changed.
        """
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    def on_notification(
        self, listener: Callable[[str, types.ServerNotification], None]
    ) -> Callable[[], None]:
        """Has `listener` called with what a server sends without being asked; gives what ends that.

        It is called in the thread of the servers, so it must not block.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def _opened(self, wait_s: float) -> None:
        if not self._is_started:
            self._is_started = True
            await self._recall()
            # It takes a second or more, and would hold up whatever else runs in the loop.
            await asyncio.to_thread(import_module, "toolsearch.sources.mcp.connection")
            self._starting = {asyncio.create_task(life.start()) for life in self._lives.values()}
            self._deciding = asyncio.create_task(self._follow_decisions())
        if self._starting:
            await asyncio.wait(self._starting, timeout=None if wait_s == math.inf else wait_s)

    async def _recall(self) -> None:
        """Takes the definitions of lazy servers from where they were saved."""
        if self._saved is None:
            return
        for life in self._lives.values():
            records = self._saved.load(life.config) if life.config.settings.lazy else None
            if records is not None:
                with suppress(McpError):
                    await self._decide(life, await self._admission.offered(life.config, records))
        self._put_together()

    async def _listed(self, name: str, records: list[Any]) -> Listing:
        life = self._lives[name]
        before = life.listing
        try:
            listing = await self._decide(life, await self._admission.offered(life.config, records))
        finally:
            self._put_together()
        if self._saved is not None and (before is None or before.records != listing.records):
            try:
                await asyncio.to_thread(self._saved.store, life.config, records)
            except OSError as exc:
                _log.warning("the definitions of MCP server %r cannot be saved: %s", name, exc)
        return listing

    async def _decide(self, life: ServerLife, offered: Listing | None = None) -> Listing:
        """Has a server list what may be used of what it offers, by default of what it offered last.

        Raises:
            McpError: that cannot be decided, so nothing may.
        """
        async with self._turns[life.name]:
            before = life.listing
            offered = offered or before or Listing()
            try:
                life.listing = listing = await self._admission.decided(offered, life.config, before)
            except McpError as exc:
                # What was let in before may not be what the server does now.
                life.listing = replace(offered, tools=())
                life.error = self._undecided[life.name] = exc
                raise
            if life.error is not None and life.error is self._undecided.pop(life.name, None):
                life.error = None
            return listing

    async def _follow_decisions(self) -> None:
        """Decides anew on what servers list when that may come out otherwise, as once it is approved."""
        async for _ in self._admission.revisions():
            known = [life for life in self._lives.values() if life.listing is not None]
            await asyncio.gather(*map(self._decide, known), return_exceptions=True)
            self._put_together()

    def _put_together(self) -> None:
        tools = [tool for life in self._lives.values() if life.listing for tool in life.listing.tools]
        catalog = Catalog(map(self._callable, tools))
        if catalog.fingerprint == self._catalog.fingerprint:
            return
        self._catalog = catalog
        if self._is_started and (self._telling is None or self._telling.done()):
            self._telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        while self._told is not self._catalog:
            self._told = catalog = self._catalog
            for callback in tuple(self._callbacks):
                try:
                    # Not in the loop's own pool, which would keep the loop from closing.
                    await in_thread(partial(callback, catalog))
                except Exception:  # noqa: BLE001 - it is somebody's code, and others are told all the same
                    _log.exception("a callback for newer catalogs of MCP servers failed")

    def _callable(self, tool: Tool) -> Tool:
        server = self.servers.get(tool.source)
        # Calls have limits of their own, which progress extends.
        return (
            tool if server is None else replace(tool, call=McpCall(server, tool.raw_name), timeout_s=math.inf)
        )

    async def _end(self) -> None:
        for task in self._starting:
            task.cancel()
        for running in (self._telling, self._deciding):
            if running is not None:
                running.cancel()
        await asyncio.gather(*(life.close() for life in self._lives.values()))


def name_of(server: str) -> str:
    """The name of a server as part of a file's name."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in server)[:60]


def _by_name(configs: Iterable[McpServerConfig]) -> dict[str, McpServerConfig]:
    found: dict[str, McpServerConfig] = {}
    for config in configs:
        if config.name in found:
            raise McpConfigError("there are two servers of this name. Rename one.", server=config.name)
        found[config.name] = config
    return found


def _bound(listed: Callable[[str, list[Any]], Any], name: str) -> Callable[[list[Any]], Any]:
    return lambda records: listed(name, records)


def _told_of(servers: McpServers, name: str) -> Callable[[types.ServerNotification], None]:
    def tell(notification: types.ServerNotification) -> None:
        for listener in tuple(servers._listeners):
            listener(name, notification)

    return tell
