"""A server of the SDK over standard input and output, and over streamable HTTP."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.applications import Starlette

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
PATH = "/mcp"


async def serve_stdio(server: Server[Any]) -> None:
    """Serves one client on standard input and output, until it closes the former.

    What tools print meanwhile goes to standard error, so that it cannot break the messages.
    """
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def http_app(
    server: Server[Any],
    *,
    path: str = PATH,
    token: str = "",
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
) -> Starlette:
    """An ASGI application that serves streamable HTTP under `path`.

    Requests are taken where their ``Host``, and the ``Origin`` that browsers send, are of this machine or
    allowed: a page of somebody else cannot reach it through a name of its own.

    Args:
        token: What clients must send as ``Authorization: Bearer``; empty for nothing.
        hosts: Further values of ``Host``, such as ``tools.example.org`` or ``tools.example.org:*``.
        origins: Further values of ``Origin``, such as ``https://app.example.org``.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    names = ("127.0.0.1", "localhost", "[::1]")
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*names, *(f"{name}:*" for name in names), *hosts],
        allowed_origins=[*(f"http://{name}:*" for name in names), *origins],
    )
    app = server.streamable_http_app(streamable_http_path=path, transport_security=security)
    if token:
        app.add_middleware(_Bearer, token=token)
    return app


class _Bearer:
    """Refuses requests without the token, and says nothing about it."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_allowed(scope):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"A bearer token is needed."})
            return
        await self._app(scope, receive, send)

    def _is_allowed(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)
