"""`AsyncClient`: the HTTP service from coroutines."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Iterable
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from toolsearch.api.base import Form
from toolsearch.api.calls import CallResult
from toolsearch.api.keys import KeyEntry, KeyList, MadeKey, NewKey
from toolsearch.api.lint import LintPage, LintSeverity
from toolsearch.api.pins import PinList
from toolsearch.api.rounds import SessionPage, SessionRounds
from toolsearch.api.search import BatchAnswer, SearchAnswer, SearchQuery
from toolsearch.api.sessions import (
    HandledCalls,
    ProviderForm,
    Receipt,
    SearchCallResult,
    SessionEntry,
    SessionTools,
    Way,
)
from toolsearch.api.tools import (
    CatalogEntry,
    CatalogList,
    Definitions,
    SourceEntry,
    SourceList,
    TagList,
    ToolEntry,
    ToolPage,
    UploadReport,
)
from toolsearch.api.usage import FeedbackEntry, FeedbackPage, Outcome, UsageAnswer
from toolsearch.client import calls
from toolsearch.client.calls import ApiCall
from toolsearch.client.exchange import Exchange, headers_with, shown, unreachable
from toolsearch.exceptions import ServiceError
from toolsearch.http.retries import RetryPolicy
from toolsearch.tools import JsonObject

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8400"
_ASK_AGAIN_S = 0.05


class AsyncClient:
    """A client of the service that is awaited; see `Client`."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        api_key: str = "",
        timeout_s: float = 30.0,
        retries: RetryPolicy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """A client of the service at `url`; it connects when it is first used.

        Args:
            api_key: Sent with every request; empty for none.
            timeout_s: Seconds that each request may take.
            retries: How often to ask a service that is busy or cannot be reached. Writes have an
                idempotency key, so that the service carries them out once.
            transport: Another way to send requests, such as `httpx.ASGITransport`.

        Raises:
            ValueError: `api_key` has a character that cannot be sent.
        """
        self._exchange = Exchange(retries or RetryPolicy(attempts=3))
        self._http = httpx.AsyncClient(
            base_url=url, headers=dict(headers_with(api_key)), timeout=timeout_s, transport=transport
        )

    def __repr__(self) -> str:
        return f"AsyncClient({shown(self._http.base_url)!r})"

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def send(self, call: ApiCall[T]) -> T:
        """The answer to any call of `toolsearch.client.calls`.

        Raises:
            ServiceError: the service refused it, or failed.
            ServiceUnreachableError: there was no answer.
        """
        failures = 0
        while True:
            try:
                response = await self._http.send(self._exchange.request(self._http, call))
                return self._exchange.answer(call, response)
            except httpx.RequestError as exc:
                error: ServiceError = unreachable(exc)
                error.__cause__ = exc
            except ServiceError as exc:
                error = exc
            failures += 1
            wait_s = self._exchange.wait_s(call, error, failures)
            if wait_s is None:
                raise error
            await asyncio.sleep(wait_s)

    async def is_alive(self) -> bool:
        """Whether the service answers at all."""
        try:
            await self.send(calls.alive())
        except ServiceError:
            return False
        return True

    async def is_ready(self) -> bool:
        """Whether the service can search."""
        try:
            await self.send(calls.ready())
        except ServiceError:
            return False
        return True

    async def wait_until_ready(self, timeout_s: float = 60.0) -> None:
        """Returns when the service can search.

        Raises:
            ServiceError: it cannot after `timeout_s`, and why.
        """
        ends = time.monotonic() + timeout_s
        while True:
            try:
                await self.send(calls.ready())
            except ServiceError:
                if time.monotonic() >= ends:
                    raise
            else:
                return
            await asyncio.sleep(_ASK_AGAIN_S)

    async def all_tools(
        self, *, source: str | None = None, tag: str | None = None
    ) -> AsyncIterator[ToolEntry]:
        """All tools in the order of their names, page by page."""
        cursor = None
        while True:
            page = await self.list_tools(limit=500, cursor=cursor, source=source, tag=tag)
            for entry in page.tools:
                yield entry
            cursor = page.next_cursor
            if cursor is None:
                return

    async def search(self, query: SearchQuery | str, **options: Any) -> SearchAnswer:
        """The tools that serve a request; `options` are the fields of `SearchQuery` beside a text."""
        return await self.send(calls.search(query, options))

    async def search_batch(self, searches: Iterable[SearchQuery | str]) -> BatchAnswer:
        """An answer or a problem for each of up to 64 searches, in their order."""
        return await self.send(calls.search_batch(searches))

    async def list_tools(
        self,
        *,
        limit: int = 100,
        cursor: str | None = None,
        source: str | None = None,
        tag: str | None = None,
        text: str | None = None,
    ) -> ToolPage:
        """A page of tools in the order of their names; its `next_cursor` leads to the next."""
        return await self.send(
            calls.list_tools(limit=limit, cursor=cursor, source=source, tag=tag, text=text)
        )

    async def get_tool(self, name: str) -> ToolEntry:
        """The tool of a public name."""
        return await self.send(calls.get_tool(name))

    async def put_tool(self, name: str, definition: JsonObject, *, if_match: str | None = None) -> ToolEntry:
        """Add a tool, or put it in place of its namesake; `if_match` is the digest that it must have."""
        return await self.send(calls.put_tool(name, definition, if_match=if_match))

    async def patch_tool(self, name: str, patch: JsonObject, *, if_match: str | None = None) -> ToolEntry:
        """Change parts of a definition in our own form, by the rules of JSON Merge Patch."""
        return await self.send(calls.patch_tool(name, patch, if_match=if_match))

    async def delete_tool(self, name: str, *, if_match: str | None = None) -> None:
        """Take a tool out of the catalog."""
        await self.send(calls.delete_tool(name, if_match=if_match))

    async def put_tools(
        self, definitions: Iterable[JsonObject], *, source: str = "", if_match: str | None = None
    ) -> UploadReport:
        """Add many tools in any form, or put them in place of their namesakes.

        `if_match` is the fingerprint that the catalog must have.
        """
        return await self.send(calls.put_tools(definitions, source=source, if_match=if_match))

    async def list_sources(self) -> SourceList:
        """The sources that have any tool."""
        return await self.send(calls.list_sources())

    async def get_source(self, source: str) -> SourceEntry:
        """How many tools a source has, and what they cost."""
        return await self.send(calls.get_source(source))

    async def put_source(
        self, source: str, definitions: Iterable[JsonObject], *, if_match: str | None = None
    ) -> UploadReport:
        """Have a source hold exactly these tools; `if_match` is the fingerprint that it must have."""
        return await self.send(calls.put_source(source, definitions, if_match=if_match))

    async def delete_source(self, source: str, *, if_match: str | None = None) -> None:
        """Take all tools of a source out of the catalog; `if_match` is the fingerprint that it must have."""
        await self.send(calls.delete_source(source, if_match=if_match))

    async def list_tags(self) -> TagList:
        """The tags that any tool has."""
        return await self.send(calls.list_tags())

    async def lint_catalog(
        self,
        *,
        limit: int = 200,
        cursor: str | None = None,
        severity: LintSeverity | None = None,
        code: str | None = None,
        tool: str | None = None,
        self_retrieval: bool = False,
        catalog: str = "default",
    ) -> LintPage:
        """A page of what lint says of a catalog, the gravest first."""
        filters = {"severity": severity, "code": code, "tool": tool}
        return await self.send(
            calls.lint_catalog(catalog, limit=limit, cursor=cursor, self_retrieval=self_retrieval, **filters)
        )

    async def list_catalogs(self) -> CatalogList:
        """The catalogs that there are; now it is one."""
        return await self.send(calls.list_catalogs())

    async def get_catalog(self, catalog: str = "default") -> CatalogEntry:
        """What is in a catalog."""
        return await self.send(calls.get_catalog(catalog))

    async def get_definitions(self, form: Form = "own", *, catalog: str = "default") -> Definitions:
        """Every definition of a catalog in a form."""
        return await self.send(calls.get_definitions(catalog, form))

    async def put_catalog(
        self, definitions: Iterable[JsonObject], *, catalog: str = "default", if_match: str | None = None
    ) -> UploadReport:
        """Have a catalog hold exactly these tools; `if_match` is the fingerprint that it must have."""
        return await self.send(calls.put_catalog(catalog, definitions, if_match=if_match))

    async def reload_catalog(self, catalog: str = "default") -> CatalogEntry:
        """Have the service read its index folder again."""
        return await self.send(calls.reload_catalog(catalog))

    async def list_sessions(self, *, limit: int = 50, cursor: str | None = None) -> SessionPage:
        """A page of the sessions of the tenant, the one that was last in use first."""
        return await self.send(calls.list_sessions(limit=limit, cursor=cursor))

    async def session_rounds(self, session_id: str, *, limit: int = 100) -> SessionRounds:
        """What a session sent and found, round by round."""
        return await self.send(calls.session_rounds(session_id, limit=limit))

    async def create_session(self, session_id: str | None = None) -> SessionEntry:
        """A session with this id, or a new one."""
        return await self.send(calls.create_session(session_id))

    async def get_session(self, session_id: str) -> SessionEntry:
        """What a session has discovered, in the order in which it found it."""
        return await self.send(calls.get_session(session_id))

    async def delete_session(self, session_id: str) -> None:
        """Forget a session."""
        await self.send(calls.delete_session(session_id))

    async def session_tools(
        self, session_id: str, form: Form = "openai_chat", *, delivery: Way = "append"
    ) -> SessionTools:
        """The tools to send in the next round, in the form of a provider."""
        return await self.send(calls.session_tools(session_id, form, delivery))

    async def session_search(
        self,
        session_id: str,
        arguments: JsonObject,
        *,
        delivery: Way = "append",
        form: ProviderForm | None = None,
        call_id: str = "",
    ) -> SearchCallResult:
        """The result of a call of ``tool_search`` with the arguments of the model, and in `form` if given.

        ``native`` needs a form, and a form the id of the call.
        """
        return await self.send(calls.session_search(session_id, arguments, delivery, form, call_id))

    async def handle_calls(
        self,
        session_id: str,
        answer_calls: Iterable[JsonObject],
        form: ProviderForm,
        *,
        delivery: Way = "append",
        own: Iterable[str] = (),
    ) -> HandledCalls:
        """What becomes of the calls of an answer, each given as it came; run those without a result.

        Calls of `own`, tools beside the catalog, are yours to run, too.
        """
        return await self.send(calls.handle_calls(session_id, answer_calls, form, delivery, own))

    async def load_tools(self, session_id: str, names: Iterable[str]) -> SessionEntry:
        """Add tools to what a session has discovered: all of them, or none."""
        return await self.send(calls.load_tools(session_id, names))

    async def forget_tools(self, session_id: str, names: Collection[str] | None = None) -> SessionEntry:
        """Drop tools from what a session has discovered; all of it for None."""
        return await self.send(calls.forget_tools(session_id, names))

    async def session_receipt(self, session_id: str, *, delivery: Way = "append") -> Receipt:
        """What the tools of a session cost in each round, and what the catalog would."""
        return await self.send(calls.session_receipt(session_id, delivery))

    async def render(self, names: Iterable[str], form: Form = "openai_chat") -> Definitions:
        """The definitions of tools in the form of a provider."""
        return await self.send(calls.render(names, form))

    async def call_tool(
        self, name: str, arguments: JsonObject, *, session_id: str | None = None, call_id: str = ""
    ) -> CallResult:
        """The result of a tool that the service can run; it is never asked for twice."""
        return await self.send(calls.call_tool(name, arguments, session_id=session_id, call_id=call_id))

    async def give_feedback(
        self, tool: str, outcome: Outcome, *, query: str = "", session_id: str | None = None
    ) -> FeedbackEntry:
        """Tell what became of a tool."""
        return await self.send(calls.give_feedback(tool, outcome, query=query, session_id=session_id))

    async def list_feedback(self, *, limit: int = 100, cursor: str | None = None) -> FeedbackPage:
        """A page of the tenant's feedback, the oldest first."""
        return await self.send(calls.list_feedback(limit=limit, cursor=cursor))

    async def delete_feedback(self, tenant: str | None = None) -> None:
        """Drop the feedback of the tenant, and all that was learned from it."""
        await self.send(calls.delete_feedback(tenant))

    async def get_pins(
        self,
        *,
        days: int = 30,
        rounds: float | None = None,
        search_tokens: float | None = None,
        limit: int = 50,
    ) -> PinList:
        """Tools that so many sessions call that sending them always costs less than searching for them."""
        return await self.send(
            calls.get_pins(days=days, rounds=rounds, search_tokens=search_tokens, limit=limit)
        )

    async def get_usage(self, *, since: str | None = None, until: str | None = None) -> UsageAnswer:
        """What the tenant used, by day; days are texts such as ``2026-01-31``."""
        return await self.send(calls.get_usage(since=since, until=until))

    async def metrics(self) -> str:
        """What the service has answered, and how it is, in the text format of Prometheus."""
        return await self.send(calls.metrics())

    async def list_keys(self) -> KeyList:
        """All keys, without their secrets."""
        return await self.send(calls.list_keys())

    async def create_key(self, new: NewKey) -> MadeKey:
        """A new key with its secret, which is shown this once."""
        return await self.send(calls.create_key(new))

    async def delete_key(self, key: KeyEntry | str) -> None:
        """Have a key, or the one of this id, count no more."""
        await self.send(calls.delete_key(key))
