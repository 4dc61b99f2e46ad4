"""`Edge`: what every request passes before anything is done for it, and every answer on its way out."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from starlette.datastructures import Headers

from toolsearch.api.scopes import KeyScope
from toolsearch.exceptions import ForeignRequestError, TooBusyError
from toolsearch.server.audit import Audit
from toolsearch.server.current import CurrentSettings
from toolsearch.server.incoming import read_body
from toolsearch.server.keys import Caller, KeyCheck
from toolsearch.server.metrics import Metrics
from toolsearch.server.problems import log_failure, problem_response
from toolsearch.server.proxy.providers import KEY_HEADER, Provider, provider_at
from toolsearch.server.rates import Rates
from toolsearch.server.settings import ServerSettings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PUBLIC_PATHS = frozenset({"/", "/healthz", "/readyz", "/openapi.json"})
"""Answered without a key; they say nothing of the catalog."""

PAGE_PATH = "/ui"
"""Begins the paths of the page, whose files are answered without a key, too."""

UPLOAD_PATHS = ("/v1/tools/bulk", "/v1/sources/", "/v1/catalogs/")
"""Begin the paths of what may be as large as a catalog."""

REQUEST_ID = "X-Request-Id"

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_RAW_HEADERS = tuple((name.lower().encode(), value.encode()) for name, value in _HEADERS.items())
_RAW_REQUEST_ID = REQUEST_ID.lower().encode()
_LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})
_UNROUTED = "(none)"

_log = logging.getLogger("toolsearch.server")


@dataclass(frozen=True)
class _Limits:
    """What follows from settings: how often callers may ask, and by which hosts."""

    settings: ServerSettings
    rates: Rates
    hosts: frozenset[str]
    checks_host: bool

    @classmethod
    def of(cls, settings: ServerSettings) -> _Limits:
        own = {settings.host.lower(), f"[{settings.host.lower()}]"} if settings.is_loopback else set()
        return cls(
            settings,
            Rates(settings.rate_per_s, settings.rate_burst),
            frozenset({*_LOCAL, *own, *map(str.lower, settings.allow_host)}),
            settings.is_loopback or bool(settings.allow_host),
        )


class Edge:
    """Checks host, origin and key, reads the body, adds headers, counts, and answers whatever fails.

    It tells the application who asks: ``request.state.caller``. The log has the template of a path, the
    status and the id of the key; no header, no body, no name of a tool.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: CurrentSettings,
        keys: KeyCheck,
        metrics: Metrics,
        *,
        providers: Sequence[Provider] = (),
        audit: Audit | None = None,
    ) -> None:
        """Below the prefixes of `providers` keys come in another header, bodies are not read, and errors are
        those of the provider."""
        self._app = app
        self._current = settings
        self._keys = keys
        self._metrics = metrics
        self._providers = providers
        self._audit = audit or Audit()
        self._limits = _Limits.of(settings.now)
        self._running: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # There is nothing here for websockets, and no check of who opens them.
            await send({"type": "websocket.close", "code": 1008})
            return
        if self._limits.settings is not self._current.now:
            self._limits = _Limits.of(self._current.now)
        started, request_id = time.perf_counter(), uuid4().hex[:16]
        state: dict[str, Any] = scope.setdefault("state", {})
        state.update(request_id=request_id, caller=Caller(scopes=frozenset()), body=b"")
        status = 0
        provider = provider_at(self._providers, scope["path"])

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = _completed(message.get("headers", ()), request_id)
            await send(message)

        try:
            state["caller"] = await self._caller(scope, provider)
            with self._taken(scope):
                if provider is None:
                    state["body"] = await self._body(scope, receive)
                    await self._app(scope, _replayed(state["body"], receive), send_on)
                else:
                    await self._app(scope, receive, send_on)
        except Exception as exc:  # noqa: BLE001 - whatever it is, it is answered and told here
            if status:
                log_failure(exc, request_id=request_id)
            elif provider is None:
                await problem_response(exc, request_id=request_id)(scope, receive, send_on)
            else:
                await provider.response(exc, scope)(scope, receive, send_on)
        finally:
            took_s = time.perf_counter() - started
            route = getattr(scope.get("route"), "path_format", _UNROUTED)
            self._metrics.answered(scope["method"], route, status, took_s)
            self._audit.answered(scope, status)
            key_id = state["caller"].key_id or "-"
            _log.info(
                "%s %s %d in %.1f ms, key %s, request %s",
                scope["method"],
                route,
                status,
                took_s * 1000,
                key_id,
                request_id,
            )

    @contextmanager
    def _taken(self, scope: Scope) -> Iterator[None]:
        """Counts the request among those of its key.

        Raises:
            TooBusyError: the key makes too many.
        """
        if is_public(scope["path"]):
            yield
            return
        key_id = scope["state"]["caller"].key_id
        self._limits.rates.take(key_id)
        most = self._limits.settings.max_per_key
        if most is not None and self._running[key_id] >= most:
            raise TooBusyError
        self._running[key_id] += 1
        try:
            yield
        finally:
            self._running[key_id] -= 1
            if not self._running[key_id]:
                del self._running[key_id]

    async def _caller(self, scope: Scope, provider: Provider | None) -> Caller:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if self._limits.checks_host and not {host, host.rpartition(":")[0]} & self._limits.hosts:
            raise ForeignRequestError(
                "The service does not answer for this host. Start it with --allow-host NAME if it should."
            )
        origin = headers.get("origin")
        is_own = self._limits.settings.ui and _is_own(origin, host)
        if origin is not None and not is_own and origin not in self._limits.settings.allow_origin:
            raise ForeignRequestError(
                "Pages of this origin may not ask. Start the service with --allow-origin URL if they should."
            )
        if is_public(scope["path"]):
            return Caller(scopes=frozenset())
        if self._keys.is_stale:
            await asyncio.to_thread(self._keys.refresh)
        header, prefix = (b"authorization", b"") if provider is None else (KEY_HEADER, b"Bearer ")
        given = [prefix + value for name, value in scope["headers"] if name == header]
        return self._keys.caller(given[0] if len(given) == 1 else None)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body.

        Raises:
            BodyTooLargeError, SlowRequestError: it is too long, or takes too long.
        """
        may_upload = scope["state"]["caller"].may(KeyScope.MANAGE)
        large = may_upload and scope["path"].startswith(UPLOAD_PATHS)
        limit = self._limits.settings.max_upload_bytes if large else self._limits.settings.max_body_bytes
        return await read_body(scope, receive, limit=limit, timeout_s=self._limits.settings.timeout_s)


def is_public(path: str) -> bool:
    """Whether a path is answered without a key."""
    return path in PUBLIC_PATHS or path == PAGE_PATH or path.startswith(f"{PAGE_PATH}/")


def _is_own(origin: str | None, host: str) -> bool:
    """Whether a page of `origin` came from `host`, which the request names too.

    The scheme does not count: in front of this service there may be one that speaks TLS.
    """
    scheme, _, authority = (origin or "").lower().partition("://")
    return scheme in {"http", "https"} and bool(authority) and authority == host


def _completed(headers: Iterable[tuple[bytes, bytes]], request_id: str) -> list[tuple[bytes, bytes]]:
    """The headers of a response, with those of `_HEADERS` that it lacks."""
    own = list(headers)
    names = {name.lower() for name, _ in own}
    added = (*_RAW_HEADERS, (_RAW_REQUEST_ID, request_id.encode()))
    return [*own, *(header for header in added if header[0] not in names)]


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Gives `body`, and then whatever else the client has to say."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
