"""`Searched`: requests to a model, with the tools that it needs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx

from toolsearch.adapters.routes import Route
from toolsearch.adapters.turn import Turn
from toolsearch.advisors.calls import PlannedCall
from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.api.scopes import KeyScope
from toolsearch.exceptions import (
    RequestRefusedError,
    ReservedNameError,
    ToolLimitError,
    UpstreamError,
)
from toolsearch.messages import ToolResult
from toolsearch.server.keys import Caller
from toolsearch.server.proxy.body import Body
from toolsearch.server.proxy.events import error_event
from toolsearch.server.proxy.headers import RawHeaders
from toolsearch.server.proxy.open_calls import stored_at
from toolsearch.server.proxy.providers import Provider
from toolsearch.server.proxy.rounds import Rounds
from toolsearch.server.proxy.rules import ProxyRules
from toolsearch.server.proxy.said import json_object, json_text
from toolsearch.server.proxy.sending import Sending
from toolsearch.server.proxy.settings import ProxySettings
from toolsearch.server.proxy.tenants import Tenant, Tenants, delivery_of
from toolsearch.server.proxy.upstream import Upstream
from toolsearch.server.proxy.wishes import CALL_HEADER, Wishes
from toolsearch.server.service import Service
from toolsearch.tools import JsonObject, ToolContext

if TYPE_CHECKING:
    from starlette.types import Send

_TOOLS = b'"tools"'
_IDEMPOTENCY = b"idempotency-key"
_OF_A_BODY = frozenset({b"content-length", b"content-type", _IDEMPOTENCY})
_SMALL = 1 << 18
"""What of a body may be read while other requests wait."""

_UNREAD = (
    "What requests may say is restricted here, and the body cannot be read. Send one JSON object in "
    "UTF-8, each member once and without a Content-Encoding."
)

_NO_TOOLS = "the request has no tools."
_NO_LIST = "its tools are no list."
_NO_BODY = "its body cannot be read."
_ENCODED = "its body has a Content-Encoding, so it is not read."

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Asked:
    """A request to a model, as it came.

    Attributes:
        target: Path and query below the provider's URL.
        headers: Those that go on.
        session_id: The session as it is kept; empty for none.
        owner: Tells apart callers of one tenant who are to know nothing of each other's conversations.
    """

    provider: Provider
    route: Route
    target: bytes
    headers: RawHeaders
    raw: bytes
    rules: ProxyRules
    caller: Caller
    wishes: Wishes
    session_id: str
    owner: bytes
    request_id: str


@dataclass(frozen=True)
class Prepared:
    """What goes to the provider first.

    Attributes:
        turn: None for a body that goes out without a search.
        skipped: Why its tools are not searched, where somebody may have expected it.
    """

    body: bytes
    turn: Turn | None = None
    streamed: bool = False
    skipped: str = ""


class Searched:
    """Answers such requests."""

    def __init__(self, service: Service, tenants: Tenants, upstream: Upstream) -> None:
        self._service = service
        self._tenants = tenants
        self._upstream = upstream

    async def answer(self, asked: Asked, send: Send) -> None:
        """Send what the provider answers in the end.

        Raises:
            ToolSearchError: there is no answer; nothing has been sent, or a part that breaks off.
        """
        if asked.wishes.calls:
            asked.caller.require(KeyScope.CALL)
        prepared = await self._prepared(asked)
        sending = Sending(send, skipped=prepared.skipped)
        turn = prepared.turn
        if turn is None or asked.route.counts:
            async with aclosing(await self._ask(asked, prepared.body, 0)) as response:
                await sending.passed(response)
            return
        ask, run = partial(self._ask, asked, searched=True), partial(self._run, asked)
        rounds = Rounds(turn, ask, self._service.work, sending, run, partial(self._stored, asked, turn))
        try:
            await rounds.answer(prepared.body, streamed=prepared.streamed)
        except UpstreamError as exc:
            if not (sending.has_begun and exc.is_final):
                raise
            _, _, told = asked.provider.told(exc, asked.request_id)
            await sending.failed(error_event(turn.form, told))
        finally:
            self._measure(turn, asked)

    def _unread(self, asked: Asked) -> str:
        """Why the body need not be read; empty where it has to be.

        Raises:
            RequestRefusedError: it has to be, and cannot.
        """
        if any(name == b"content-encoding" for name, _ in asked.headers):
            if asked.rules.need_bodies:
                raise RequestRefusedError(_UNREAD)
            return _ENCODED
        catalog = asked.wishes.catalog
        wants_catalog = asked.rules.settings.proxy_catalog if catalog is None else catalog
        return "" if wants_catalog or asked.rules.need_bodies or _TOOLS in asked.raw else _NO_TOOLS

    async def _prepared(self, asked: Asked) -> Prepared:
        if reason := self._unread(asked):
            return _as_it_came(asked, asked.raw, reason)
        tenant = self._tenants.of(asked.caller)
        # An index that has to be built takes as long as it takes.
        run = self._service.work.run_long
        if len(asked.raw) < tenant.bodies.longest + _SMALL:
            body = tenant.bodies.read(asked.raw)
        else:
            body = await run(tenant.bodies.read, asked.raw)
        if body is None:
            if asked.rules.need_bodies:
                raise RequestRefusedError(_UNREAD)
            return _as_it_came(asked, asked.raw, _NO_BODY)
        if self._is_quick(asked, tenant, body):
            return self._opened(asked, tenant, body)
        return await run(self._opened, asked, tenant, body)

    def _is_quick(self, asked: Asked, tenant: Tenant, body: Body) -> bool:
        """Whether nothing has to be built or read from a store, so that no thread is worth its while."""
        wishes = asked.wishes
        if wishes.session_id or wishes.catalog or not body.tools_key or body.n_read > _SMALL:
            return False
        if asked.route.api.server_state(body.request):
            return False
        settings = asked.rules.settings
        if settings.proxy_delivery == "native" and asked.rules.models:
            return False  # by which name the provider knows the model is to be found out first
        searching = tenant.own(wishes.pins, settings, delivery_of(asked.route.api, body.request, settings))
        return searching.lists.has_opened(_list_key(asked, body))

    def _opened(self, asked: Asked, tenant: Tenant, body: Body) -> Prepared:
        request = asked.rules.in_body(body.request, counts=asked.route.counts)
        raw = asked.raw if request is body.request else json_text(request)
        tools = request.get("tools")
        if tools is not None and not isinstance(tools, list):
            return _as_it_came(asked, raw, _NO_LIST)
        catalog = asked.wishes.catalog
        over_catalog = (asked.rules.settings.proxy_catalog and not tools) if catalog is None else catalog
        if not (tools or over_catalog):
            return _as_it_came(asked, raw, _NO_TOOLS)
        try:
            listed = {**request, "tools": tools or []}
            turn = self._turn(asked, tenant, listed, _list_key(asked, body), over_catalog)
        except (ReservedNameError, ToolLimitError, ValueError, TypeError) as exc:
            if over_catalog:
                raise RequestRefusedError(str(exc)) from exc
            _log.debug("Tools of request %s are sent whole: %s", asked.request_id, type(exc).__name__)
            return Prepared(raw, skipped=str(exc))
        if turn is None:
            return _as_it_came(asked, raw, _why_whole(tools or (), asked.rules.settings))
        skipped = self._idle_call(asked, over_catalog)
        return Prepared(json_text(turn.request()), turn, bool(request.get("stream")), skipped)

    def _idle_call(self, asked: Asked, over_catalog: bool) -> str:
        """Why no tool can be run here though that was asked for; empty where one can, or nobody asked."""
        if not asked.wishes.calls or (over_catalog and self._service.callable_tools):
            return ""
        return replace(asked.wishes, told=(CALL_HEADER,)).without_effect(
            "the service has no tools to run." if over_catalog else "the catalog is not searched."
        )

    def _turn(
        self, asked: Asked, tenant: Tenant, request: dict[str, Any], list_key: bytes, over_catalog: bool
    ) -> Turn | None:
        pins, settings = asked.wishes.pins, asked.rules.settings
        delivery = delivery_of(asked.route.api, request, settings)
        searching = tenant.own(pins, settings, delivery)
        if over_catalog:
            live, rule = self._service.catalog, asked.caller.rule
            searching = tenant.catalog(live, rule, pins, settings, delivery)
        return searching.open(
            asked.route.api,
            request,
            (asked.session_id, asked.caller.tenant),
            list_key=list_key or None,
            owner=asked.owner,
            runs=self._service.runs_for(asked.caller) if over_catalog and asked.wishes.calls else None,
        )

    async def _run(self, asked: Asked, calls: Sequence[PlannedCall]) -> Sequence[ToolResult]:
        """What tools of the service give; whatever goes wrong is a result too."""
        context = ToolContext(session_id=asked.wishes.session_id, tenant=asked.caller.tenant)
        manager = ToolCallingManager(call_timeout_s=asked.rules.settings.call_timeout_s)
        outcomes = await manager.execute(calls, context)
        for _ in calls:
            self._service.usage.called(asked.caller.tenant)
        results = (outcome.result for outcome in outcomes)
        return [ToolResult(told.content, is_error=told.is_error) for told in results]

    async def _ask(self, asked: Asked, body: bytes, number: int, *, searched: bool = False) -> httpx.Response:
        headers = [(name, value) for name, value in asked.headers if name != b"content-length"]
        if searched:
            headers = list(_of_round(headers, number))
        return await self._upstream.ask(
            asked.provider, "POST", asked.target, headers, body, rules=asked.rules, again=True
        )

    async def _stored(self, asked: Asked, turn: Turn) -> JsonObject | None:
        """What the provider keeps of the conversation that a request goes on with."""
        target = stored_at(turn.request())
        if not target:
            return None
        headers = [each for each in _of_round(asked.headers, 0) if each[0] not in _OF_A_BODY]
        asking = self._upstream.ask(
            asked.provider, "GET", target, headers, None, rules=asked.rules, again=True
        )
        async with aclosing(await asking) as response:
            return json_object(await response.aread()) if response.is_success else None

    def _measure(self, turn: Turn, asked: Asked) -> None:
        """Add what the turn sent and spared to the usage of the tenant."""
        sent, whole = turn.tokens()
        n_searches = turn.n_searches
        self._service.usage.offered(
            asked.caller.tenant, searches=n_searches, sent_tokens=sent, spared_tokens=max(whole - sent, 0)
        )


def _as_it_came(asked: Asked, raw: bytes, reason: str) -> Prepared:
    """A request that goes out without a search, which is told where headers have asked for something."""
    return Prepared(raw, skipped=asked.wishes.without_effect(reason))


def _why_whole(tools: Iterable[Any], settings: ProxySettings) -> str:
    """Why a list of tools that can be searched is not."""
    if any(isinstance(tool, dict) and str(tool.get("type")).startswith("tool_search") for tool in tools):
        return "its tools contain the provider's own search."
    return f"its tools cost less than {settings.proxy_whole_below_tokens} tokens, so all of them are sent."


def _list_key(asked: Asked, body: Body) -> bytes:
    """Stands for the tools of a request in their form; empty for none."""
    return asked.route.api.form.encode() + body.tools_key if body.tools_key else b""


def _of_round(headers: Sequence[tuple[bytes, bytes]], number: int) -> Iterator[tuple[bytes, bytes]]:
    """The headers of a round whose answer is read here."""
    for name, value in headers:
        if name == b"accept-encoding":
            continue
        # Another body under the same key would get the answer to the first one, or be refused.
        yield name, (b"%b-%d" % (value, number) if number and name == _IDEMPOTENCY else value)
    yield b"accept-encoding", b"identity"
