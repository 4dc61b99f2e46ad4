"""Pydantic AI: `SearchStrategy` finds its deferred tools, `ToolSearchToolset` offers those of a catalog.

Needs ``toolsearch[pydantic-ai]``.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from pydantic_core import SchemaValidator, core_schema

from toolsearch.adapters.passed import passed_tool
from toolsearch.catalog import Catalog
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.discovery.discoverer import Discoverer
from toolsearch.discovery.discovery import Discovery
from toolsearch.discovery.settings import MAX_LIMIT, DiscoveryOptions, DiscoverySettings
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import ToolArgumentsError, ToolFailed, ToolRetry
from toolsearch.functions.results import to_result
from toolsearch.given import Tools
from toolsearch.messages import ImagePart, Message, TextPart, ToolMessage, ToolResult, UserMessage
from toolsearch.retrieval.base import MAX_QUERIES, Retriever, SearchRequest
from toolsearch.retrieval.lazy import CatalogSearcher
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.session.base import Session, SessionStore
from toolsearch.session.memory import MemorySessionStore
from toolsearch.tools import Tool, ToolContext

try:
    from pydantic_ai import exceptions as theirs
    from pydantic_ai.messages import (
        BinaryContent,
        ImageUrl,
        ModelMessage,
        ToolReturn,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.tools import AgentDepsT, RunContext, ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
except ImportError as exc:
    raise ImportError("Install Pydantic AI: pip install 'toolsearch[pydantic-ai]'") from exc

_ANY_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
_METADATA = "toolsearch"


class SearchStrategy:
    """The strategy of Pydantic AI's `ToolSearch`: finds tools that are marked with ``defer_loading``.

    >>> agent = Agent(model, tools=tools, capabilities=[ToolSearch(strategy=SearchStrategy())])

    The model sees Pydantic AI's own search tool, or its provider's, and Pydantic AI keeps what was found in
    the message history. The tools are indexed at the first search, and again only where they have changed.
    Safe to share between agents and threads.
    """

    def __init__(self, embedder: Embedder | None = None, *, limit: int = 5) -> None:
        """Indexes nothing yet.

        Args:
            embedder: Of the index; the bundled one by default.
            limit: The most tools that one query finds, 1 to 20. `ToolSearch.max_results` bounds all of them.

        Raises:
            ValueError: the limit is out of its range.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise ValueError(f"limit is {limit}; it must be from 1 to {MAX_LIMIT}.")
        self._embedder = embedder
        self._limit = limit
        self._searcher: CatalogSearcher | None = None
        self._digest = b""
        self._lock = threading.Lock()

    async def __call__(
        self, ctx: RunContext[Any], queries: Sequence[str], tools: Sequence[ToolDefinition]
    ) -> list[str]:
        """Names among `tools`, best first, those last that the conversation has found before.

        Raises:
            DefinitionError: one of `tools` cannot be searched for.
            EmbeddingError: the index cannot be built.
        """
        known = set(ctx.discovered_tool_names)
        return await asyncio.to_thread(self._names, list(queries), list(tools), known)

    def _names(self, queries: list[str], tools: list[ToolDefinition], known: set[str]) -> list[str]:
        asked = tuple(dict.fromkeys(query for query in queries if query.strip()))[:MAX_QUERIES]
        wanted = self._limit * len(asked)
        result = self._over(tools).search(SearchRequest(queries=asked, max_k=wanted + len(known), near=0))
        new = [name for name in result.names if name not in known]
        return new[:wanted] + [name for name in result.names if name in known]

    def _over(self, tools: list[ToolDefinition]) -> CatalogSearcher:
        records = [_record(tool) for tool in tools]
        digest = hashlib.sha256(json.dumps(records, sort_keys=True).encode()).digest()
        with self._lock:
            if self._searcher is None or digest != self._digest:
                catalog = Catalog(passed_tool(record["name"], record, "pydantic_ai") for record in records)
                older = self._searcher.built if self._searcher is not None else None
                self._searcher = CatalogSearcher(catalog, self._embedder, older=older)
                self._digest = digest
            return self._searcher


@dataclass(kw_only=True)
class _OfferedTool(ToolsetTool[AgentDepsT]):
    tool: Tool


