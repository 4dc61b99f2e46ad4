"""`Connection`: one session with a server, from its greeting to its end."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

import anyio
import httpx2
import mcp_types as types
from mcp.client.session import ClientSession, IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, listen
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter, ValidationError

from toolsearch import __version__
from toolsearch.exceptions import (
    McpConnectionError,
    McpError,
    McpLostError,
)
from toolsearch.sources.mcp.asked import CURRENT, Asked
from toolsearch.sources.mcp.asking import OnQuestion, question_callbacks
from toolsearch.sources.mcp.child_log import ChildLog
from toolsearch.sources.mcp.config import McpServerConfig, Transport
from toolsearch.sources.mcp.faults import (
    connection_reason,
    is_answer,
    is_connection_lost,
    is_session_lost,
    request_error,
    told,
    unreadable,
)
from toolsearch.sources.mcp.patience import Patience
from toolsearch.sources.mcp.tolerant import TolerantDispatcher
from toolsearch.sources.mcp.transports import streams

T = TypeVar("T", bound=BaseModel)
OnProgress: TypeAlias = ProgressFnT
OnNotification: TypeAlias = Callable[[types.ServerNotification], None]

_OLDER = frozenset({400, 404, 405})
_LISTEN_AGAIN_S = (1.0, 5.0, 30.0)

_log = logging.getLogger(__name__)


class Connection:
    """A session that a task of its own keeps, so that whoever asks for something may be cancelled.

    Attributes:
        over: Set once it has ended and nothing is left of it.
        is_closing: Whether it was told to end.
    """

    def __init__(
        self,
        config: McpServerConfig,
        *,
        log: ChildLog,
        auth: httpx2.Auth | None = None,
        on_notification: OnNotification | None = None,
        on_question: OnQuestion | None = None,
    ) -> None:
        """Connects to nothing yet; `config` has the values of its variables in it."""
        self.server = config.name
        self.over = asyncio.Event()
        self._config = config
        self._log = log
        self._auth = auth
        self._on_notification = on_notification
        self._on_question = on_question
        self._patience = Patience()
        self._scope = anyio.CancelScope()
        self._session: ClientSession | None = None
        self._is_lost = False
        self.is_closing = False
        self._asked = Asked()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._session is not None and not self._is_lost

    @property
    def session(self) -> ClientSession:
        """The session, once there is one."""
        if self._session is None:
            raise McpConnectionError(self.server, "is not connected.")
        return self._session

    async def open(self) -> None:
        """Returns once the server has been greeted.

        Raises:
            McpConnectionError: it cannot be started or reached, or does not answer in time.
        """
        limit_s = self._config.settings.connect_timeout_s
        timer = asyncio.get_running_loop().call_later(limit_s, self._give_up, limit_s)
        self._task = asyncio.create_task(self._keep(), name=f"mcp-{self.server}")
        try:
            await asyncio.shield(self._ready)
        except asyncio.CancelledError:
            self._scope.cancel()
            raise
        finally:
            timer.cancel()

    async def close(self) -> None:
        """Returns once the session has ended, and with it the process."""
        self._is_lost = self.is_closing = True
        self._scope.cancel()
        if self._task is not None:
            await asyncio.shield(self._task)

    async def request(
        self,
        request: types.ClientRequest,
        result_type: type[T] | TypeAdapter[T],
        *,
        timeout_s: float,
        total_timeout_s: float = math.inf,
        on_progress: OnProgress | None = None,
    ) -> T:
        """The result of a request. One that is given up is cancelled at the server too.

        Args:
            request: What is asked for.
            result_type: What reads the answer.
            timeout_s: How long the server may be silent; each progress notification begins it anew.
            total_timeout_s: How long it may take altogether.
            on_progress: Is told of progress.

        Raises:
            McpConnectionError: nothing of it was sent, or the server turned it away.
            McpRequestError: the server refused it.
            McpProtocolError: the answer cannot be read.
            McpLostError: there was no answer.
        """

        async def send(alive: OnProgress) -> T:
            return await self.session.send_request(request, result_type, progress_callback=alive)

        return await self._answered(
            request.method,
            send,
            timeout_s=timeout_s,
            total_timeout_s=total_timeout_s,
            on_progress=on_progress,
        )

    async def list_page(self, cursor: str | None, *, timeout_s: float) -> types.ListToolsResult:
        """A page of the server's tools, the first or that of a cursor.

        Raises:
            McpError: as `request`.
        """
        params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)

        async def send(alive: OnProgress) -> types.ListToolsResult:
            del alive
            # Of these the session learns what belongs into the headers of calls.
            return await self.session.list_tools(params=params)

        return await self._answered("tools/list", send, timeout_s=timeout_s)

    async def _answered(
        self,
        method: str,
        send: Callable[[OnProgress], Awaitable[T]],
        *,
        timeout_s: float,
        total_timeout_s: float = math.inf,
        on_progress: OnProgress | None = None,
    ) -> T:
        """What `send` gives; it is given what is to be told of progress."""
        if not self.is_open:
            raise McpConnectionError(self.server, "is not connected.")
        loop = asyncio.get_running_loop()
        last = loop.time() + total_timeout_s
        asked = Asked()
        token = CURRENT.set(asked)
        try:
            async with self._patience.wait(timeout_s, last) as renew:

                async def alive(progress: float, total: float | None, message: str | None) -> None:
                    renew()
                    if on_progress is not None:
                        await on_progress(progress, total, message)

                return await send(alive)
        except TimeoutError:
            spent_s = total_timeout_s if loop.time() >= last else timeout_s
            raise McpLostError(
                self.server, f"gave no answer to {method} within {spent_s:g} s, and was told to stop."
            ) from None
        except MCPError as exc:
            raise self._error(exc, asked) from exc
        except ValidationError as exc:
            raise unreadable(self.server, method, exc) from None
        finally:
            CURRENT.reset(token)

    def _error(self, exc: MCPError, asked: Asked) -> McpError:
        """What the SDK raised, by what it means for the request and for the connection."""
        if is_session_lost(exc, asked):
            self._is_lost = self.is_closing = True
            self._scope.cancel()
        self._is_lost = self._is_lost or is_connection_lost(exc)
        return request_error(self.server, exc, asked, last_words=self._log.last())

    def _give_up(self, limit_s: float) -> None:
        if not self._ready.done():
            self._fail(f"was not ready within {limit_s:g} s.{told(self._log.last())}")
            self._scope.cancel()

    def _fail(self, reason: str) -> None:
        if not self._ready.done():
            self._ready.set_exception(McpConnectionError(self.server, reason))
            # Whoever waited may be gone.
            self._ready.exception()

    async def _keep(self) -> None:
        CURRENT.set(self._asked)
        try:
            with self._scope:
                await self._converse()
        except Exception as exc:  # noqa: BLE001 - a transport may raise anything, in groups
            self._fail(connection_reason(exc, self._config, self._asked, last_words=self._log.last()))
            _log.debug("the connection to MCP server %r ended (%s)", self.server, type(exc).__name__)
        finally:
            self._is_lost = True
            self._fail("ended before it was ready.")
            self.over.set()

    async def _converse(self) -> None:
        """Tries the transports that the configuration leaves open, and stays in the first that works."""
        chosen = self._config.transport
        candidates: tuple[Transport, ...] = ("http", "sse") if chosen == "auto" else (chosen,)
        for number, transport in enumerate(candidates, start=1):
            try:
                await self._converse_over(transport)
            except Exception:
                is_older = self._asked.status in _OLDER and not self._ready.done()
                if number == len(candidates) or not is_older:
                    raise
                self._asked.status = 0
            else:
                return

    async def _converse_over(self, transport: Transport) -> None:
        opened = streams(self._config, transport, log=self._log, auth=self._auth)
        async with opened as (reader, writer):
            dispatcher = TolerantDispatcher(reader, writer)
            async with ClientSession(
                dispatcher=dispatcher,
                message_handler=self._notified,
                client_info=types.Implementation(name="toolsearch", version=__version__),
                **question_callbacks(self._config, self._on_question, self._patience.paused),
            ) as session:
                await self._greet(session, transport)
                self._session = session
                if not self._ready.done():
                    self._ready.set_result(None)
                async with anyio.create_task_group() as group:
                    if session.protocol_version in MODERN_PROTOCOL_VERSIONS:
                        group.start_soon(self._listen, session)
                    await dispatcher.over.wait()
                    self._is_lost = True
                    group.cancel_scope.cancel()

    async def _greet(self, session: ClientSession, transport: Transport) -> None:
        protocol = self._config.settings.protocol
        if protocol == "discover":
            await session.discover()
            return
        try:
            await session.initialize()
        except MCPError as refused:
            if protocol == "handshake" or transport == "sse" or not is_answer(refused):
                raise
            try:
                await session.discover()
            except MCPError:
                raise refused from None

    async def _listen(self, session: ClientSession) -> None:
        """Has the server tell of changes, which since 2026-07-28 it does only where it is asked to."""
        for wait_s in (*_LISTEN_AGAIN_S, *([_LISTEN_AGAIN_S[-1]] * 1000)):
            try:
                async with listen(
                    session, tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
                ) as changes:
                    async for _ in changes:
                        pass
            except (ListenNotSupportedError, MCPError):
                return
            except SubscriptionLost:
                _log.debug("MCP server %r ended the stream of changes", self.server)
            await anyio.sleep(wait_s)

    async def _notified(self, message: IncomingMessage) -> None:
        if isinstance(message, Exception):
            _log.debug("MCP server %r sent something unreadable (%s)", self.server, type(message).__name__)
        elif self._on_notification is not None:
            self._on_notification(message)
