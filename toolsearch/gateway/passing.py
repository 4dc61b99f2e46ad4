"""`Passing`: resources and prompts of the servers behind a gateway."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolsearch.exceptions import McpError, McpProtocolError, McpRequestError
from toolsearch.gateway.calls import protocol_error
from toolsearch.gateway.results import passed_block, passed_contents, passed_meta
from toolsearch.gateway.screening import Kind, Screening, is_called
from toolsearch.gateway.uris import gateway_uri, upstream_uri
from toolsearch.naming import near_names, public_name
from toolsearch.sources.mcp.saved import SavedDefinitions
from toolsearch.sources.mcp.server import McpServer
from toolsearch.trust import TrustGuard

WAIT_S = 10.0
"""How long a list waits for all servers; those that are late come with the next one."""
MAX_PAGES = 1_000

_log = logging.getLogger(__name__)

_ITEMS: Mapping[Kind, type[types.Resource | types.ResourceTemplate | types.Prompt]] = {
    "resources": types.Resource,
    "templates": types.ResourceTemplate,
    "prompts": types.Prompt,
}


class Passing:
    """Lists of all servers joined, and what is asked of one passed on to it. Lives in one event loop.

    Addresses of resources begin with their server's name, prompts are named like tools.
    """

    def __init__(
        self,
        servers: Mapping[str, McpServer],
        folder: Path | None,
        on_late: Callable[[str], Awaitable[None]],
        guard: TrustGuard | None = None,
    ) -> None:
        """
        Args:
            servers: By name.
            folder: Where lists are kept, so that a server that rests need not be started for them.
            on_late: Is told of ``resources`` or ``prompts`` whose list came too late.
            guard: Decides what is passed on; None for all.
        """
        self._servers = servers
        self._saved = {} if folder is None else {kind: SavedDefinitions(folder / kind) for kind in _ITEMS}
        self._known: dict[tuple[Kind, str], list[Any]] = {}
        self._on_late = on_late
        self._screening = Screening(guard)
        self._asking: dict[tuple[Kind, str], asyncio.Task[None]] = {}
        self._prompts: dict[str, tuple[str, str]] = {}

    async def resources(self) -> list[types.Resource]:
        """The resources of all servers, by server in their order."""
        listed = await self._listed("resources")
        return [
            item.model_copy(update={"uri": gateway_uri(server, item.uri)})
            for server, item in listed
            if isinstance(item, types.Resource)
        ]

    async def templates(self) -> list[types.ResourceTemplate]:
        """The templates of addresses of all servers."""
        listed = await self._listed("templates")
        return [
            item.model_copy(update={"uri_template": gateway_uri(server, item.uri_template)})
            for server, item in listed
            if isinstance(item, types.ResourceTemplate)
        ]

    async def prompts(self) -> list[types.Prompt]:
        """The prompts of all servers."""
        prompts = []
        for server, item in await self._listed("prompts"):
            if isinstance(item, types.Prompt):
                name = public_name(self._servers[server].config.prefix, item.name)
                self._prompts[name] = server, item.name
                prompts.append(item.model_copy(update={"name": name}))
        return prompts

    async def read(self, uri: str) -> types.ReadResourceResult:
        """What is in a resource.

        Raises:
            MCPError: no server has it, or its server failed, which is named.
        """
        server, own = self._place(uri)
        if not await self._is_passed("resources", server.name, own):
            raise _no_resource(uri)
        try:
            result = await server.read_resource(own)
        except McpError as exc:
            raise protocol_error(exc) from exc
        contents = [passed_contents(each, server.name) for each in result.contents]
        return result.model_copy(update={"contents": contents, "meta": passed_meta(result.meta)})

    async def prompt(self, name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
        """The messages of a prompt.

        Raises:
            MCPError: as `read`.
        """
        server, own = await self._prompt(name)
        try:
            result = await server.get_prompt(own, arguments)
        except McpError as exc:
            raise protocol_error(exc) from exc
        messages = [
            each.model_copy(update={"content": passed_block(each.content, server.name)})
            for each in result.messages
        ]
        return result.model_copy(update={"messages": messages, "meta": passed_meta(result.meta)})

    async def complete(self, params: types.CompleteRequestParams) -> types.CompleteResult:
        """What may complete an argument of a prompt or of a template.

        Raises:
            MCPError: as `read`.
        """
        reference = params.ref
        if isinstance(reference, types.PromptReference):
            server, own = await self._prompt(reference.name)
            update = {"name": own}
        else:
            server, own = self._place(reference.uri)
            update = {"uri": own}
        asked = params.model_copy(update={"ref": reference.model_copy(update=update), "meta": None})
        try:
            return await server.ask(types.CompleteRequest(params=asked), types.CompleteResult)
        except McpError as exc:
            raise protocol_error(exc) from exc

    async def decide_again(self) -> set[str]:
        """Asks the guard anew, and gives the lists that are others now, as clients are told of them."""
        return {_told_as(kind) for kind in await self._screening.again()}

    async def close(self) -> None:
        """Ends what still runs."""
        for task in tuple(self._asking.values()):
            task.cancel()
        if self._asking:
            await asyncio.wait(tuple(self._asking.values()))

    def _place(self, uri: str) -> tuple[McpServer, str]:
        found = upstream_uri(uri)
        server = None if found is None else self._servers.get(found[0])
        if found is None or server is None:
            raise _no_resource(uri)
        return server, found[1]

    async def _prompt(self, name: str) -> tuple[McpServer, str]:
        if name not in self._prompts:
            await self.prompts()
        if name not in self._prompts or not await self._is_passed("prompts", *self._prompts[name]):
            near = near_names(name, self._prompts.keys() - {name})
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise MCPError(types.INVALID_PARAMS, f"There is no prompt {name!r:.200}.{meant}")
        server, own = self._prompts[name]
        return self._servers[server], own

    async def _listed(self, kind: Kind) -> list[tuple[str, Any]]:
        """What each server lists, as far as it is known in time. One that fails is left out, and logged."""
        running = [
            self._ask(kind, server) for server in self._servers.values() if self._is_to_ask(kind, server)
        ]
        if running:
            _, late = await asyncio.wait(running, timeout=WAIT_S)
            for task in late:
                task.add_done_callback(lambda _: asyncio.ensure_future(self._on_late(_told_as(kind))))
        return [
            (name, item)
            for name in self._servers
            for record in await self._screening.passed(kind, name, self._known.get((kind, name), ()))
            if (item := _item(kind, name, record)) is not None
        ]

    async def _is_passed(self, kind: Kind, server: str, own: str) -> bool:
        """Whether this may be asked for: what is listed and held back is not; what is not listed may be."""
        records = self._known.get((kind, server), ())
        listed = any(is_called(kind, record, own) for record in records)
        passed = await self._screening.passed(kind, server, records)
        return not listed or any(is_called(kind, record, own) for record in passed)

    def _is_to_ask(self, kind: Kind, server: McpServer) -> bool:
        """Whether a server must be asked: it runs, or nothing is known of it."""
        key = kind, server.name
        if key not in self._known and kind in self._saved:
            saved = self._saved[kind].load(server.config)
            if saved is not None:
                self._known[key] = saved
        return server.status.state == "ready" or key not in self._known

    def _ask(self, kind: Kind, server: McpServer) -> asyncio.Task[None]:
        key = kind, server.name
        if key not in self._asking:
            task = self._asking[key] = asyncio.create_task(self._refresh(kind, server))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        return self._asking[key]

    async def _refresh(self, kind: Kind, server: McpServer) -> None:
        try:
            records = await _all_pages(kind, server)
        except McpError as exc:
            _log.warning("the %s of MCP server %r cannot be listed: %s", kind, server.name, exc.reason)
            return
        self._known[kind, server.name] = records
        if kind in self._saved:
            try:
                await asyncio.to_thread(self._saved[kind].store, server.config, records)
            except OSError as exc:
                _log.warning("the %s of MCP server %r cannot be saved: %s", kind, server.name, exc)


async def _all_pages(kind: Kind, server: McpServer) -> list[Any]:
    """The records of all pages; none of a server that has no such list."""
    _, capabilities, _ = await server.connect()
    if (capabilities.prompts if kind == "prompts" else capabilities.resources) is None:
        return []
    try:
        return await _pages(kind, server)
    except McpRequestError as exc:
        if exc.code == types.METHOD_NOT_FOUND:
            return []
        raise


async def _pages(kind: Kind, server: McpServer) -> list[Any]:
    records: list[Any] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        items, cursor = await _page(kind, server, cursor)
        records += (item.model_dump(by_alias=True, mode="json", exclude_none=True) for item in items)
        if cursor is None:
            return records
        if cursor in seen:
            break
        seen.add(cursor)
    raise McpProtocolError(server.name, f"lists its {kind} without an end.")


async def _page(kind: Kind, server: McpServer, cursor: str | None) -> tuple[list[Any], str | None]:
    if kind == "resources":
        resources = await server.list_resources(cursor)
        return list(resources.resources), resources.next_cursor
    if kind == "templates":
        templates = await server.list_resource_templates(cursor)
        return list(templates.resource_templates), templates.next_cursor
    prompts = await server.list_prompts(cursor)
    return list(prompts.prompts), prompts.next_cursor


def _item(kind: Kind, server: str, record: Any) -> Any:
    try:
        return _ITEMS[kind].model_validate(record, by_name=False)
    except ValidationError:
        _log.warning("one of the %s of MCP server %r cannot be read", kind, server)
        return None


def _no_resource(uri: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"There is no resource {uri!r:.200}.")


def _told_as(kind: Kind) -> str:
    return "prompts" if kind == "prompts" else "resources"
