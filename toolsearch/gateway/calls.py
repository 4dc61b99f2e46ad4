"""`Calls`: runs a tool for a client."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.delivery.base import CALL_TOOL
from toolsearch.delivery.bridge import inner_call
from toolsearch.exceptions import McpCallError, McpError, McpRequestError, ToolArgumentsError
from toolsearch.functions.arguments import parse_arguments
from toolsearch.gateway.clients import Clients, Request, client_id
from toolsearch.gateway.results import passed_result
from toolsearch.messages import AssistantMessage, ToolCall, ToolResult
from toolsearch.serving.mcp_content import to_mcp_result
from toolsearch.serving.mcp_tools import PROGRESS
from toolsearch.sources.mcp.server import McpCall
from toolsearch.tools import JsonObject, Tool, ToolContext

_FORM = f'{CALL_TOOL} takes {{"name": NAME, "arguments": {{…}}}} with the name and the arguments of a tool.'


class Calls:
    """Progress goes to the client, its cancellation to the server, and errors come back with their server."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._manager = ToolCallingManager()

    async def run(
        self, tool: Tool, arguments: JsonObject, request: Request, *, is_direct: bool
    ) -> types.CallToolResult:
        """The result; one of a failed call says so, to the model.

        Raises:
            MCPError: a call under the tool's own name (`is_direct`) that its server refused as a request.
        """
        if isinstance(tool.call, McpCall):
            return await self._upstream(tool.call, arguments, request, is_direct=is_direct)
        call = ToolCall(id=str(request.request_id), name=tool.name, arguments=json.dumps(arguments))
        state = {PROGRESS: request.session.report_progress}
        context = ToolContext(session_id=client_id(request), call_id=call.id, state=state)
        batch = await self._manager.run(AssistantMessage(content=(call,)), [tool], context=context)
        return told(batch.results[0])

    async def _upstream(
        self, call: McpCall, arguments: JsonObject, request: Request, *, is_direct: bool
    ) -> types.CallToolResult:
        # What of it reaches the server, its own settings say.
        context = ToolContext(session_id=client_id(request), call_id=str(request.request_id))
        server = call.server.name
        try:
            with self._clients.calling(server, request):
                progress = _Progress(request)
                result = await call.ask(arguments, context, on_progress=progress)
                await progress.told()
        except McpCallError as exc:
            if is_direct and isinstance(exc.__cause__, McpRequestError):
                raise protocol_error(exc.__cause__) from exc
            return told(ToolResult.error(str(exc)))
        return passed_result(result, server, max_chars=call.server.config.settings.max_result_chars)


class _Progress:
    """Tells a client of progress: in its order, and before the result, after which nobody listens."""

    def __init__(self, request: Request) -> None:
        self._report = request.session.report_progress
        # It is fair: who comes first is told first.
        self._turn = asyncio.Lock()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        async with self._turn:
            await self._report(progress, total, message)

    async def told(self) -> None:
        """Returns once the client was told of all that the server has told of."""
        async with self._turn:
            pass


def inner(arguments: JsonObject) -> tuple[str, JsonObject]:
    """Name and arguments of the tool that a call of `call_tool` means. Arguments may be JSON in a text.

    Raises:
        ToolArgumentsError: says what the form must be.
    """
    meant = inner_call(json.dumps(arguments))
    if meant is None:
        raise ToolArgumentsError(CALL_TOOL, (_FORM,))
    return meant[0], parse_arguments(meant[1], tool=meant[0])


def told(result: Any) -> types.CallToolResult:
    """A result of this package as clients have it."""
    return to_mcp_result(result.content, is_error=result.is_error, structured=result.structured)


def protocol_error(exc: McpError) -> MCPError:
    """The failure of a server as an error of the protocol, which names the server."""
    if isinstance(exc, McpRequestError):
        return MCPError(exc.code, str(exc), exc.data)
    return MCPError(types.INTERNAL_ERROR, str(exc))
