"""`mcp_server`: any tools as a server of the Model Context Protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from toolsearch.advisors.failures import ErrorPolicy, ToolFailure
from toolsearch.advisors.manager import CALL_TIMEOUT_S, ToolCallingManager
from toolsearch.exceptions import DefinitionError, DuplicateToolError, ToolResultError
from toolsearch.given import Tools, as_tools
from toolsearch.messages import AssistantMessage, ToolCall, ToolMessage
from toolsearch.serving.output_schemas import object_schema
from toolsearch.tools import JsonObject, Tool, ToolContext

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server import Server, ServerRequestContext

PROGRESS = "report_progress"
"""Where `ToolContext.state` has what tells clients how far a call is: ``await report(done, total, text)``."""

_SESSION_HEADER = "mcp-session-id"


def mcp_server(
    tools: Tools,
    *,
    name: str = "toolsearch",
    version: str = "",
    instructions: str = "",
    state: Mapping[str, Any] | None = None,
    errors: ErrorPolicy | None = None,
    call_timeout_s: float | None = CALL_TIMEOUT_S,
    on_failure: Callable[[ToolFailure], None] | None = None,
) -> Server[Any]:
    """A server of the official SDK with `tools` under their public names, in their order.

    `serving.mcp_transports` runs it; so does whatever runs servers of the SDK.

    A tool is given a `ToolContext` with the client's session, the id of the request, and in `state` the
    coroutine function ``report_progress``. A call that the client cancels is cancelled: a coroutine ends, a
    thread runs to its end and its result is dropped. What a tool raises comes as an error result, in words of
    `errors`, and so does a result that does not fit its tool's output schema; a tool that is not there is an
    error of the protocol.

    Args:
        name, version, instructions: What the server says of itself.
        state: Further values of `ToolContext.state`.
        errors: Which exceptions the client reads.
        call_timeout_s: Seconds that a call may take where its tool says nothing else; None for any number.
        on_failure: Called with each exception of a tool, in full.

    Raises:
        TypeError: something that is no tool.
        DuplicateToolError: two tools share a public name.
        DefinitionError: a tool has no `call`, or none can be made of a function.
        ImportError: the extra ``mcp`` is not installed.
    """
    if find_spec("mcp") is None:
        raise ImportError("An MCP server needs the package mcp. Install it: pip install 'toolsearch[mcp]'")
    from mcp.server import Server

    manager = ToolCallingManager(errors=errors, call_timeout_s=call_timeout_s, on_failure=on_failure)
    by_name = _by_name(as_tools(tools))
    schemas = {each: object_schema(tool) for each, tool in by_name.items()}
    served = _Served(by_name, schemas, manager, dict(state or {}), on_failure)
    return Server(
        name,
        version=version,
        instructions=instructions or None,
        lifespan=connection_id,
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
    )


@asynccontextmanager
async def connection_id(server: Server[Any]) -> AsyncIterator[str]:
    """An id for the one client of a server on standard input and output."""
    del server
    yield uuid4().hex


def _by_name(tools: tuple[Tool, ...]) -> dict[str, Tool]:
    by_name: dict[str, Tool] = {}
    for tool in tools:
        if tool.call is None:
            raise DefinitionError(tool.name, "it has no `call`, so it cannot be served. Give it one.")
        if tool.name in by_name:
            raise DuplicateToolError((tool.name,), "given twice. Give each its own source or id.")
        by_name[tool.name] = tool
    return by_name


@dataclass(frozen=True)
class _Served:
    """The handlers of the requests about tools."""

    tools: Mapping[str, Tool]
    output_schemas: Mapping[str, JsonObject | None]
    manager: ToolCallingManager
    state: Mapping[str, Any]
    on_failure: Callable[[ToolFailure], None] | None

    async def list_tools(
        self, request: ServerRequestContext[str], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        from mcp_types import ListToolsResult

        from toolsearch.serving.mcp_content import to_mcp_tool

        del request, params
        return ListToolsResult(
            tools=[to_mcp_tool(tool, self.output_schemas[name]) for name, tool in self.tools.items()]
        )

    async def call_tool(
        self, request: ServerRequestContext[str], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        from mcp.shared.exceptions import MCPError
        from mcp_types import INVALID_PARAMS

        from toolsearch.serving.mcp_content import to_mcp_result

        tool = self.tools.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r:.200}.")
        call = ToolCall(
            id=str(request.request_id), name=tool.name, arguments=json.dumps(params.arguments or {})
        )
        state = {**self.state, PROGRESS: request.session.report_progress}
        context = ToolContext(session_id=session_id_of(request), call_id=call.id, state=state)
        batch = await self.manager.run(AssistantMessage(content=(call,)), [tool], context=context)
        (result,) = batch.results
        if not _fits(self.output_schemas[tool.name], result):
            return self._misfit(call)
        return to_mcp_result(result.content, is_error=result.is_error, structured=result.structured)

    def _misfit(self, call: ToolCall) -> types.CallToolResult:
        from toolsearch.serving.mcp_content import to_mcp_result

        error = ToolResultError(call.name, "what does not fit its output schema")
        if self.on_failure is not None:
            self.on_failure(ToolFailure(call, error))
        told = ErrorPolicy(tell=()).result(call.name, error)
        return to_mcp_result(told.content, is_error=True)


def _fits(schema: JsonObject | None, result: ToolMessage) -> bool:
    """Whether the result keeps what the listed output schema promises; clients refuse one that does not."""
    if result.is_error or schema is None:
        return True
    from jsonschema import Draft202012Validator

    return isinstance(result.structured, dict) and Draft202012Validator(schema).is_valid(result.structured)


def session_id_of(request: ServerRequestContext[str]) -> str:
    """The client's session: of HTTP where it has one, else of the connection."""
    if request.request is None:
        return request.lifespan_context
    return str(request.request.headers.get(_SESSION_HEADER, ""))
