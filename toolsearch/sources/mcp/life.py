"""`ServerLife`: one server through starts, crashes, idle times and changes; lives in one event loop."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from toolsearch.exceptions import McpConfigError, McpConnectionError, McpError
from toolsearch.sources.mcp.backoff import STEADY_S, Backoff
from toolsearch.sources.mcp.child_log import ChildLog
from toolsearch.sources.mcp.config import McpServerConfig
from toolsearch.sources.mcp.listing import Listing, list_all
from toolsearch.sources.mcp.refresher import Refresher

if TYPE_CHECKING:
    import mcp_types as types

    from toolsearch.sources.mcp.asking import OnQuestion
    from toolsearch.sources.mcp.connection import Connection

T = TypeVar("T")
State: TypeAlias = Literal["idle", "connecting", "ready", "failed", "closed"]

_FOR_EVER_S = 30 * 24 * 3600.0
"""Longer waits are not set a clock for, which some systems could not."""

_log = logging.getLogger(__name__)


class ServerLife:
    """Connects when it has to, and knows what the server lists.

    Attributes:
        config: As it is written.
        listing: What it listed last, or at an earlier time; None where that is not known.
        error: Why it last failed; None once it works.
    """

    def __init__(
        self,
        config: McpServerConfig,
        *,
        environment: Mapping[str, str],
        log: ChildLog,
        auth: Any,
        on_listed: Callable[[list[Any]], Awaitable[Listing]],
        on_notification: Callable[[types.ServerNotification], None],
        on_question: OnQuestion | None = None,
    ) -> None:
        """Starts nothing.

        Args:
            config: How it is started or reached.
            environment: Where values of variables come from.
            log: Takes what it writes to standard error.
            auth: An `httpx2.Auth`, or None.
            on_listed: Is given what the server lists, and gives back what that means.
            on_notification: Is told of what the server sends without being asked.
            on_question: Replies to what its settings let it ask; None for nobody.
        """
        self.config = config
        self.listing: Listing | None = None
        self.error: McpError | None = None
        self._environment = environment
        self._child_log = log
        self._auth = auth
        self._on_listed = on_listed
        self._on_notification = on_notification
        self._on_question = on_question
        self._backoff = Backoff()
        self._refresher = Refresher(self._list)
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[Connection] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._retrying: asyncio.Task[None] | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._n_busy = 0
        self._has_answered = False
        self._has_ended = False
        self._since = 0.0
        self._is_closed = False

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def state(self) -> State:
        if self._is_closed:
            return "closed"
        if self._connection is not None and self._connection.is_open:
            return "ready"
        if self._connecting is not None:
            return "connecting"
        return "failed" if self.error is not None else "idle"

    async def start(self) -> None:
        """Returns once its tools are known or cannot be; a lazy server that is known is not started."""
        if self.listing is not None and self.config.settings.lazy:
            return
        try:
            await self.connected()
            await self._refresher.settled()
        except McpError:
            # It is kept in `error`, and tried again.
            self._keep_trying()

    async def refresh(self) -> None:
        """Lists the tools now.

        Raises:
            McpError: that failed; what was known before is kept.
        """
        await self.connected()
        self.error = None
        self._refresher.ask()
        await self._refresher.settled()
        if self.error is not None:
            raise self.error

    async def use(self, ask: Callable[[Connection], Awaitable[T]]) -> T:
        """What `ask` gives with a connection, which is opened if need be.

        It is asked again only where nothing of the first time was sent, as the session had ended.

        Raises:
            McpError: there is no connection, or `ask` raises it.
        """
        self._n_busy += 1
        self._stop_timer()
        try:
            connection = await self.connected()
            try:
                answer = await ask(connection)
            except McpConnectionError:
                if connection.is_open or self._is_closed:
                    raise
                connection = await self.connected()
                answer = await ask(connection)
        finally:
            self._n_busy -= 1
            self._start_timer()
        self._has_answered = True
        self._has_ended = False
        return answer

    async def connected(self) -> Connection:
        """A connection that is open; several who wait share one start.

        Raises:
            McpError: the server cannot be started or reached, or was tried only just now.
        """
        if self._is_closed:
            raise McpConnectionError(self.name, "is closed.")
        if self._connection is not None and self._connection.is_open:
            return self._connection
        if self._connecting is None:
            wait_s = self._backoff.wait_s(self._now())
            if wait_s > 0 and self.error is not None:
                raise McpConnectionError(
                    self.name, f"is down, and tried again in {math.ceil(wait_s)} s: it {self.error.reason}"
                )
            self._connecting = asyncio.create_task(self._connect())
            self._connecting.add_done_callback(self._is_connected)
        return await asyncio.shield(self._connecting)

    async def close(self) -> None:
        """Returns when its process has ended and nothing runs any more."""
        self._is_closed = True
        self._stop_timer()
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait((self._connecting,))
        await self._refresher.close()
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))
        if self._connection is not None:
            await self._connection.close()

    async def _connect(self) -> Connection:
        from toolsearch.sources.mcp.connection import Connection

        if self._connection is not None:
            # Two processes of a server may get into each other's way.
            await self._connection.close()
        try:
            config = self.config.expanded(self._environment)
            self._child_log.hide(_secrets(self.config, config))
            connection = Connection(
                config,
                log=self._child_log,
                auth=self._auth,
                on_notification=self._notified,
                on_question=self._on_question,
            )
            self._connection = connection
            await connection.open()
        except McpError as exc:
            self.error = exc
            self._backoff.failed(self._now())
            raise
        self.error = None
        self._has_answered = False
        self._since = self._now()
        self._run(self._watch(connection))
        self._refresher.ask()
        return connection

    def _is_connected(self, task: asyncio.Task[Connection]) -> None:
        self._connecting = None
        if not task.cancelled():
            # Nobody may be waiting for it any more.
            task.exception()
        self._start_timer()

    async def _watch(self, connection: Connection) -> None:
        """Lists anew from time to time, until the connection is over; then notes whether it should be."""
        while not connection.over.is_set():
            try:
                async with asyncio.timeout(min(self.config.settings.relist_s, _FOR_EVER_S)):
                    await connection.over.wait()
            except TimeoutError:
                if self.config.settings.relist_s <= _FOR_EVER_S:
                    self._refresher.ask()
        if connection is not self._connection or connection.is_closing:
            return
        if self._has_answered or self._now() - self._since >= STEADY_S:
            self._backoff.worked()
        if self._has_ended:
            self._backoff.failed(self._now())
        self._has_ended = True
        said = self._child_log.last()
        last = f" Its last words: {said}" if said else ""
        self.error = McpConnectionError(self.name, f"ended by itself.{last}")
        _log.warning("MCP server %r ended by itself", self.name)
        self._keep_trying()

    def _keep_trying(self) -> None:
        """Starts it again after a while, where nobody's call would: without that its tools never come."""
        is_missed = not self.config.settings.lazy or self.listing is None
        is_trying = self._retrying is not None and not self._retrying.done()
        if is_missed and not is_trying and not self._is_closed and not isinstance(self.error, McpConfigError):
            self._retrying = self._run(self._try_again())

    async def _try_again(self) -> None:
        while not self._is_closed:
            await asyncio.sleep(self._backoff.wait_s(self._now()))
            try:
                await self.connected()
            except McpError:
                continue
            return

    async def _list(self) -> None:
        connection = self._connection
        if connection is None or not connection.is_open:
            return
        try:
            records = await list_all(connection, page_timeout_s=self.config.settings.connect_timeout_s)
            self.listing = await self._on_listed(records)
        except McpError as exc:
            self.error = exc
            _log.warning("the tools of MCP server %r cannot be listed: %s", self.name, exc)
            return
        self.error = None
        if self._idle_timer is None:
            # Listing again is no use that keeps it from being idle.
            self._start_timer()

    def _notified(self, notification: types.ServerNotification) -> None:
        if notification.method == "notifications/tools/list_changed":
            self._refresher.ask()
        self._on_notification(notification)

    def _start_timer(self) -> None:
        if (
            self.config.settings.lazy
            and not self._is_closed
            and not self._n_busy
            and self.listing is not None
        ):
            self._stop_timer()
            idle_s = self.config.settings.idle_s
            if idle_s < _FOR_EVER_S:
                loop = asyncio.get_running_loop()
                self._idle_timer = loop.call_later(idle_s, lambda: self._run(self._rest()))

    def _stop_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    async def _rest(self) -> None:
        self._idle_timer = None
        if not self._n_busy and self._connection is not None and self._connection.is_open:
            await self._refresher.settled()
            await self._connection.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _secrets(written: McpServerConfig, config: McpServerConfig) -> list[str]:
    """What was put in for variables, and whatever stands where secrets stand."""
    pairs = [
        *zip(written.args, config.args, strict=True),
        (written.url, config.url),
        (written.command, config.command),
    ]
    put_in = [now for before, now in pairs if before != now]
    return [*put_in, *config.env.values(), *config.headers.values(), *config.settings.oauth.values()]
