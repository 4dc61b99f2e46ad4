"""`Proxies`: the APIs of providers, as a layer in front of that of the service."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Sequence
from contextlib import aclosing
from types import SimpleNamespace
from typing import TYPE_CHECKING

import httpx

from toolsearch.adapters.routes import Route
from toolsearch.api.scopes import KeyScope
from toolsearch.exceptions import AccessDeniedError, TooBusyError
from toolsearch.server.incoming import Incoming, read_body
from toolsearch.server.proxy.providers import KEY_HEADER, Provider, provider_at
from toolsearch.server.proxy.readings import candidates, readings
from toolsearch.server.proxy.rules import ProxyRules
from toolsearch.server.proxy.searched import Asked, Searched
from toolsearch.server.proxy.sending import Sending
from toolsearch.server.proxy.tenants import Tenants
from toolsearch.server.proxy.upstream import Upstream, target_of
from toolsearch.server.proxy.wishes import read_wishes
from toolsearch.server.service import Service

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_PROVIDER_KEYS = (b"authorization", b"x-api-key", b"api-key")
_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})


class Proxies:
    """Answers below the prefixes of providers, and leaves all else to the application.

    It stands within `edge.Edge`, which has checked who asks, and has read no body of these requests.
    """

    def __init__(
        self, app: ASGIApp, service: Service, providers: Sequence[Provider], upstream: Upstream
    ) -> None:
        self._app = app
        self._service = service
        self._providers = providers
        self._upstream = upstream
        self._rules = ProxyRules.of(service.settings)
        tenants = Tenants(service.settings, service.catalog.embedder, service.sessions)
        self._searched = Searched(service, tenants, upstream)
        self._running = 0
        self._salt = secrets.token_bytes(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        provider = provider_at(self._providers, scope["path"]) if scope["type"] == "http" else None
        if provider is None:
            await self._app(scope, receive, send)
            return
        method, path = scope["method"], scope["path"]
        route = provider.route(method, path)
        scope["route"] = SimpleNamespace(path_format=provider.template(route, path))
        scope["state"]["caller"].require(KeyScope.SEARCH)
        self._check_keys(scope)
        if self._rules.settings is not self._service.settings:
            self._rules = ProxyRules.of(self._service.settings)
        if self._running >= self._rules.settings.proxy_max_running:
            raise TooBusyError
        self._running += 1
        try:
            await self._answered(provider, route, scope, receive, send)
        finally:
            self._running -= 1

    async def _answered(
        self, provider: Provider, route: Route | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        rules = self._rules
        raw_path = scope.get("raw_path") or b""
        target = target_of(raw_path, scope["path"], provider.prefix, scope["query_string"])
        if route is not None:
            target = target_of(b"", provider.plain(scope["path"]), provider.prefix, scope["query_string"])
        headers = rules.headers.to_provider(scope["headers"])
        incoming = Incoming(receive)
        if route is None:
            has_body = any(name in _BODY_HEADERS for name, _ in scope["headers"])
            content = incoming.chunks(timeout_s=self._service.settings.timeout_s) if has_body else None
            if content is None:
                incoming.read()
            asking = self._upstream.ask(provider, scope["method"], target, headers, content, rules=rules)
            await incoming.while_there(_passed(asking, send))
            return
        limit, timeout_s = rules.settings.proxy_max_body_bytes, rules.settings.timeout_s
        raw = await read_body(scope, receive, limit=limit, timeout_s=timeout_s)
        incoming.read()
        state = scope["state"]
        wishes = read_wishes(scope["headers"], rules.settings)
        asked = Asked(
            provider=provider,
            route=route,
            target=target,
            headers=headers,
            raw=raw,
            rules=rules,
            caller=state["caller"],
            wishes=wishes,
            session_id=_own_session(wishes.session_id, scope),
            owner=self._owner(scope),
            request_id=state["request_id"],
        )
        await incoming.while_there(self._searched.answer(asked, send))

    def _owner(self, scope: Scope) -> bytes:
        """A digest of what the caller may know of and do, and of the key for the provider where nothing
        else tells callers apart.

        It is salted anew in each process, and goes into other digests alone.
        """
        caller = scope["state"]["caller"]
        rule = caller.rule
        sources = None if rule.sources is None else sorted(rule.sources)
        may = repr((sources, rule.allow, rule.deny, caller.may(KeyScope.CALL))).encode()
        keys = () if caller.tenant else _provider_keys(scope)
        return hmac.digest(self._salt, b"\n".join([may, *keys]), "sha256")

    def _check_keys(self, scope: Scope) -> None:
        """Does nothing where no key of the service would go to the provider.

        Raises:
            AccessDeniedError: one would.
        """
        if not self._service.keys.has_keys:
            return
        own = next((value.strip() for name, value in scope["headers"] if name == KEY_HEADER), b"")
        sent = [value for name, value in scope["headers"] if not name.startswith(b"x-toolsearch-")]
        for value in (*sent, scope["query_string"], scope["path"].encode("utf-8", "surrogatepass")):
            if any(
                (own and own in told) or any(map(self._service.keys.is_one, candidates(told)))
                for told in readings(value)
            ):
                raise AccessDeniedError(
                    "This has a key of the service in it, which the provider must not learn. Send it as "
                    "X-ToolSearch-Key, and the key of the provider where the provider wants it.",
                    is_known=True,
                )


def _provider_keys(scope: Scope) -> list[bytes]:
    return [value for name, value in scope["headers"] if name in _PROVIDER_KEYS]


def _own_session(session_id: str, scope: Scope) -> str:
    """The id under which a session is kept: where there are no tenants, one for each key of the provider."""
    keys = _provider_keys(scope)
    if not (session_id and keys) or scope["state"]["caller"].tenant:
        return session_id
    bound = b"\n".join([session_id.encode(), *keys])
    return f"proxy-{hashlib.sha256(bound).hexdigest()}"


async def _passed(asking: Awaitable[httpx.Response], send: Send) -> None:
    async with aclosing(await asking) as response:
        await Sending(send).passed(response)
