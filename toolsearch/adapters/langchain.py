"""LangChain and LangGraph: `ToolSearchMiddleware` for agents of ``create_agent``.

Needs ``toolsearch[langchain]``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypeAlias, Unpack

from pydantic.errors import PydanticInvalidForJsonSchema

from toolsearch.adapters.passed import PassedTool, made_by, passed_tool, refusal, required_call
from toolsearch.catalog import Catalog
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.discovery.discoverer import Discoverer
from toolsearch.discovery.discovery import Discovery
from toolsearch.discovery.settings import DiscoveryOptions, DiscoverySettings
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import DefinitionError, ToolCallError
from toolsearch.functions.results import to_result
from toolsearch.given import listed
from toolsearch.messages import ImagePart, Message, TextPart, ToolMessage, ToolResult, UserMessage
from toolsearch.retrieval.base import Retriever
from toolsearch.retrieval.lazy import CatalogSearcher
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.session.base import Session
from toolsearch.session.memory import MemorySessionStore
from toolsearch.tools import JsonObject, Tool, ToolContext

try:
    from langchain.agents.middleware.types import (
        AgentMiddleware,
        AgentState,
        ExtendedModelResponse,
        ModelRequest,
        ModelResponse,
        PrivateStateAttr,
        ToolCallRequest,
    )
    from langchain_core import messages as theirs
    from langchain_core.tools import BaseTool, ToolException
    from langchain_core.tools import tool as langchain_tool
    from langgraph.types import Command
except ImportError as exc:
    raise ImportError("Install LangChain: pip install 'toolsearch[langchain]'") from exc

AnyTool: TypeAlias = "BaseTool | Tool | Callable[..., Any]"
_ToolOutput: TypeAlias = "theirs.ToolMessage | Command[Any]"
_ModelOutput: TypeAlias = "ModelResponse[Any] | theirs.AIMessage | ExtendedModelResponse[Any]"


def _changed(names: list[str], change: Any) -> list[str]:
    """`names` after a change: names to append, or an object with ``added`` and with names that made room."""
    added, evicted = (change["added"], change["evicted"]) if isinstance(change, dict) else (change, ())
    return list(dict.fromkeys((*(name for name in names if name not in evicted), *added)))


class ToolSearchState(AgentState[Any]):
    """The state of an agent, and in first-seen order what its thread has discovered."""

    # The reducer must come last: LangGraph looks for it there.
    discovered_tools: NotRequired[Annotated[list[str], PrivateStateAttr, _changed]]


class ToolSearchMiddleware(AgentMiddleware[ToolSearchState, Any, Any]):
    """Offers `tool_search`, pinned tools, the agent's own, and what the thread has discovered.

    >>> agent = create_agent(model, tools=own, middleware=[ToolSearchMiddleware(many_tools)])

    The tools that it is given are hidden until they are found; those of the agent, and of other middleware,
    are always visible. What was discovered is part of the graph's state, so a checkpointer keeps it for each
    thread. Only tools that were offered can be called. Middleware after this one can neither run nor see
    calls of names that are neither hidden here nor registered with the agent.
    """

    state_schema = ToolSearchState

    def __init__(
        self,
        tools: Mapping[str, Tool] | Iterable[AnyTool],
        *,
        searcher: Retriever | None = None,
        embedder: Embedder | None = None,
        filter: ToolFilter | Callable[[Any], ToolFilter] | None = None,  # noqa: A002
        **settings: Unpack[DiscoveryOptions],
    ) -> None:
        """Over `tools`, which LangChain runs as it runs any.

        Args:
            tools: LangChain's tools or functions, and tools of this package that have a `call`; or a catalog.
            searcher: Finds them by their names; by default an index is built when it is first needed.
            embedder: Of that index; the bundled one by default.
            filter: The tools that may be used: by all runs, or by the run of a context.
            settings: The attributes of `DiscoverySettings`, such as `pinned`.

        Raises:
            DefinitionError: a tool that cannot be searched for, or run, or two with one name.
            UnknownToolError, ToolLimitError, ValueError: as `ToolSearchAdvisor`.
        """
        super().__init__()
        given = [
            each if isinstance(each, BaseTool | Tool) else made_by("LangChain", langchain_tool, each)
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
        self.tools = [each if isinstance(each, BaseTool) else _OurTool.of(each) for each in given]

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> _ModelOutput:
        """The answer to the request with the tools of this round."""
        asked, new = self._offering(request)
        return _with_discovered(handler(asked), new)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> _ModelOutput:
        """`wrap_model_call` in a coroutine; what it searches, it searches in a thread."""
        asked, new = await asyncio.to_thread(self._offering, request)
        return _with_discovered(await handler(asked), new)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], _ToolOutput]
    ) -> _ToolOutput:
        """The result of a call, or what the model is told of a tool that it was not offered."""
        prepared = self._prepared(request)
        return handler(prepared) if isinstance(prepared, ToolCallRequest) else prepared

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[_ToolOutput]]
    ) -> _ToolOutput:
        """`wrap_tool_call` in a coroutine."""
        prepared = await asyncio.to_thread(self._prepared, request)
        return await handler(prepared) if isinstance(prepared, ToolCallRequest) else prepared

    def _offering(self, request: ModelRequest[Any]) -> tuple[ModelRequest[Any], list[str]]:
        """The request with the tools of this round, and the names that the state does not have yet."""
        given = {each.name: each for each in request.tools if isinstance(each, BaseTool)}
        own = [each for each in request.tools if not self._has(each)]
        discovery = self._open(request.state, request.runtime, request.tools)
        offer = discovery.offer()
        first = [] if offer.search_tool is None else [_OurTool.of(offer.search_tool)]
        # A tool that other middleware has taken away stays away.
        pinned = [given[tool.name] for tool in offer.visible if self._has(given.get(tool.name))]
        loaded = [given[tool.name] for tool in offer.loaded if tool.name in given]
        asked = request.override(
            tools=[*first, *pinned, *own, *loaded],
            system_message=_with_text(request.system_message, discovery.instructions),
        )
        known: list[str] = request.state.get("discovered_tools", [])  # type: ignore[assignment]
        return asked, [tool.name for tool in offer.loaded if tool.name not in known]

    def _prepared(self, request: ToolCallRequest) -> ToolCallRequest | theirs.ToolMessage:
        """The call as it may run, or the answer to one that may not."""
        name, call_id = request.tool_call["name"], request.tool_call["id"] or ""
        is_ours = name in self._catalog or name == SEARCH_TOOL
        if request.tool is not None and not is_ours:
            return request
        discovery = self._open(request.state, request.runtime, request.runtime.tools)
        told = refusal(name, APPEND.runnable(discovery.offer()))
        if told is not None:
            return theirs.ToolMessage(_content(told), name=name, tool_call_id=call_id, status="error")
        if name == SEARCH_TOOL:
            return request.override(tool=_OurTool.of(_search(discovery, call_id)))
        if isinstance(request.tool, _OurTool):
            context = ToolContext(
                session_id=_thread_id(request.runtime),
                call_id=call_id,
                state={"context": request.runtime.context, "state": request.state},
            )
            return request.override(tool=_OurTool.of(self._catalog[name], context))
        return request

    def _has(self, tool: Any) -> bool:
        return isinstance(tool, BaseTool) and tool.name in self._catalog

    def _open(self, state: Any, runtime: Any, registered: Sequence[Any]) -> Discovery:
        own = [each.name for each in registered if isinstance(each, BaseTool) and not self._has(each)]
        store = MemorySessionStore(max_sessions=1)
        session = Session(store, "thread")
        session.discover(state.get("discovered_tools", ()))
        return self._discoverer.open(
            session,
            APPEND,
            filters=() if self._rule is None else (self._rule(runtime.context),),
            messages=tuple(_conversation(state["messages"])),
            own=[PassedTool(raw_name=name, given_name=name) for name in own],
        )


def _search(discovery: Discovery, call_id: str) -> Tool:
    """`tool_search` for one call, whose result changes the state."""

    async def search(arguments: JsonObject, context: ToolContext) -> Command[Any]:
        del context
        result = await asyncio.to_thread(discovery.search, arguments)
        structured = result.structured or {}
        change = {"added": list(result.discovered), "evicted": structured.get("evicted", [])}
        message = theirs.ToolMessage(
            _content(result),
            name=SEARCH_TOOL,
            tool_call_id=call_id,
            status="error" if result.is_error else "success",
            artifact={"discovered": list(result.discovered), "structured": structured},
        )
        return Command(update={"messages": [message], "discovered_tools": change})

    return Tool(raw_name=SEARCH_TOOL, call=search)


class _OurTool(BaseTool):
    """A tool of this package as one of LangChain's."""

    response_format: Any = "content_and_artifact"
    handle_tool_error: Any = True
    call_ours: Any
    context: Any

    @classmethod
    def of(cls, tool: Tool, context: ToolContext | None = None) -> _OurTool:
        return cls(
            name=tool.name,
            description=tool.description,
            args_schema=tool.input_schema,
            return_direct=tool.return_direct,
            tags=list(tool.tags) or None,
            call_ours=required_call(tool),
            context=context or ToolContext(),
        )

    def _run(self, **arguments: Any) -> Any:
        return asyncio.run(self._arun(**arguments))

    async def _arun(self, **arguments: Any) -> Any:
        try:
            value = await self.call_ours(arguments, self.context)
            if isinstance(value, Command):
                return value, None
            result = to_result(value, tool=self.name)
        except ToolCallError as exc:
            raise ToolException(str(exc)) from exc
        if result.is_error:
            raise ToolException(_content(result))
        return _content(result), result.structured


