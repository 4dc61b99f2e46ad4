"""`ToolRouter`: a model, tools, and the search for them, put together with defaults."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Advisor
from toolsearch.advisors.chain import AdvisorChain, closing
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.advisors.memory.advisor import MemoryAdvisor
from toolsearch.advisors.memory.store import ConversationStore
from toolsearch.advisors.paused import Decision, PausedRun
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.advisors.tool_search import FILTER_KEY, ToolSearchAdvisor
from toolsearch.catalog import Catalog
from toolsearch.chat.base import ChatEvent, ChatModel, ChatRequest, ChatResponse, ToolChoice
from toolsearch.discovery.settings import DiscoveryOptions
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import RunningLoopError
from toolsearch.functions.decorator import tool
from toolsearch.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from toolsearch.retrieval.base import Retriever
from toolsearch.retrieval.lazy import CatalogSearcher
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.session.base import SessionStore
from toolsearch.session.memory import MemorySessionStore
from toolsearch.telemetry.advisors import observed_by
from toolsearch.telemetry.base import Observer
from toolsearch.telemetry.log import LogObserver
from toolsearch.telemetry.otel import OpenTelemetryObserver
from toolsearch.telemetry.receipt import Prices, ReceiptObserver
from toolsearch.tools import Tool

Prompt: TypeAlias = str | Message | Sequence[Message]
"""What a run begins with: the user's words, a message, or a conversation that ends with what is new."""


class RunOptions(TypedDict, total=False):
    """What a run may be given beside its prompt.

    Attributes:
        session_id: The conversation; what it has discovered, and its memory, are kept under it.
        tenant: On whose behalf.
        state: Handed to the tools, never to the model.
        filter: The tools that this run may use, beside the router's own filter.
        tools: More tools for this run, always visible.
        tool_choice, max_tokens, options: As in `ChatRequest`.
    """

    session_id: str
    tenant: str
    state: Mapping[str, Any] | None
    filter: ToolFilter | None
    tools: Iterable[Tool | Callable[..., Any]]
    tool_choice: ToolChoice
    max_tokens: int | None
    options: Mapping[str, Any]