class ToolSearchToolset(AbstractToolset[AgentDepsT]):
    """A toolset that offers `tool_search`, pinned tools, and what the conversation has discovered.

    >>> agent = Agent(model, toolsets=[ToolSearchToolset(many_tools)])

    Works with every model. What was discovered is kept under the run's ``conversation_id``, and in the
    message history as well, so that a conversation that is resumed from it goes on. Only tools that were
    offered can be called. A tool without `call` is an external one: its calls end the run as deferred.
    A tool's `return_direct` has no meaning to Pydantic AI.
    """

    def __init__(
        self,
        tools: Tools = (),
        *,
        searcher: Retriever | None = None,
        embedder: Embedder | None = None,
        id: str | None = "toolsearch",  # noqa: A002
        filter: ToolFilter | Callable[[RunContext[AgentDepsT]], ToolFilter] | None = None,  # noqa: A002
        session: Callable[[RunContext[AgentDepsT]], str] | None = None,
        tenant: Callable[[RunContext[AgentDepsT]], str] | None = None,
        store: SessionStore | None = None,
        max_retries: int | None = None,
        **settings: Unpack[DiscoveryOptions],
    ) -> None:
        """Over `tools`, or where there are none over those of the searcher's index.

        Args:
            tools: Tools and functions to make tools of, or a catalog. An index that was loaded from disk has
                no functions to run: give the tools beside it.
            searcher: Finds them; by default an index is built when it is first needed.
            embedder: Of that index; the bundled one by default.
            id: Of the toolset, unique within an agent.
            filter: The tools that may be used: by all runs, or by the run of a context.
            session: The id of the conversation; by default ``conversation_id``.
            tenant: On whose behalf; by default nobody's in particular.
            store: Where discoveries are kept; by default in memory, for the thousand latest conversations.
            max_retries: How often the model may correct a call; by default as the agent says.
            settings: The attributes of `DiscoverySettings`, such as `pinned`.

        Raises:
            UnknownToolError, ToolLimitError, TypeError, ValueError: as `ToolSearchAdvisor`.
        """
        rules = (filter,) if isinstance(filter, ToolFilter) else ()
        self._rule = None if isinstance(filter, ToolFilter) else filter
        catalog = Catalog.of(tools)
        self._discoverer = Discoverer(
            searcher or CatalogSearcher(catalog, embedder),
            catalog or None,
            DiscoverySettings.of(**settings),
            APPEND,
            rules,
        )
        self._store: SessionStore = MemorySessionStore() if store is None else store
        self._session = session
        self._tenant = tenant
        self._id = id
        self._max_retries = max_retries

    @property
    def id(self) -> str | None:
        return self._id

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> str | None:
        """What the model is told of the search; None where nothing is hidden."""
        discovery = await asyncio.to_thread(self._open, ctx)
        return discovery.instructions or None

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """The tools of this step: `tool_search`, pinned ones, discovered ones in first-seen order."""
        discovery = await asyncio.to_thread(self._open, ctx)
        retries = ctx.max_retries if self._max_retries is None else self._max_retries
        return {
            tool.name: _OfferedTool(
                toolset=self,
                tool_def=_definition(tool),
                max_retries=retries,
                args_validator=_ANY_OBJECT,
                tool=tool,
            )
            for tool in APPEND.runnable(discovery.offer())
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        """The result of a call, which Pydantic AI has found to be of an offered tool.

        Raises:
            ModelRetry: the arguments were not accepted, or the tool asks for another try.
            ToolFailed: the tool, or the search, says that it failed.
        """
        if not isinstance(tool, _OfferedTool) or tool.tool.call is None:
            raise theirs.UserError(f"Tool {name!r} is not one that this toolset runs.")
        context = ToolContext(
            session_id=self._session_id(ctx),
            call_id=ctx.tool_call_id or "",
            tenant=self._tenant_of(ctx),
            state={"deps": ctx.deps},
        )
        try:
            result = to_result(await tool.tool.call(tool_args, context), tool=name)
        except (ToolArgumentsError, ToolRetry) as exc:
            raise theirs.ModelRetry(str(exc)) from exc
        except ToolFailed as exc:
            raise theirs.ToolFailed(exc.message) from exc
        if result.is_error:
            raise theirs.ToolFailed(_text(result))
        if name != SEARCH_TOOL:
            return _content(result)
        facts = {"discovered": list(result.discovered), "structured": result.structured}
        return ToolReturn(return_value=_text(result), metadata={_METADATA: facts})

    def _open(self, ctx: RunContext[AgentDepsT]) -> Discovery:
        return self._discoverer.open(
            Session(self._store, self._session_id(ctx), self._tenant_of(ctx)),
            APPEND,
            filters=() if self._rule is None else (self._rule(ctx),),
            messages=tuple(_conversation(ctx.messages)),
        )

    def _session_id(self, ctx: RunContext[AgentDepsT]) -> str:
        return (ctx.conversation_id or "") if self._session is None else self._session(ctx)

    def _tenant_of(self, ctx: RunContext[AgentDepsT]) -> str:
        return "" if self._tenant is None else self._tenant(ctx)


def _record(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description or "",
        "parameters_json_schema": tool.parameters_json_schema,
    }


def _definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=tool.input_schema,
        kind="external" if tool.call is None else "function",
    )


def _conversation(messages: Sequence[ModelMessage]) -> Iterator[Message]:
    """What the user said and what searches found."""
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, UserPromptPart):
            texts = [part.content] if isinstance(part.content, str) else part.content
            yield UserMessage.of("".join(text for text in texts if isinstance(text, str)))
        elif isinstance(part, ToolReturnPart) and part.tool_name == SEARCH_TOOL:
            metadata = part.metadata if isinstance(part.metadata, dict) else {}
            facts = metadata.get(_METADATA, {})
            yield ToolMessage(
                call_id=part.tool_call_id,
                name=SEARCH_TOOL,
                discovered=tuple(facts.get("discovered", ())),
                structured=facts.get("structured"),
            )


def _text(result: ToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextPart))


def _content(result: ToolResult) -> Any:
    """Text, or a list of texts and pictures."""
    if not any(isinstance(part, ImagePart) for part in result.content):
        return _text(result)
    return [_picture(part) if isinstance(part, ImagePart) else part.text for part in result.content]


def _picture(part: ImagePart) -> BinaryContent | ImageUrl:
    if part.url:
        return ImageUrl(url=part.url)
    return BinaryContent(data=base64.b64decode(part.data), media_type=part.media_type)