def _searchable(tool: BaseTool | Tool) -> Tool:
    if isinstance(tool, Tool):
        return tool
    schema: Any = tool.tool_call_schema
    try:
        schema = schema if isinstance(schema, dict) else schema.model_json_schema()
    except PydanticInvalidForJsonSchema as exc:
        raise DefinitionError(tool.name, f"its arguments have no JSON Schema. {exc.message}") from exc
    record = {
        "name": tool.name,
        "description": tool.description,
        "args_schema": schema,
        "tags": tool.tags or [],
        "metadata": tool.metadata or {},
    }
    return passed_tool(tool.name, record, "langchain")


def _conversation(messages: Iterable[Any]) -> Iterator[Message]:
    """What the user said and what searches found."""
    for message in messages:
        if isinstance(message, theirs.HumanMessage):
            yield UserMessage.of(message.text)
        elif isinstance(message, theirs.ToolMessage) and message.name == SEARCH_TOOL:
            facts = message.artifact if isinstance(message.artifact, Mapping) else {}
            yield ToolMessage(
                call_id=message.tool_call_id,
                name=SEARCH_TOOL,
                discovered=tuple(facts.get("discovered", ())),
                structured=facts.get("structured"),
            )


def _with_discovered(answer: ModelResponse[Any], names: list[str]) -> _ModelOutput:
    return ExtendedModelResponse(answer, Command(update={"discovered_tools": names})) if names else answer


def _with_text(message: theirs.SystemMessage | None, text: str) -> theirs.SystemMessage | None:
    """`message` with `text` at its end."""
    if not text or message is None:
        return theirs.SystemMessage(text) if text else message
    if isinstance(message.content, str):
        return theirs.SystemMessage(f"{message.content}\n\n{text}")
    return theirs.SystemMessage([*message.content, {"type": "text", "text": text}])


def _content(result: ToolResult) -> Any:
    """Text, or LangChain's blocks of text and pictures."""
    if not any(isinstance(part, ImagePart) for part in result.content):
        return "".join(part.text for part in result.content if isinstance(part, TextPart))
    return [_block(part) for part in result.content]


def _block(part: TextPart | ImagePart) -> JsonObject:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if part.url:
        return {"type": "image", "url": part.url}
    return {"type": "image", "base64": part.data, "mime_type": part.media_type}


def _thread_id(runtime: Any) -> str:
    config = getattr(runtime, "config", None) or {}
    return str(config.get("configurable", {}).get("thread_id", ""))