class ToolRouter:
    """Answers with a model that finds its tools among many. Safe to share between runs, tasks and threads.

    >>> router = ToolRouter(OpenAIChatModel("gpt-5"), tools=[refund, send_email])
    >>> response = await router.run("Refund order A-17.", session_id="42")
    >>> response.text
    """

    def __init__(
        self,
        model: ChatModel,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        *,
        catalog: Catalog | None = None,
        searcher: Retriever | None = None,
        embedder: Embedder | None = None,
        delivery: Literal["append", "bridge", "native", "auto"] = "auto",
        filter: ToolFilter | None = None,  # noqa: A002
        session_store: SessionStore | None = None,
        memory: MemoryAdvisor | ConversationStore | None = None,
        approval: ApprovalAdvisor | None = None,
        manager: ToolCallingManager | None = None,
        limits: LoopLimits | None = None,
        system: str = "",
        advisors: Iterable[Advisor] = (),
        observers: Iterable[Observer] | None = None,
        prices: Prices | None = None,
        lazy: bool = True,
        **settings: Unpack[DiscoveryOptions],
    ) -> None:
        """Over the tools of `tools` and `catalog`, or of the searcher's index where there are none.

        Args:
            model: Answers.
            tools: Tools, or functions to make tools of.
            catalog: More tools.
            searcher: Finds them; by default an index of them all is built.
            embedder: Of that index; the bundled one by default.
            delivery: How discovered tools reach the model: see `ToolSearchAdvisor`.
            filter: The tools that any run may use.
            session_store: Where discoveries are kept; by default in memory.
            memory: Remembers conversations by session id, so that a run is given only what is new.
            approval: Decides on calls, or pauses runs until somebody has.
            manager: Runs the calls; its policy says what the model reads of exceptions.
            limits: When a run has gone on for long enough.
            system: The system message of conversations that have none.
            advisors: More of them around the model, each at its order.
            observers: Watch every run: see `toolsearch.telemetry`. None is `LogObserver` and
                `OpenTelemetryObserver`; the receipt is made in any case.
            prices: Of the model, for the cost in receipts.
            lazy: Build the index when it is first needed, and not now.
            settings: The attributes of `DiscoverySettings`, such as `pinned` and `preselect`.

        Raises:
            DefinitionError: a tool cannot be used, or two share a name.
            UnknownToolError, ToolLimitError, ValueError: as `ToolSearchAdvisor`.
            ChainError: the advisors do not fit together.
            EmbeddingError: the index cannot be built; with `lazy`, the first run raises it.
        """
        self.model = model
        self.system = system
        self._embedder = embedder
        self._delivery = delivery
        self._filter = filter
        self._settings = settings
        self._store = MemorySessionStore() if session_store is None else session_store
        if memory is not None and not isinstance(memory, MemoryAdvisor):
            memory = MemoryAdvisor(memory)
        loop = ToolCallingAdvisor(manager, limits=limits)
        self._advisors = (loop, *(each for each in (memory, approval) if each is not None), *advisors)
        watching = (LogObserver(), OpenTelemetryObserver()) if observers is None else observers
        self._observers = tuple(watching)
        self._prices = prices
        self._swapping = threading.Lock()
        given = as_tools(tools)
        if given:
            catalog = Catalog((*(catalog or {}).values(), *given))
        if searcher is None:
            catalog = Catalog() if catalog is None else catalog
            searcher = CatalogSearcher(catalog, embedder)
        self._state = self._assembled(catalog, searcher)
        if not lazy:
            self._state.prepare()

    @property
    def catalog(self) -> Catalog:
        """The tools of the runs to come.

        A newer catalog that is assigned is indexed first, embedding only what has changed, and then takes
        its place at once; runs that have begun finish with the one that they began with. In a coroutine use
        `update`.

        Raises:
            EmbeddingError: it cannot be indexed; the older one stays.
            UnknownToolError: it lacks a pinned tool; the older one stays.
        """
        return self._state.search.catalog

    @catalog.setter
    def catalog(self, catalog: Catalog) -> None:
        with self._swapping:
            newer = self._assembled(catalog, self._state.searcher_of(catalog, self._embedder))
            if self._state.is_prepared:
                newer.prepare()
            self._state = newer

    async def update(self, catalog: Catalog) -> None:
        """Puts a newer catalog in place, as assigning it to `catalog` does, but in a thread."""
        await asyncio.to_thread(setattr, self, "catalog", catalog)

    async def prepare(self) -> None:
        """Builds the index now, in a thread, so that the first run need not.

        Raises:
            EmbeddingError: it cannot be built.
        """
        await asyncio.to_thread(self._state.prepare)

    async def run(self, prompt: Prompt, **options: Unpack[RunOptions]) -> ChatResponse:
        """The answer, once the model has found and called what tools it needed.

        ``metadata`` holds ``messages``, which the run added to the conversation, its ``receipt`` (a
        `RunReceipt`), and what `ToolCallingAdvisor` says of its end, such as ``paused_run`` for `resume`.

        Raises:
            ChainError: a memory is to be used and there is no session id.
            EmbeddingError: the index cannot be built.
            ToolSearchError: what the model or an advisor raises.
        """
        return await self._call(self._request(prompt, **options))

    async def stream(self, prompt: Prompt, **options: Unpack[RunOptions]) -> AsyncIterator[ChatEvent]:
        """What `run` does as it happens: text, ends of rounds, finished calls; at last `RunFinished`.

        Raises:
            ToolSearchError: as `run`, also in the middle.
        """
        async with closing(self._stream(self._request(prompt, **options))) as events:
            async for event in events:
                yield event

    def run_sync(self, prompt: Prompt, **options: Unpack[RunOptions]) -> ChatResponse:
        """`run`, for callers without an event loop. Connections are closed afterwards.

        Raises:
            RunningLoopError: there is an event loop in this thread; await `run` there.
            ToolSearchError: as `run`.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._run_once(self._request(prompt, **options)))
        raise RunningLoopError("run_sync", "run")

    async def resume(
        self,
        paused: PausedRun,
        decisions: Mapping[str, Decision],
        *,
        state: Mapping[str, Any] | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        filter: ToolFilter | None = None,  # noqa: A002
    ) -> ChatResponse:
        """The answer of a run that waited for decisions, which are given by the id of the call.

        Args:
            state, tools, filter: As in the run that paused; they are not kept with it.

        Raises:
            PausedRunError: a decision on a call that does not wait.
            ToolSearchError: as `run`.
        """
        context = {"state": state or {}, FILTER_KEY: filter}
        return await self._call(paused.resume(decisions, tools=as_tools(tools), context=context))

    async def _call(self, request: ChatRequest) -> ChatResponse:
        current = self._state
        await asyncio.to_thread(current.prepare)
        return await current.chain.call(request)

    async def _stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        current = self._state
        await asyncio.to_thread(current.prepare)
        async with closing(current.chain.stream(request)) as events:
            async for event in events:
                yield event

    async def _run_once(self, request: ChatRequest) -> ChatResponse:
        try:
            return await self._call(request)
        finally:
            # Connections belong to this event loop, which is about to end.
            close = getattr(self.model, "aclose", None)
            if close is not None:
                await close()

    def _request(
        self,
        prompt: Prompt,
        *,
        session_id: str = "",
        tenant: str = "",
        state: Mapping[str, Any] | None = None,
        filter: ToolFilter | None = None,  # noqa: A002
        tools: Iterable[Tool | Callable[..., Any]] = (),
        tool_choice: ToolChoice = "auto",
        max_tokens: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> ChatRequest:
        messages = _messages(prompt)
        if self.system and not any(isinstance(message, SystemMessage) for message in messages):
            messages = (SystemMessage(text=self.system), *messages)
        return ChatRequest(
            messages,
            tools=as_tools(tools),
            tool_choice=tool_choice,
            max_tokens=max_tokens,
            options=options or {},
            context={"session_id": session_id, "tenant": tenant, "state": state or {}, FILTER_KEY: filter},
        )

    def _assembled(self, catalog: Catalog | None, searcher: Retriever) -> _State:
        search = ToolSearchAdvisor(
            searcher,
            catalog,
            delivery=self._delivery,
            store=self._store,
            filter=self._filter,
            **self._settings,
        )
        receipts = ReceiptObserver(search.view, prices=self._prices)
        watching = observed_by(*self._observers, receipts)
        return _State(searcher, search, AdvisorChain(self.model, (*self._advisors, search, *watching)))


@dataclass(frozen=True)
class _State:
    """What a run uses from its beginning to its end; replaced as one."""

    searcher: Retriever
    search: ToolSearchAdvisor
    chain: AdvisorChain

    @property
    def is_prepared(self) -> bool:
        return not isinstance(self.searcher, CatalogSearcher) or self.searcher.built is not None

    def prepare(self) -> None:
        if isinstance(self.searcher, CatalogSearcher):
            self.searcher.build()

    def searcher_of(self, catalog: Catalog, embedder: Embedder | None) -> Retriever:
        """A searcher of a newer catalog; one that is not ours is taken to know of it."""
        if isinstance(self.searcher, CatalogSearcher):
            return CatalogSearcher(catalog, embedder, older=self.searcher.built)
        if isinstance(self.searcher, ToolSearcher):
            return CatalogSearcher(catalog, embedder, older=self.searcher)
        return self.searcher


def as_tools(tools: Iterable[Tool | Callable[..., Any]]) -> tuple[Tool, ...]:
    """`tools`, with a tool made of each function.

    Raises:
        DefinitionError: no tool can be made of it.
    """
    return tuple(each if isinstance(each, Tool) else tool(each) for each in tools)


def _messages(prompt: Prompt) -> tuple[Message, ...]:
    if isinstance(prompt, str):
        return (UserMessage.of(prompt),)
    if isinstance(prompt, SystemMessage | UserMessage | AssistantMessage | ToolMessage):
        return (prompt,)
    return tuple(prompt)
