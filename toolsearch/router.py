"""`ToolRouter`: a model, tools, and the search for them, put together with defaults."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, Unpack

from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Advisor
from toolsearch.advisors.chain import AdvisorChain, closing
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.advisors.memory.advisor import MemoryAdvisor
from toolsearch.advisors.memory.store import ConversationStore
from toolsearch.advisors.paused import Decision, PausedRun
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.advisors.tool_search import FILTER_KEY, AnyDelivery, ToolSearchAdvisor
from toolsearch.catalog import Catalog
from toolsearch.chat.base import ChatEvent, ChatModel, ChatRequest, ChatResponse, ToolChoice
from toolsearch.chat.prompt import Prompt, as_conversation
from toolsearch.checks import check_has, check_known, shown
from toolsearch.discovery.settings import DiscoveryOptions
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import RunningLoopError
from toolsearch.given import Tools, as_tools
from toolsearch.messages import SystemMessage
from toolsearch.retrieval.base import Retriever
from toolsearch.retrieval.lazy import CatalogSearcher
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.retrieval.usage import LearnedUsage
from toolsearch.session.base import SessionStore
from toolsearch.session.memory import MemorySessionStore
from toolsearch.telemetry.advisors import observed_by
from toolsearch.telemetry.base import Observer
from toolsearch.telemetry.learning import UsageObserver
from toolsearch.telemetry.log import LogObserver
from toolsearch.telemetry.otel import OpenTelemetryObserver
from toolsearch.telemetry.receipt import Prices, ReceiptObserver
from toolsearch.tool_names import NamesTools

T = TypeVar("T")


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
    tools: Tools
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
        tools: Tools = (),
        *,
        catalog: Tools | None = None,
        searcher: Retriever | None = None,
        embedder: Embedder | None = None,
        usage: LearnedUsage | None = None,
        delivery: AnyDelivery = "auto",
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
        check_names: bool = True,
        **settings: Unpack[DiscoveryOptions],
    ) -> None:
        """Over the tools of `tools` and `catalog`, or of the searcher's index where there are none.

        Args:
            model: Answers.
            tools: Tools and functions to make tools of, or a catalog.
            catalog: More of them.
            searcher: Finds them; by default an index of them all is built.
            embedder: Of that index; the bundled one by default.
            usage: Learns from calls of tools that were searched for, and lifts what served like requests of
                the tenant; None learns nothing. A searcher that is given has its own.
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
            check_names: Whether each tool that `approval`, `limits`, `filter` or one of `advisors` names must
                be in the catalog, and in any newer one. Off for names of tools that only single runs bring.
            settings: The attributes of `DiscoverySettings`, such as `pinned` and `preselect`.

        Raises:
            DefinitionError: a tool cannot be used, or two share a name.
            UnknownToolError: a tool is named that the catalog does not have.
            ToolLimitError, ValueError: as `ToolSearchAdvisor`; or `usage` beside a searcher.
            TypeError: an argument of another kind than it has to be, or an unknown one.
            ChainError: the advisors do not fit together, or name a tag that no tool has.
            EmbeddingError: the index cannot be built; with `lazy`, the first run raises it.
        """
        _check_kinds(
            embedder=embedder,
            filter=filter,
            session_store=session_store,
            memory=None if isinstance(memory, MemoryAdvisor) else memory,
            approval=approval,
            manager=manager,
            limits=limits,
            prices=prices,
            usage=usage,
        )
        if usage is not None and searcher is not None:
            raise ValueError("A searcher is given beside usage. Give usage to the searcher.")
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
        self._check_names = check_names
        whole = Catalog.of(tools)
        if catalog is not None:
            whole = Catalog.of(catalog).with_tools(*whole.values()) if whole else Catalog.of(catalog)
        is_given = bool(whole) or catalog is not None or searcher is None
        searcher = CatalogSearcher(whole, embedder, usage=usage) if searcher is None else searcher
        self._state = self._assembled(whole if is_given else None, searcher)
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
            UnknownToolError: it lacks a tool that is pinned or named; the older one stays.
        """
        return self._state.search.catalog

    @catalog.setter
    def catalog(self, catalog: Tools) -> None:
        catalog = Catalog.of(catalog)
        with self._swapping:
            newer = self._assembled(catalog, self._state.searcher_of(catalog, self._embedder))
            if self._state.is_prepared:
                newer.prepare()
            self._state = newer

    async def update(self, catalog: Tools) -> None:
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
        return await self._call(self._request(prompt, options))

    async def stream(self, prompt: Prompt, **options: Unpack[RunOptions]) -> AsyncIterator[ChatEvent]:
        """What `run` does as it happens: text, ends of rounds, finished calls; at last `RunFinished`.

        Raises:
            ToolSearchError: as `run`, also in the middle.
        """
        async with closing(self._stream(self._request(prompt, options))) as events:
            async for event in events:
                yield event

    def run_sync(self, prompt: Prompt, **options: Unpack[RunOptions]) -> ChatResponse:
        """`run`, for callers without an event loop. Connections are closed afterwards.

        Raises:
            RunningLoopError: there is an event loop in this thread; await `run` there.
            ToolSearchError: as `run`.
        """
        return self._blocking("run", self.run(prompt, **options))

    async def resume(
        self,
        paused: PausedRun,
        decisions: Mapping[str, Decision],
        *,
        state: Mapping[str, Any] | None = None,
        tools: Tools = (),
        filter: ToolFilter | None = None,  # noqa: A002
        take_over: bool = False,
    ) -> ChatResponse:
        """The answer of a run that waited for decisions, which are given by the id of the call.

        Where some of the calls are left undecided, it pauses again once the others have run, and goes on from
        the ``paused_run`` of this response.

        Args:
            state, tools, filter: As in the run that paused; they are not kept with it.
            take_over: Whether to go on with a run that is being resumed elsewhere; see `PausedRun.resume`.

        Raises:
            TypeError: a decision that is none, or no `PausedRun`.
            PausedRunError: no decision, one on a call that does not wait, or a run that went on before or is
                being resumed already.
            ToolSearchError: as `run`.
        """
        if not isinstance(paused, PausedRun):
            raise TypeError(
                f"paused is {shown(paused)}. Give a PausedRun; PausedRun.model_validate_json reads one."
            )
        context = {"state": state or {}, FILTER_KEY: filter}
        return await self._call(paused.resume(decisions, tools=tools, context=context, take_over=take_over))

    def resume_sync(
        self,
        paused: PausedRun,
        decisions: Mapping[str, Decision],
        *,
        state: Mapping[str, Any] | None = None,
        tools: Tools = (),
        filter: ToolFilter | None = None,  # noqa: A002
        take_over: bool = False,
    ) -> ChatResponse:
        """`resume`, for callers without an event loop. Connections are closed afterwards.

        Raises:
            RunningLoopError: there is an event loop in this thread; await `resume` there.
            TypeError, ToolSearchError: as `resume`.
        """
        return self._blocking(
            "resume",
            self.resume(paused, decisions, state=state, tools=tools, filter=filter, take_over=take_over),
        )

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

    def _blocking(self, name: str, answer: Coroutine[Any, Any, T]) -> T:
        """What the method of that `name` answers, in an event loop of its own."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._closing_after(answer))
        answer.close()
        raise RunningLoopError(f"{name}_sync", name)

    async def _closing_after(self, answer: Coroutine[Any, Any, T]) -> T:
        try:
            return await answer
        finally:
            # Connections belong to this event loop, which is about to end.
            close = getattr(self.model, "aclose", None)
            if close is not None:
                await close()

    def _request(self, prompt: Prompt, options: RunOptions) -> ChatRequest:
        check_known("option of a run", options, RunOptions.__annotations__)
        messages = as_conversation(prompt)
        if self.system and not any(isinstance(message, SystemMessage) for message in messages):
            messages = (SystemMessage(text=self.system), *messages)
        return ChatRequest(
            messages,
            tools=as_tools(options.get("tools", ())),
            tool_choice=options.get("tool_choice", "auto"),
            max_tokens=options.get("max_tokens"),
            options=options.get("options") or {},
            context={
                "session_id": options.get("session_id", ""),
                "tenant": options.get("tenant", ""),
                "state": options.get("state") or {},
                FILTER_KEY: options.get("filter"),
            },
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
        if self._check_names:
            for each in (*self._advisors, *([] if self._filter is None else [self._filter])):
                if isinstance(each, NamesTools):
                    each.check_names(search.catalog)
        receipts = ReceiptObserver(search.view, prices=self._prices)
        learning = _learning(searcher)
        watching = observed_by(*self._observers, *learning, receipts)
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


def _learning(searcher: Retriever) -> tuple[Observer, ...]:
    """What teaches the searcher, where it learns."""
    if isinstance(searcher, ToolSearcher | CatalogSearcher) and searcher.usage is not None:
        return (UsageObserver(searcher.learn),)
    return ()


_KINDS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "embedder": (("embed_documents", "embed_queries"), "an Embedder"),
    "filter": (("permits",), "a ToolFilter"),
    "session_store": (("discovered", "discover"), "a SessionStore"),
    "memory": (("messages", "append"), "a ConversationStore or a MemoryAdvisor"),
    "approval": (("advise", "review"), "an ApprovalAdvisor"),
    "manager": (("plan", "execute"), "a ToolCallingManager"),
    "limits": (("of_calls",), "LoopLimits"),
    "prices": (("cost",), "Prices(input=..., output=...)"),
    "usage": (("learn", "supports"), "a LearnedUsage"),
}


def _check_kinds(**given: object) -> None:
    """Does nothing where each argument is None or can what it has to; an error would come much later."""
    for name, value in given.items():
        if value is not None:
            check_has(name, value, *_KINDS[name])
