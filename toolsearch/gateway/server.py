"""The server of the SDK that clients of a gateway speak with."""

from __future__ import annotations

from typing import Any, Protocol

import mcp_types as types
from mcp.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError

from toolsearch import __version__
from toolsearch.catalog import Catalog
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import CALL_TOOL, SEARCH_TOOL
from toolsearch.delivery.bridge import BRIDGE
from toolsearch.exceptions import ToolArgumentsError
from toolsearch.gateway.calls import Calls, inner, told
from toolsearch.gateway.clients import Client, Clients, Request
from toolsearch.gateway.finding import unknown
from toolsearch.gateway.fixed_tools import DESCRIBE_TOOL, Mode, fixed_tools
from toolsearch.gateway.passing import Passing
from toolsearch.messages import ToolResult
from toolsearch.serving.mcp_content import to_mcp_tool
from toolsearch.serving.mcp_tools import connection_id
from toolsearch.serving.output_schemas import object_schema
from toolsearch.tools import JsonObject, Tool


class Behind(Protocol):
    """What is behind the server: `Gateway`."""

    async def catalog(self) -> Catalog:
        """The tools that there are, once the sources have had their time."""

    async def find(self, arguments: JsonObject, delivery: Any) -> ToolResult:
        """What `tool_search` answers."""

    async def describe(self, arguments: JsonObject) -> ToolResult:
        """What `describe_tool` answers."""

    async def log_from(self, level: types.LoggingLevel) -> None:
        """Asks the sources for log messages of that level and above."""


class GatewayServer(Server[str]):
    """Answers clients; each request by itself, and what is kept between them by session."""

    def __init__(
        self,
        behind: Behind,
        clients: Clients,
        calls: Calls,
        passing: Passing,
        *,
        mode: Mode,
        name: str,
        sources: tuple[str, ...],
        limit: int,
        instructions: str,
    ) -> None:
        super().__init__(
            name,
            version=__version__,
            instructions=instructions,
            lifespan=connection_id,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
            on_subscriptions_listen=ListenHandler(clients.bus),
        )
        self.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        self.add_notification_handler("notifications/initialized", types.NotificationParams, self._greeted)
        self._behind = behind
        self._clients = clients
        self._calls = calls
        self._passing = passing
        self._mode = mode
        self._fixed = {each: fixed_tools(each, sources, limit=limit) for each in ("bridge", "dynamic", "all")}

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> InitializationOptions:
        """As of the SDK; whatever transport asks, lists may change."""
        changing = NotificationOptions(
            tools_changed=self._mode != "bridge", prompts_changed=True, resources_changed=True
        )
        return super().create_initialization_options(notification_options or changing, *args, **kwargs)

    def _mode_of(self, client: Client | None) -> Mode:
        """How a client is served: without a session nothing that it finds could be kept for it."""
        return "bridge" if client is None and self._mode == "dynamic" else self._mode

    async def _list_tools(
        self, request: Request, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        del params
        client = self._clients.of(request)
        mode = self._mode_of(client)
        tools = list(self._fixed[mode])
        if mode != "bridge":
            catalog = await self._behind.catalog()
            names = list(catalog) if client is None or mode == "all" else client.found
            offered = [tool for name in names if (tool := catalog.get(name)) is not None]
            tools += (to_mcp_tool(tool, object_schema(tool)) for tool in offered)
        return types.ListToolsResult(tools=tools)

    async def _call_tool(self, request: Request, params: types.CallToolRequestParams) -> types.CallToolResult:
        client = self._clients.of(request)
        mode = self._mode_of(client)
        arguments = params.arguments or {}
        if mode != "all" and params.name == SEARCH_TOOL:
            return await self._search(arguments, client if mode == "dynamic" else None, request)
        if mode == "bridge":
            return await self._bridged(params.name, arguments, request)
        catalog = await self._behind.catalog()
        tool = catalog.get(params.name)
        if mode == "dynamic" and (client is None or params.name not in client.found):
            tool = None
        if tool is None and mode == "all":
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name!r:.200}.")
        if tool is None:
            return told(ToolResult.error(_NOT_FOUND.format(params.name[:200])))
        return await self._calls.run(tool, arguments, request, is_direct=True)

    async def _search(
        self, arguments: JsonObject, client: Client | None, request: Request
    ) -> types.CallToolResult:
        result = await self._behind.find(arguments, BRIDGE if client is None else APPEND)
        if client is not None:
            new = [name for name in result.discovered if name not in client.found]
            if new:
                client.found += new
                await self._clients.tell("tools", client, request)
        return told(ToolResult(result.content, is_error=result.is_error))

    async def _bridged(self, name: str, arguments: JsonObject, request: Request) -> types.CallToolResult:
        if name == DESCRIBE_TOOL:
            return told(await self._behind.describe(arguments))
        if name != CALL_TOOL:
            raise MCPError(
                types.INVALID_PARAMS, f"There is no tool {name!r:.200}. Run tools with {CALL_TOOL}."
            )
        try:
            meant, inside = inner(arguments)
        except ToolArgumentsError as exc:
            return told(ToolResult.error(str(exc)))
        catalog = await self._behind.catalog()
        tool: Tool | None = catalog.get(meant)
        if tool is None:
            return told(ToolResult.error(unknown(meant, catalog)))
        return await self._calls.run(tool, inside, request, is_direct=False)

    async def _list_resources(
        self, request: Request, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        del request, params
        return types.ListResourcesResult(resources=await self._passing.resources())

    async def _list_templates(
        self, request: Request, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        del request, params
        return types.ListResourceTemplatesResult(resource_templates=await self._passing.templates())

    async def _read_resource(
        self, request: Request, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        del request
        return await self._passing.read(params.uri)

    async def _list_prompts(
        self, request: Request, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        del request, params
        return types.ListPromptsResult(prompts=await self._passing.prompts())

    async def _get_prompt(
        self, request: Request, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        del request
        return await self._passing.prompt(params.name, params.arguments)

    async def _complete(self, request: Request, params: types.CompleteRequestParams) -> types.CompleteResult:
        del request
        return await self._passing.complete(params)

    async def _set_level(self, request: Request, params: types.SetLevelRequestParams) -> types.EmptyResult:
        client = self._clients.of(request)
        if client is not None:
            client.level = params.level
        await self._behind.log_from(params.level)
        return types.EmptyResult()

    async def _greeted(self, request: Request, params: types.NotificationParams) -> None:
        del params
        self._clients.of(request)


_NOT_FOUND = (
    "Unknown tool {!r}. Only what a search has found can be called: find tools with " + SEARCH_TOOL + "."
)
