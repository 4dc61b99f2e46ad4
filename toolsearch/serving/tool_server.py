"""`ToolServer`: the server that `mcp_server` makes."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolsearch.advisors.failures import ErrorPolicy, ToolFailure
from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.checks import check_whole
from toolsearch.exceptions import DefinitionError, DuplicateToolError, ToolResultError
from toolsearch.given import Tools, as_tools
from toolsearch.messages import AssistantMessage, ToolCall, ToolMessage
from toolsearch.serving.mcp_content import to_mcp_result, to_mcp_tool
from toolsearch.serving.mcp_tools import PROGRESS, connection_id, session_id_of
from toolsearch.serving.output_schemas import object_schema
from toolsearch.tools import JsonObject, Tool, ToolContext

MAX_SESSIONS = 1_000
"""Of clients that are told of changes; those that have not asked for the longest time are forgotten first."""

_log = logging.getLogger(__name__)


class ToolServer(Server[str]):
    """Lists and calls tools, which may be others later. Lives in one event loop."""

    def __init__(
        self,
        tools: Tools,
        *,
        name: str,
        version: str,
        instructions: str,
        state: Mapping[str, Any],
        manager: ToolCallingManager,
        on_failure: Callable[[ToolFailure], None] | None,
        page_size: int | None,
    ) -> None:
        """See `mcp_server`."""
        check_whole("page_size", page_size, least=1, or_none=True)
        self._tools = _by_name(tools)
        self._bus = InMemorySubscriptionBus()
        super().__init__(
            name,
            version=version,
            instructions=instructions or None,
            lifespan=connection_id,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.add_notification_handler("notifications/initialized", types.NotificationParams, self._greeted)
        self._state = state
        self._manager = manager
        self._on_failure = on_failure
        self._page_size = page_size
        self._sessions: OrderedDict[str, ServerSession] = OrderedDict()

    async def change(self, tools: Tools) -> None:
        """Serves these tools from now on, and tells the clients that the list is another.

        Raises:
            TypeError, DuplicateToolError, DefinitionError: as `mcp_server`; it goes on with those it has.
        """
        self._tools = _by_name(tools)
        await self._bus.publish(ToolsListChanged())
        for session in tuple(self._sessions.values()):
            # Since 2026-07-28 clients are told where they listen, and nowhere else.
            if session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                try:
                    await session.send_notification(types.ToolListChangedNotification())
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    _log.debug("a client that is gone was not told of other tools")

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> InitializationOptions:
        """As of the SDK; whatever transport asks, the list may change."""
        changing = NotificationOptions(tools_changed=True)
        return super().create_initialization_options(notification_options or changing, *args, **kwargs)

    async def _greeted(self, request: ServerRequestContext[str], params: types.NotificationParams) -> None:
        del params
        self._note(request)

    def _note(self, request: ServerRequestContext[str]) -> None:
        session_id = session_id_of(request)
        if session_id:
            self._sessions[session_id] = request.session
            self._sessions.move_to_end(session_id)
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)

    async def _list_tools(
        self, request: ServerRequestContext[str], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        self._note(request)
        names = list(self._tools)
        start, cursor = 0, None if params is None else params.cursor
        if cursor is not None:
            # A page goes on behind the tool that the one before has ended with.
            if cursor not in self._tools:
                raise MCPError(
                    types.INVALID_PARAMS, "The cursor is of another list. Begin anew, without one."
                )
            start = names.index(cursor) + 1
        end = len(names) if self._page_size is None else start + self._page_size
        page = [self._tools[each] for each in names[start:end]]
        return types.ListToolsResult(
            tools=[to_mcp_tool(tool, schema) for tool, schema in page],
            next_cursor=names[end - 1] if end < len(names) else None,
        )

    async def _call_tool(
        self, request: ServerRequestContext[str], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        self._note(request)
        if params.name not in self._tools:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name!r:.200}.")
        tool, schema = self._tools[params.name]
        call = ToolCall(
            id=str(request.request_id), name=tool.name, arguments=json.dumps(params.arguments or {})
        )
        state = {**self._state, PROGRESS: request.session.report_progress}
        context = ToolContext(session_id=session_id_of(request), call_id=call.id, state=state)
        batch = await self._manager.run(AssistantMessage(content=(call,)), [tool], context=context)
        (result,) = batch.results
        if not _fits(schema, result):
            return self._misfit(call)
        return to_mcp_result(result.content, is_error=result.is_error, structured=result.structured)

    def _misfit(self, call: ToolCall) -> types.CallToolResult:
        error = ToolResultError(call.name, "what does not fit its output schema")
        if self._on_failure is not None:
            self._on_failure(ToolFailure(call, error))
        told = ErrorPolicy(tell=()).result(call.name, error)
        return to_mcp_result(told.content, is_error=True)


def _by_name(tools: Tools) -> dict[str, tuple[Tool, JsonObject | None]]:
    """Each tool with the output schema that it is listed with, by its public name."""
    by_name: dict[str, tuple[Tool, JsonObject | None]] = {}
    for tool in as_tools(tools):
        if tool.call is None:
            raise DefinitionError(tool.name, "it has no `call`, so it cannot be served. Give it one.")
        if tool.name in by_name:
            raise DuplicateToolError((tool.name,), "given twice. Give each its own source or id.")
        by_name[tool.name] = tool, object_schema(tool)
    return by_name


def _fits(schema: JsonObject | None, result: ToolMessage) -> bool:
    """Whether the result keeps what the listed output schema promises; clients refuse one that does not."""
    if result.is_error or schema is None:
        return True
    from jsonschema import Draft202012Validator

    return isinstance(result.structured, dict) and Draft202012Validator(schema).is_valid(result.structured)
