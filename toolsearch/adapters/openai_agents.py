"""OpenAI Agents SDK: `AgentToolSearch` gives an agent many tools, of which it is offered those it has found.

Needs ``toolsearch[openai-agents]``.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from toolsearch.adapters.passed import made_by, passed_tool, refusal, required_call
from toolsearch.adapters.wire import read_conversation
from toolsearch.catalog import Catalog
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.discovery.discoverer import Discoverer
from toolsearch.discovery.discovery import Discovery
from toolsearch.discovery.search_tool import search_tool
from toolsearch.discovery.settings import DiscoveryOptions, DiscoverySettings
from toolsearch.discovery.view import CatalogView
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import ToolArgumentsError, ToolCallError
from toolsearch.functions.arguments import parse_arguments
from toolsearch.functions.results import to_result
from toolsearch.given import listed
from toolsearch.messages import ImagePart, TextPart, ToolResult
from toolsearch.retrieval.base import Retriever
from toolsearch.retrieval.lazy import CatalogSearcher
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.session.base import Session, SessionStore
from toolsearch.session.memory import MemorySessionStore
from toolsearch.tools import Tool, ToolContext

try:
    from agents import (
        AgentBase,
        FunctionTool,
        RunConfig,
        RunContextWrapper,
        ToolErrorFormatterArgs,
        ToolOutputImage,
        ToolOutputText,
        function_tool,
    )
    from agents.tool_context import ToolContext as TheirContext
except ImportError as exc:
    raise ImportError("Install the OpenAI Agents SDK: pip install 'toolsearch[openai-agents]'") from exc


class AgentToolSearch:
    """Many tools for an agent of the OpenAI Agents SDK, and `tool_search`, which makes them visible.

    >>> search = AgentToolSearch(many_tools)
    >>> agent = Agent(name="Clerk", tools=[*search.tools, *own], instructions=search.instructions())
    >>> result = await Runner.run(agent, "Refund order 7.", run_config=search.run_config())

    What a run has discovered is known to that run, and to later ones whose input shows it, such as those of
    one SDK session. With a `session` it is kept beside the messages. Tools that were not discovered are
    switched off (``is_enabled``), so the SDK neither sends nor runs them; `run_config` has it tell the model
    so, where the SDK would end the run. The SDK sends tools in the order of `tools`, whenever they were
    discovered. `max_tools` counts only these tools. A run that is resumed in another process knows what its
    first part had discovered by its session alone.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool] | Iterable[FunctionTool | Tool | Callable[..., Any]],
        *,
        searcher: Retriever | None = None,
        embedder: Embedder | None = None,
        filter: ToolFilter | Callable[[RunContextWrapper[Any]], ToolFilter] | None = None,  # noqa: A002
        session: Callable[[RunContextWrapper[Any]], str] | None = None,
        tenant: Callable[[RunContextWrapper[Any]], str] | None = None,
        store: SessionStore | None = None,
        **settings: Unpack[DiscoveryOptions],
    ) -> None:
        """Over `tools`, which the SDK runs as it runs any.

        Args:
            tools: The SDK's function tools, functions, and tools of this package that have a `call`; or a
                catalog.
            searcher: Finds them by their names; by default an index is built when it is first needed.
            embedder: Of that index; the bundled one by default.
            filter: The tools that may be used: by all runs, or by the run of a context.
            session: The id of a run's conversation; empty for none.
            tenant: On whose behalf a run is; by default nobody's in particular.
            store: Where discoveries are kept by session; by default in memory, for the thousand latest ones.
            settings: The attributes of `DiscoverySettings`, such as `pinned`.

        Raises:
            DefinitionError: a tool that cannot be searched for, or run, or two with one name.
            UnknownToolError, ToolLimitError, ValueError: as `ToolSearchAdvisor`.
        """
        given = [
            each if isinstance(each, FunctionTool | Tool) else made_by("OpenAI Agents", function_tool, each)
            for each in listed(tools)
        ]
        self._catalog = Catalog(_searchable(each) for each in given)
        rules = (filter,) if isinstance(filter, ToolFilter) else ()
        self._rule = None if isinstance(filter, ToolFilter) else filter
        self._discoverer = Discoverer(
            searcher or CatalogSearcher(self._catalog, embedder),
            self._catalog,
            DiscoverySettings.of(**settings),
            APPEND,
            rules,
        )
        self._session = session
        self._tenant = tenant
        self._store: SessionStore = MemorySessionStore() if store is None else store
        self._runs: dict[int, _Run] = {}
        # The SDK describes the search to all runs in the same words, so these name only what all may know.
        view = CatalogView.of(Catalog()) if self._rule is not None else self._discoverer.view()
        search = search_tool(view, limit=settings.get("limit", DiscoverySettings.limit))
        ours = (each if isinstance(each, FunctionTool) else self._of_ours(each) for each in given)
        self.tools: list[FunctionTool] = [
            self._switched(each) for each in (_function_tool(search, self._search), *ours)
        ]

    def instructions(self, text: str = "") -> Callable[[RunContextWrapper[Any], Any], Awaitable[str]]:
        """Instructions for an agent: `text`, and where tools are hidden, that there is a search."""

        async def instructions(context: RunContextWrapper[Any], agent: Any) -> str:
            del agent
            run = await self._run_of(context)
            return "\n\n".join(filter(None, (text, run.discovery.instructions)))

        return instructions

    def run_config(self, config: RunConfig | None = None) -> RunConfig:
        """`config` with which a call of a tool that was not offered is answered, and does not end the run."""
        config = config or RunConfig()
        otherwise = config.tool_error_formatter

        async def told(failure: ToolErrorFormatterArgs[Any]) -> str | None:
            if failure.kind == "tool_not_found":
                run = await self._run_of(failure.run_context)
                said = refusal(failure.tool_name, APPEND.runnable(run.discovery.offer()))
                return failure.default_message if said is None else _text(said)
            message = None if otherwise is None else otherwise(failure)
            return await message if inspect.isawaitable(message) else message

        return replace(config, tool_not_found_behavior="return_error_to_model", tool_error_formatter=told)

    def _switched(self, tool: FunctionTool) -> FunctionTool:
        """A copy that is enabled where `tool` is and where the run has been offered it."""
        given = tool.is_enabled

        async def is_enabled(context: RunContextWrapper[Any], agent: AgentBase[Any]) -> bool:
            run = await self._run_of(context)
            if tool.name not in run.offered:
                return False
            enabled = given if isinstance(given, bool) else given(context, agent)
            return bool(await enabled if inspect.isawaitable(enabled) else enabled)

        switched = copy.copy(tool)
        switched.is_enabled = is_enabled
        return switched

    def _of_ours(self, tool: Tool) -> FunctionTool:
        call = required_call(tool)

        async def invoke(context: TheirContext[Any], text: str) -> Any:
            ours = ToolContext(
                session_id=self._session_id(context),
                call_id=context.tool_call_id,
                tenant=self._tenant_of(context),
                state={"context": context.context},
            )
            try:
                result = await call(parse_arguments(text, tool=tool.name), ours)
            except ToolCallError as exc:
                return str(exc)
            return _output(to_result(result, tool=tool.name))

        return _function_tool(tool, invoke)

    async def _search(self, context: TheirContext[Any], text: str) -> str:
        run = await self._run_of(context)
        try:
            arguments = parse_arguments(text, tool=SEARCH_TOOL)
        except ToolArgumentsError as exc:
            return str(exc)
        # The lock is fair, so tools are discovered in the order of the calls.
        async with run.lock:
            result = await asyncio.to_thread(run.discovery.search, arguments)
            run.offered = _offered(run.discovery)
        return _text(result)

    async def _run_of(self, context: RunContextWrapper[Any]) -> _Run:
        # All contexts of a run share its usage, and nothing else that is public and its own.
        key = id(context.usage)
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = _Run()
            weakref.finalize(context.usage, self._runs.pop, key, None).atexit = False
        async with run.lock:
            if not run.is_open:
                run.discovery = await asyncio.to_thread(self._open, context)
                run.offered = _offered(run.discovery)
                run.is_open = True
        return run

    def _open(self, context: RunContextWrapper[Any]) -> Discovery:
        return self._discoverer.open(
            Session(self._store, self._session_id(context), self._tenant_of(context)),
            APPEND,
            filters=() if self._rule is None else (self._rule(context),),
            messages=read_conversation(context.turn_input, {}),
        )

    def _session_id(self, context: RunContextWrapper[Any]) -> str:
        return "" if self._session is None else self._session(context)

    def _tenant_of(self, context: RunContextWrapper[Any]) -> str:
        return "" if self._tenant is None else self._tenant(context)


class _Run:
    """Where a run stands; `discovery` and `offered` are there once it `is_open`."""

    discovery: Discovery
    offered: frozenset[str]

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.is_open = False


def _offered(discovery: Discovery) -> frozenset[str]:
    return frozenset(tool.name for tool in APPEND.runnable(discovery.offer()))


def _function_tool(tool: Tool, invoke: Callable[[TheirContext[Any], str], Awaitable[Any]]) -> FunctionTool:
    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.input_schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


def _searchable(tool: FunctionTool | Tool) -> Tool:
    if isinstance(tool, Tool):
        return tool
    record = {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
    return passed_tool(tool.name, record, "openai_responses")


def _text(result: ToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextPart))


def _output(result: ToolResult) -> Any:
    """Text, or the SDK's list of texts and pictures."""
    if not any(isinstance(part, ImagePart) for part in result.content):
        return _text(result)
    return [_part(part) for part in result.content]


def _part(part: TextPart | ImagePart) -> ToolOutputText | ToolOutputImage:
    if isinstance(part, TextPart):
        return ToolOutputText(text=part.text)
    return ToolOutputImage(image_url=part.url or f"data:{part.media_type};base64,{part.data}")
