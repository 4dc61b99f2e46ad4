"""LangChain's agents are offered what was discovered, streaming or not, in threads of LangGraph."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool, InjectedToolCallId
from langchain_core.tools import tool as langchain_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

from toolsearch import ToolContext, ToolFailed, ToolFilter, ToolResult, tool
from toolsearch.adapters.langchain import ToolSearchMiddleware
from toolsearch.exceptions import DefinitionError, ReservedNameError, UnknownToolError
from toolsearch.messages import ImagePart, TextPart
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

Call = tuple[str, dict[str, Any]]


class Scripted(BaseChatModel):
    """Says a script, and notes the tools and the system message of each request."""

    script: Any
    offered: Any
    system: Any
    bound: Any = ()

    @classmethod
    def of(cls, *script: str | Call | list[Call]) -> "Scripted":
        return cls(script=iter(script), offered=[], system=[])

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        del kwargs
        sent = tuple(convert_to_openai_tool(each) for each in tools)
        return self.model_copy(update={"bound": sent})

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self.offered.append([each["function"]["name"] for each in self.bound])
        self.system.append([str(each.content) for each in messages if each.type == "system"])
        step = next(self.script)
        if isinstance(step, str):
            return AIMessage(step)
        calls = [step] if isinstance(step, tuple) else step
        return AIMessage(
            "",
            tool_calls=[
                {
                    "name": name,
                    "args": arguments,
                    "id": f"call-{len(self.offered)}-{number}",
                    "type": "tool_call",
                }
                for number, (name, arguments) in enumerate(calls)
            ],
        )

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        whole = self._next(messages)
        for character in str(whole.content):
            yield ChatGenerationChunk(message=AIMessageChunk(content=character))
        for index, call in enumerate(whole.tool_calls):
            text = json.dumps(call["args"])
            for piece, name in ((text[:5], call["name"]), (text[5:], None)):
                chunk: Any = {"name": name, "args": piece, "id": call["id"] if name else None, "index": index}
                yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[chunk]))


@langchain_tool
def refund_order(order: int) -> str:
    """Refund an order in full."""
    return f"Order {order} is refunded."


@langchain_tool
def who_asks(call: Annotated[str, InjectedToolCallId], runtime: ToolRuntime[Any, Any]) -> str:
    """Tell who asks."""
    return f"{call} of {len(runtime.state['messages'])} messages"


def cancel_order(order: int) -> str:
    """Cancel an order before it ships."""
    return f"Order {order} is cancelled."


@tool
async def send_parcel(place: str, config: str, context: ToolContext) -> str:
    """Send a parcel to a place."""
    if place == "moon":
        raise ToolFailed("Nobody delivers there.")
    return f"Sent to {place} by {config} for {context.session_id}/{context.state['context']}."


@tool
def draw_map() -> ToolResult:
    """Draw a map."""
    return ToolResult((TextPart(text="Here:"), ImagePart.of(b"png")))


@langchain_tool
def now() -> str:
    """The time."""
    return "noon"


SHOP = [refund_order, who_asks, cancel_order, send_parcel, draw_map]


def search(*names: str) -> Call:
    return "tool_search", {"queries": [f"select:{','.join(names)}"]}


def hidden(tools: Sequence[Any] = SHOP, **options: Any) -> ToolSearchMiddleware:
    return ToolSearchMiddleware(tools, embedder=HashingEmbedder(), **options)


def agent_of(model: Scripted, *middleware: Any, **options: Any) -> Any:
    return create_agent(model, tools=[now], middleware=middleware or [hidden()], **options)


def invoke(agent: Any, text: str, **options: Any) -> list[BaseMessage]:
    return list(agent.invoke({"messages": [HumanMessage(text)]}, **options)["messages"])


def ainvoke(agent: Any, text: str, **options: Any) -> list[BaseMessage]:
    return list(asyncio.run(agent.ainvoke({"messages": [HumanMessage(text)]}, **options))["messages"])


def stream(agent: Any, text: str, **options: Any) -> list[BaseMessage]:
    """Streams tokens as well as states; the last state tells."""
    last: Any = None
    tokens = 0
    for mode, value in agent.stream(
        {"messages": [HumanMessage(text)]}, stream_mode=["messages", "values"], **options
    ):
        tokens += mode == "messages"
        last = value if mode == "values" else last
    assert tokens > len(last["messages"])
    return list(last["messages"])


def results(messages: Sequence[BaseMessage]) -> list[Any]:
    return [each.content for each in messages if isinstance(each, ToolMessage)]


def thread(name: str) -> dict[str, Any]:
    return {"config": {"configurable": {"thread_id": name}}}


@pytest.mark.parametrize("run", [invoke, ainvoke, stream])
def test_the_model_sees_what_it_has_found_and_calls_it(run: Callable[..., list[BaseMessage]]) -> None:
    model = Scripted.of(
        ("tool_search", {"queries": ["refund an order"], "limit": 1}), ("refund_order", {"order": 7}), "Done."
    )
    messages = run(agent_of(model, system_prompt="Be kind."), "Refund order 7.")
    found = ["tool_search", "now", "refund_order"]
    assert model.offered == [["tool_search", "now"], found, found]
    assert results(messages)[1:] == ["Order 7 is refunded."]
    assert messages[-1].content == "Done."
    assert all(len(texts) == 1 and texts[0].startswith("Be kind.\n\nYou see only") for texts in model.system)


def test_discoveries_stay_in_first_seen_order_and_in_their_thread() -> None:
    model = Scripted.of(search("who_asks"), search("draw_map", "cancel_order"), "Yes.", "Hello.", "Again.")
    agent = agent_of(model, checkpointer=InMemorySaver())
    for name in ("a", "b", "a"):
        invoke(agent, "Look.", **thread(name))
    found = ["tool_search", "now", "who_asks", "draw_map", "cancel_order"]
    assert model.offered[2:] == [found, ["tool_search", "now"], found]


def test_discoveries_outlive_the_messages_that_tell_of_them() -> None:
    model = Scripted.of(search("who_asks"), "Yes.", "Again.")
    agent = agent_of(model, checkpointer=InMemorySaver())
    invoke(agent, "Look.", **thread("a"))
    from langchain_core.messages import RemoveMessage
    from langgraph.graph.message import REMOVE_ALL_MESSAGES

    agent.update_state(thread("a")["config"], {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]})
    invoke(agent, "And?", **thread("a"))
    assert model.offered[2] == ["tool_search", "now", "who_asks"]


def test_without_a_checkpointer_the_messages_tell() -> None:
    model = Scripted.of(search("who_asks"), "Yes.", "Again.")
    agent = agent_of(model)
    told = invoke(agent, "Look.")
    agent.invoke({"messages": [*told, HumanMessage("And?")]})
    assert model.offered[2] == ["tool_search", "now", "who_asks"]


@pytest.mark.parametrize("run", [invoke, ainvoke])
@pytest.mark.parametrize("name", ["refund_order", "no_such_tool"])
def test_a_hidden_tool_is_answered_like_one_that_does_not_exist(
    name: str, run: Callable[..., list[BaseMessage]]
) -> None:
    model = Scripted.of((name, {"order": 7}), "Sorry.")
    messages = run(agent_of(model), "Refund order 7.")
    (told,) = (each for each in messages if isinstance(each, ToolMessage))
    assert told.status == "error"
    assert told.content == (
        f"There is no tool {name!r}. Find tools with tool_search first; "
        "only tools that it has found can be called."
    )


def test_a_tool_that_is_found_in_the_same_answer_does_not_run_yet() -> None:
    model = Scripted.of([search("refund_order"), ("refund_order", {"order": 7})], "Sorry.")
    messages = invoke(agent_of(model), "Refund order 7.")
    assert "There is no tool" in results(messages)[1]


def test_searches_of_one_answer_are_united() -> None:
    model = Scripted.of([search("draw_map"), search("who_asks")], "Done.")
    messages = invoke(agent_of(model), "Look.")
    assert model.offered[1] == ["tool_search", "now", "draw_map", "who_asks"]
    assert [text.splitlines()[1] for text in results(messages)] == [
        "- draw_map: Draw a map.",
        "- who_asks: Tell who asks.",
    ]


@pytest.mark.parametrize("run", [invoke, ainvoke])
def test_tools_of_both_kinds_get_what_they_ask_for(run: Callable[..., list[BaseMessage]]) -> None:
    model = Scripted.of(
        search("send_parcel", "who_asks", "cancel_order", "draw_map"),
        [
            ("send_parcel", {"place": "Rome", "config": "air"}),
            ("send_parcel", {"place": "moon", "config": "air"}),
            ("send_parcel", {"place": "Rome"}),
            ("who_asks", {}),
            ("cancel_order", {"order": 7}),
            ("draw_map", {}),
        ],
        "Done.",
    )
    agent = agent_of(model, checkpointer=InMemorySaver())
    messages = run(agent, "Go.", context="Ann", **thread("a"))
    sent, failed, wrong, asked, cancelled, drawn = results(messages)[1:]
    assert sent == "Sent to Rome by air for a/Ann."
    assert failed == "Nobody delivers there."
    assert "'config'" in wrong
    assert asked == "call-2-3 of 4 messages"
    assert cancelled == "Order 7 is cancelled."
    assert drawn == [
        {"type": "text", "text": "Here:"},
        {"type": "image", "base64": "cG5n", "mime_type": "image/png"},
    ]
    statuses = [each.status for each in messages if isinstance(each, ToolMessage)]
    assert statuses == ["success", "success", "error", "error", "success", "success", "success"]


def test_pinned_tools_are_always_there_and_a_filter_hides_from_everything() -> None:
    model = Scripted.of(search("refund_order", "who_asks"), "No.")
    middleware = hidden(pinned=("cancel_order",), filter=lambda user: ToolFilter(deny=(f"{user}_*",)))
    messages = invoke(agent_of(model, middleware), "Look.", context="refund")
    assert model.offered == [
        ["tool_search", "cancel_order", "now"],
        ["tool_search", "cancel_order", "now", "who_asks"],
    ]
    assert "Refund an order" not in results(messages)[0]


def test_the_latest_discoveries_make_room_and_the_model_is_told() -> None:
    model = Scripted.of(search("refund_order"), search("who_asks"), ("refund_order", {"order": 7}), "Done.")
    agent = agent_of(model, hidden(max_tools=3), checkpointer=InMemorySaver())
    messages = invoke(agent, "Look.", **thread("a"))
    assert model.offered[1:3] == [["tool_search", "now", "refund_order"], ["tool_search", "now", "who_asks"]]
    assert "No longer loaded, to make room: refund_order." in results(messages)[1]
    assert "There is no tool" in results(messages)[2]


def test_preselected_tools_are_there_in_the_first_round_and_stay() -> None:
    model = Scripted.of("Yes.", "Again.")
    agent = agent_of(model, hidden(preselect=1), checkpointer=InMemorySaver())
    invoke(agent, "Refund an order in full", **thread("a"))
    assert agent.get_state(thread("a")["config"]).values["discovered_tools"] == ["refund_order"]
    assert model.offered == [["tool_search", "now", "refund_order"]]


def test_where_nothing_is_hidden_there_is_no_search() -> None:
    model = Scripted.of("Hi.")
    invoke(agent_of(model, hidden(whole_below_tokens=10**6)), "Hi.")
    assert "tool_search" not in model.offered[0]
    assert {"now", "refund_order", "send_parcel"} < set(model.offered[0])
    assert model.system == [[]]


def test_a_tool_that_other_middleware_takes_away_stays_away() -> None:
    class NoRefunds(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            kept = [each for each in request.tools if getattr(each, "name", "") != "refund_order"]
            return handler(request.override(tools=kept))

    model = Scripted.of(search("refund_order", "who_asks"), "No.")
    invoke(agent_of(model, NoRefunds(), hidden()), "Look.")
    assert model.offered[1] == ["tool_search", "now", "who_asks"]


def test_tools_under_names_of_servers_keep_them() -> None:
    @langchain_tool("mail__send__now")
    def send() -> str:
        """Send it now."""
        return "sent"

    model = Scripted.of(search("mail__send__now"), ("mail__send__now", {}), "Done.")
    assert results(invoke(agent_of(model, hidden([send])), "Go."))[1] == "sent"


def test_what_cannot_be_offered_is_refused_at_once() -> None:
    class Spaced(BaseTool):
        name: str = "two words"
        description: str = "x"

        def _run(self) -> str:
            return ""

    @langchain_tool("tool_search")
    def mine() -> str:
        """Mine."""
        return ""

    with pytest.raises(DefinitionError, match="two words"):
        hidden([Spaced()])
    with pytest.raises(ReservedNameError):
        hidden([mine])
    with pytest.raises(DefinitionError, match="no `call`"):
        hidden([Tool(raw_name="far", description="Far away.")])
    with pytest.raises(UnknownToolError):
        hidden(pinned=("no_such",))
    with pytest.raises(ReservedNameError):
        invoke(create_agent(Scripted.of("Hi."), tools=[mine], middleware=[hidden()]), "Hi.")
