"""`McpServer`: one server of `McpServers`, from any thread and any event loop."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from toolsearch.exceptions import (
    McpCallError,
    McpConnectionError,
    McpError,
    McpProtocolError,
    McpRequestError,
)
from toolsearch.messages import ToolResult
from toolsearch.sources.files import LoadIssue
from toolsearch.sources.mcp.child_log import ChildLog
from toolsearch.sources.mcp.config import McpServerConfig
from toolsearch.sources.mcp.host import LoopThread
from toolsearch.sources.mcp.life import ServerLife, State
from toolsearch.sources.mcp.shared_context import shared_meta
from toolsearch.tools import JsonObject, ToolContext

if TYPE_CHECKING:
    import mcp_types as types
    from pydantic import BaseModel, TypeAdapter

    from toolsearch.sources.mcp.connection import Connection, OnProgress

    R = TypeVar("R", bound=BaseModel)

T = TypeVar("T")


@dataclass(frozen=True)
class McpStatus:
    """What is known of a server.

    Attributes:
        server: Its name.
        state: ``idle`` is known and not running, ``failed`` is tried again at the next call.
        reason: Why it last failed; empty where it works.
        n_tools: Tools in the catalog.
        n_filtered: Tools that a filter keeps out.
        issues: What was wrong with its tools.
        last_words: The last lines that its process wrote to standard error.
    """

    server: str
    state: State
    reason: str
    n_tools: int
    n_filtered: int
    issues: tuple[LoadIssue, ...]
    last_words: tuple[str, ...]


class McpServer:
    """One server. Every method that asks it connects first if need be, and names it in every error.

    Results are those of the SDK (`mcp_types`), whole and unchanged.
    """

    def __init__(self, life: ServerLife, host: LoopThread, log: ChildLog) -> None:
        self._life = life
        self._host = host
        self._log = log

    @property
    def name(self) -> str:
        return self._life.name

    @property
    def config(self) -> McpServerConfig:
        return self._life.config

    @property
    def status(self) -> McpStatus:
        """What is known of it now."""
        listing, error = self._life.listing, self._life.error
        return McpStatus(
            self.name,
            self._life.state,
            "" if error is None else error.reason,
            0 if listing is None else len(listing.tools),
            0 if listing is None else listing.n_filtered,
            () if listing is None else listing.issues,
            self._log.lines,
        )

    async def connect(self) -> tuple[types.Implementation | None, types.ServerCapabilities, str | None]:
        """What the server says of itself: its name and version, what it can do, and its instructions.

        Raises:
            McpError: it cannot be started or reached.
        """
        import mcp_types

        async def ask(connection: Connection) -> Any:
            session = connection.session
            capabilities = session.server_capabilities or mcp_types.ServerCapabilities()
            return session.server_info, capabilities, session.instructions

        answer: tuple[types.Implementation | None, types.ServerCapabilities, str | None]
        answer = await self._use(ask)
        return answer

    async def refresh(self) -> None:
        """Lists its tools now; the catalog follows.

        Raises:
            McpError: that failed.
        """
        await self._host.run(self._life.refresh())

    async def call_tool(
        self,
        raw_name: str,
        arguments: Mapping[str, Any],
        *,
        meta: Mapping[str, Any] | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.CallToolResult:
        """What a tool answers. It is sent once; cancelling the wait tells the server.

        Raises:
            McpError: as `Connection.request`; only a `McpConnectionError` says that nothing has run.
        """
        import mcp_types
        from pydantic import TypeAdapter

        settings = self.config.settings
        params = mcp_types.CallToolRequestParams.model_validate(
            {"name": raw_name, "arguments": dict(arguments), "_meta": None if meta is None else dict(meta)}
        )
        adapter: TypeAdapter[Any] = TypeAdapter(mcp_types.CallToolResult | mcp_types.InputRequiredResult)
        result = await self._asked(
            mcp_types.CallToolRequest(params=params),
            adapter,
            timeout_s=settings.timeout_of(raw_name),
            total_timeout_s=settings.total_timeout_s,
            on_progress=on_progress,
        )
        if not isinstance(result, mcp_types.CallToolResult):
            raise McpProtocolError(
                self.name, "asks for more input before it answers, which is not supported."
            )
        return result

    async def list_resources(self, cursor: str | None = None) -> types.ListResourcesResult:
        """A page of its resources."""
        import mcp_types

        request = mcp_types.ListResourcesRequest(params=_page(cursor))
        return await self._asked(request, mcp_types.ListResourcesResult)

    async def list_resource_templates(self, cursor: str | None = None) -> types.ListResourceTemplatesResult:
        """A page of its resource templates."""
        import mcp_types

        request = mcp_types.ListResourceTemplatesRequest(params=_page(cursor))
        return await self._asked(request, mcp_types.ListResourceTemplatesResult)

    async def read_resource(self, uri: str) -> types.ReadResourceResult:
        """What is in a resource."""
        import mcp_types

        params = mcp_types.ReadResourceRequestParams(uri=uri)
        return await self._asked(mcp_types.ReadResourceRequest(params=params), mcp_types.ReadResourceResult)

    async def list_prompts(self, cursor: str | None = None) -> types.ListPromptsResult:
        """A page of its prompts."""
        import mcp_types

        request = mcp_types.ListPromptsRequest(params=_page(cursor))
        return await self._asked(request, mcp_types.ListPromptsResult)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None
    ) -> types.GetPromptResult:
        """The messages of a prompt."""
        import mcp_types

        params = mcp_types.GetPromptRequestParams(
            name=name, arguments=None if arguments is None else dict(arguments)
        )
        return await self._asked(mcp_types.GetPromptRequest(params=params), mcp_types.GetPromptResult)

    async def ask(self, request: types.ClientRequest, result_type: type[R]) -> R:
        """The answer to any other request, such as for completions."""
        return await self._asked(request, result_type)

    async def _asked(
        self,
        request: types.ClientRequest,
        result_type: type[R] | TypeAdapter[R],
        *,
        timeout_s: float | None = None,
        total_timeout_s: float = math.inf,
        on_progress: OnProgress | None = None,
    ) -> R:
        limit_s = self.config.settings.timeout_s if timeout_s is None else timeout_s
        relay = None if on_progress is None else _in_this_loop(on_progress)

        async def ask(connection: Connection) -> R:
            return await connection.request(
                request, result_type, timeout_s=limit_s, total_timeout_s=total_timeout_s, on_progress=relay
            )

        return await self._use(ask)

    async def _use(self, ask: Callable[[Connection], Awaitable[T]]) -> T:
        return await self._host.run(self._life.use(ask))


@dataclass(frozen=True)
class McpCall:
    """Runs one tool of a server: `Tool.call` of the tools of `McpServers`."""

    server: McpServer
    raw_name: str

    async def __call__(self, arguments: JsonObject, context: ToolContext | None = None) -> ToolResult:
        """The result, also of a call that failed at the tool.

        Raises:
            McpCallError: the server gave none; says whether it may have run all the same.
        """
        result = await self.ask(arguments, context)
        from toolsearch.sources.mcp.results import to_tool_result

        max_chars = self.server.config.settings.max_result_chars
        return to_tool_result(result, tool=self.raw_name, max_chars=max_chars)

    async def ask(
        self,
        arguments: JsonObject,
        context: ToolContext | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> types.CallToolResult:
        """The result as the server gave it.

        Raises:
            McpCallError: as a call; what the server said or failed with is its cause, a `McpError`.
        """
        meta = shared_meta(context or ToolContext(), self.server.config.settings.context)
        try:
            return await self.server.call_tool(self.raw_name, arguments, meta=meta, on_progress=on_progress)
        except McpError as exc:
            reason = exc.reason[:_LONGEST_REASON]
            raise McpCallError(exc.server, self.raw_name, reason, may_have_run=_may_have_run(exc)) from exc


_LONGEST_REASON = 2_000

# JSON-RPC: what could not be read, is no request, names no method or no such tool.
_NOT_RUN = frozenset({-32700, -32600, -32601, -32602})


def _may_have_run(exc: McpError) -> bool:
    if isinstance(exc, McpRequestError):
        return exc.code not in _NOT_RUN
    return not isinstance(exc, McpConnectionError) and not hasattr(exc, "path")


def _page(cursor: str | None) -> types.PaginatedRequestParams | None:
    import mcp_types

    return None if cursor is None else mcp_types.PaginatedRequestParams(cursor=cursor)


def _in_this_loop(on_progress: OnProgress) -> OnProgress:
    """What calls `on_progress` in the event loop that is running now, from another one."""
    loop = asyncio.get_running_loop()

    async def relay(progress: float, total: float | None, message: str | None) -> None:
        if asyncio.get_running_loop() is loop:
            await on_progress(progress, total, message)
            return

        async def tell() -> None:
            await on_progress(progress, total, message)

        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(tell(), loop))

    return relay
