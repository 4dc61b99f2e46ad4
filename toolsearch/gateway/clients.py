"""`Clients`: what is known of each client that keeps a session, and how all of them are told of something."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio
import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolsearch.serving.mcp_tools import session_id_of

Request: TypeAlias = ServerRequestContext[str]

MAX_CLIENTS = 1_000
"""Those that have not asked for the longest time are forgotten first; the SDK ends sessions before."""

_log = logging.getLogger(__name__)

_CHANGES: dict[str, tuple[types.ServerNotification, Any]] = {
    "tools": (types.ToolListChangedNotification(), ToolsListChanged()),
    "prompts": (types.PromptListChangedNotification(), PromptsListChanged()),
    "resources": (types.ResourceListChangedNotification(), ResourcesListChanged()),
}
"""What clients with a session are sent, and what those that listen are."""


@dataclass(eq=False)
class Client:
    """A client with a session.

    Attributes:
        session: Of its last request; carries what belongs to no request.
        is_alone: Whether the process serves it and no other.
        found: Names of the tools that it has found, in that order.
        level: The least severe log messages that it wants; None for all.
    """

    session: ServerSession
    is_alone: bool
    found: list[str] = field(default_factory=list)
    level: types.LoggingLevel | None = None


@dataclass(frozen=True, eq=False)
class Flight:
    """A call that a server has not answered yet."""

    server: str
    request: Request
    client: Client | None


class Clients:
    """Lives in one event loop."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._known: OrderedDict[str, Client] = OrderedDict()
        self._flights: set[Flight] = set()

    def of(self, request: Request) -> Client | None:
        """The client of a request; None where it has no session, since then nothing can be kept for it."""
        key = client_id(request)
        if not key:
            return None
        client = self._known.get(key)
        if client is None:
            client = self._known[key] = Client(request.session, request.request is None)
            if len(self._known) > MAX_CLIENTS:
                self._known.popitem(last=False)
        client.session = request.session
        self._known.move_to_end(key)
        return client

    async def tell(self, what: str, client: Client | None = None, request: Request | None = None) -> None:
        """Tells all clients, or one, that the list of ``tools``, ``prompts`` or ``resources`` is another.

        With the request that changed it, the client is told before it has the answer.
        """
        notification, event = _CHANGES[what]
        if client is None or client.is_alone:
            await self.bus.publish(event)
        told = list(self._known.values()) if client is None else [client]
        for each in told:
            # Since 2026-07-28 clients are told where they listen, and nowhere else.
            if each.session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                await _send(each.session, notification, request)

    async def tell_changed_tools(self, changed: set[str]) -> None:
        """Tells the clients that have found one of these tools that their tools are others now."""
        for client in list(self._known.values()):
            if changed.intersection(client.found):
                await self.tell("tools", client)

    @contextmanager
    def calling(self, server: str, request: Request) -> Iterator[None]:
        """While a server works on a call, what it logs is for that client."""
        flight = Flight(server, request, self.of(request))
        self._flights.add(flight)
        try:
            yield
        finally:
            self._flights.discard(flight)

    def flights_of(self, server: str) -> list[Flight]:
        """The calls that a server works on."""
        return [flight for flight in self._flights if flight.server == server]

    async def pass_on(self, server: str, message: types.LoggingMessageNotificationParams) -> None:
        """Gives what a server logs to the client whose call it works on.

        Where it works for several it may be of any of them, so none is given it.
        """
        flights = self.flights_of(server)
        named = f"{server}/{message.logger}" if message.logger else server
        told = types.LoggingMessageNotification(params=message.model_copy(update={"logger": named}))
        if not flights:
            for client in self._known.values():
                if client.is_alone and _is_wanted(message.level, client.level):
                    await _send(client.session, told)
            return
        if len({flight.client or flight for flight in flights}) > 1:
            _log.debug("what MCP server %r logs while several clients call it is not passed on", server)
            return
        flight = flights[-1]
        if _is_wanted(message.level, _level(flight)):
            await _send(flight.request.session, told, flight.request)


async def _send(
    session: ServerSession, notification: types.ServerNotification, request: Request | None = None
) -> None:
    try:
        await session.send_notification(notification, None if request is None else request.request_id)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        _log.debug("a client that is gone was not told of anything")


def client_id(request: Request) -> str:
    """The session of a client; empty without one, as since 2026-07-28 over HTTP, whatever a header says."""
    if request.request is not None and request.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return ""
    return session_id_of(request)


def _level(flight: Flight) -> types.LoggingLevel | None:
    """What the client of a call wants to be told; since 2026-07-28 each request says so, or wants nothing."""
    if flight.request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return None if flight.client is None else flight.client.level
    stated = dict(flight.request.meta or {}).get(types.LOG_LEVEL_META_KEY)
    return stated if stated in _LEVELS else "off"  # type: ignore[return-value]


_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "off")


def _is_wanted(level: str, least: str | None) -> bool:
    return least is None or _LEVELS.index(level) >= _LEVELS.index(least)
