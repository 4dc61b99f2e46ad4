"""`OpenApiService`: sends the requests of a document's operations, nowhere but where they may go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from weakref import WeakKeyDictionary

import httpx

from toolsearch.exceptions import AddressRefusedError
from toolsearch.http.address import QuietURL
from toolsearch.http.answer import Answer, read
from toolsearch.http.guard import AddressRules
from toolsearch.http.guarded import GuardedTransport, Resolve
from toolsearch.http.secrets import Redaction
from toolsearch.messages import ToolResult
from toolsearch.sources.openapi.arguments import Inputs
from toolsearch.sources.openapi.model import Operation
from toolsearch.sources.openapi.requests import BuiltRequest, build_request
from toolsearch.sources.openapi.results import to_tool_result
from toolsearch.sources.openapi.security import Credentials, Proof
from toolsearch.tools import JsonObject

CONNECT_TIMEOUT_S = 10.0
MAX_REDIRECTS = 5
MAX_IMAGE_BYTES = 5 << 20
"""Of a picture, which models are not charged for by its bytes."""

_SHOWN = 500


@dataclass(frozen=True)
class World:
    """The world outside, for tests: what is asked in place of the network, and of the system's resolver."""

    transport: httpx.AsyncBaseTransport | None = None
    resolve: Resolve | None = None


class OpenApiService:
    """Safe to share between tasks, threads and event loops. Keeps no cookies, and uses no proxies."""

    def __init__(
        self,
        rules: AddressRules,
        credentials: Credentials,
        *,
        headers: Mapping[str, str],
        max_bytes: int,
        world: World,
    ) -> None:
        """Sends nothing yet."""
        self._rules = rules
        self._credentials = credentials
        self._headers = dict(headers)
        self._max_bytes = max_bytes
        self._world = world
        # A connection belongs to the event loop that opened it.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Kept] = WeakKeyDictionary()

    async def call(
        self, tool: str, operation: Operation, inputs: Inputs, arguments: JsonObject
    ) -> ToolResult:
        """The result of an operation; an error result for whatever the service or the way to it does wrong.

        Raises:
            ToolArgumentsError: an argument cannot be sent; nothing was.
        """
        request = build_request(tool, operation, inputs, arguments)
        shown = f"{request.method} {request.shown}"
        try:
            proof = self._credentials.proof(operation)
        except (LookupError, ValueError) as exc:
            return ToolResult.error(str(exc.args[0]))
        hide = Redaction(proof.secrets)
        try:
            async with self._answering(request, proof) as response:
                kind = response.headers.get("Content-Type", "")
                most = max(self._max_bytes, MAX_IMAGE_BYTES) if kind.startswith("image/") else self._max_bytes
                answer: Answer = await read(response, max_bytes=most)
        except AddressRefusedError as exc:
            return ToolResult.error(hide(str(exc)))
        except (httpx.RequestError, httpx.InvalidURL, UnicodeError) as exc:
            told = hide.beginning(f"{type(exc).__name__}: {exc}".removesuffix(": "), _SHOWN)
            return ToolResult.error(f"{shown} gave no answer ({told}).")
        return to_tool_result(answer, shown, hide)

    async def aclose(self) -> None:
        """Close the connections of the running event loop, which closes them itself where it ends."""
        kept = self._clients.pop(asyncio.get_running_loop(), None)
        if kept is not None:
            await kept.until_the_end.aclose()

    @asynccontextmanager
    async def _answering(self, built: BuiltRequest, proof: Proof) -> AsyncIterator[httpx.Response]:
        client = await self._client()
        request: httpx.Request | None = _with_proof(client, built, proof, self._headers)
        for _ in range(MAX_REDIRECTS + 1):
            assert request is not None  # noqa: S101 - the loop ends where there is none
            asked = request
            response = await client.send(asked, stream=True, follow_redirects=False)
            request = response.next_request
            if request is None:
                break
            await response.aclose()
            _follow(request, asked, proof)
        async with aclosing(response):
            yield response

    async def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        kept = self._clients.get(loop)
        if kept is None:
            transport = GuardedTransport(
                self._rules, instead=self._world.transport, resolve=self._world.resolve
            )
            client = httpx.AsyncClient(
                transport=transport,
                trust_env=False,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                # The call as a whole has an end of its own.
                timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
            )
            kept = self._clients[loop] = _Kept(client, self._until_the_end(loop, client))
            await anext(kept.until_the_end)
        return kept.client

    async def _until_the_end(
        self, loop: asyncio.AbstractEventLoop, client: httpx.AsyncClient
    ) -> AsyncGenerator[None, None]:
        """Closes the client when it is closed itself, as an event loop at its end does with generators."""
        try:
            yield
        finally:
            self._clients.pop(loop, None)
            await client.aclose()


@dataclass(frozen=True)
class _Kept:
    """A client, and what closes it at the end of its event loop."""

    client: httpx.AsyncClient
    until_the_end: AsyncGenerator[None, None]


def _with_proof(
    client: httpx.AsyncClient, built: BuiltRequest, proof: Proof, headers: Mapping[str, str]
) -> httpx.Request:
    url = built.url
    for part in proof.query:
        url += f"{'&' if '?' in url else '?'}{part}"
    cookies = [*built.cookies, *proof.cookies]
    sent = {
        **headers,
        **built.headers,
        **({"Cookie": "; ".join(cookies)} if cookies else {}),
        **proof.headers,
    }
    request = client.build_request(built.method, url, headers=sent, content=built.content)
    request.url = QuietURL(request.url, built.shown)
    return request


def _follow(request: httpx.Request, asked: httpx.Request, proof: Proof) -> None:
    """Makes what follows a redirect fit to be sent: without credentials, where it leads to another host."""
    if _origin(request.url) != _origin(asked.url):
        for header in ("Authorization", "Cookie", *proof.headers):
            request.headers.pop(header, None)
    elif "Cookie" in asked.headers:
        request.headers["Cookie"] = asked.headers["Cookie"]
    shown = f"{request.url.scheme}://{request.url.host}/..."
    request.url = QuietURL(request.url, shown)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
