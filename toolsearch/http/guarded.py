"""`GuardedTransport`: requests that reach no address but those that were checked."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import httpx

from toolsearch.http.guard import AddressRules

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, for a port."""


class GuardedTransport(httpx.AsyncBaseTransport):
    """Asks what `AddressRules` allow, redirects included, and connects to the very addresses that it checked.

    A name is resolved once for each request and the connection made to an address of that answer, so that a
    second answer cannot lead elsewhere. Certificates are checked for the name. Proxies of the environment
    are not used: they would resolve names themselves.
    """

    def __init__(
        self,
        rules: AddressRules,
        *,
        instead: httpx.AsyncBaseTransport | None = None,
        resolve: Resolve | None = None,
        verify: ssl.SSLContext | None = None,
    ) -> None:
        """Opens nothing yet.

        Args:
            rules: Where requests may go.
            instead: Asked in place of the network, where no names are resolved; it is left open.
            resolve: In place of the system's resolver.
            verify: In place of the default checks of certificates.
        """
        self._rules = rules
        self._instead = instead
        self._resolve = system_addresses if resolve is None else resolve
        self._verify = httpx.create_ssl_context() if verify is None and instead is None else verify
        # One for each host: a connection to one name must not serve another at the same address.
        self._transports: dict[tuple[str, str, int | None], httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response.

        Raises:
            AddressRefusedError: the request may not go there; nothing was connected to.
            httpx.TransportError: there is no answer.
        """
        # The plain URL: one that hides itself in logs is still asked in full.
        url = httpx.URL(scheme=request.url.scheme, host=request.url.host, port=request.url.port)
        self._rules.check(url)
        if self._instead is not None:
            return await self._instead.handle_async_request(_at(url.host, request))
        port = url.port or (443 if url.scheme == "https" else 80)
        addresses = self._rules.allowed(url, await self._addresses(url.host, port, request))
        transport = self._transport(url)
        failure: httpx.TransportError | None = None
        for address in addresses:
            try:
                return await transport.handle_async_request(_at(address, request))
            except (httpx.ConnectError, httpx.ConnectTimeout) as exc:
                failure = exc
        assert failure is not None  # noqa: S101 - `allowed` gives at least one
        raise failure

    async def aclose(self) -> None:
        """Close the connections."""
        transports = list(self._transports.values())
        self._transports.clear()
        for transport in transports:
            await transport.aclose()

    async def _addresses(self, host: str, port: int, request: httpx.Request) -> Sequence[str]:
        try:
            return await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise httpx.ConnectError(f"The name {host!r} cannot be resolved.", request=request) from None

    def _transport(self, url: httpx.URL) -> httpx.AsyncHTTPTransport:
        origin = (url.scheme, url.host, url.port)
        if origin not in self._transports:
            self._transports[origin] = httpx.AsyncHTTPTransport(
                verify=self._verify if self._verify is not None else True, trust_env=False
            )
        return self._transports[origin]


async def system_addresses(host: str, port: int) -> Sequence[str]:
    """The addresses of `host`, as the system resolves it.

    Raises:
        OSError: it has none.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def _at(address: str, request: httpx.Request) -> httpx.Request:
    """The same request to that address; its headers and certificate stay those of the host."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
