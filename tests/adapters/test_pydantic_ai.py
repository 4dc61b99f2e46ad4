"""Pydantic AI offers what was discovered, with its own models and over the wire of providers."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, RunContext, Tool
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    ToolSearchReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.fake_provider import Answer, Call, FakeProvider
from tests.retrieval.support import OFFICE
from tests.retrieval.support import searcher as office_searcher
from toolsearch import Catalog, ToolContext, ToolFailed, ToolFilter, ToolResult, ToolRetry, tool
from toolsearch.adapters.pydantic_ai import SearchStrategy, ToolSearchToolset
from toolsearch.testing import HashingEmbedder

Call_ = tuple[str, dict[str, Any]]
Script = Sequence[str | Call_ | list[Call_]]


@tool
def refund_order(order: int) -> str:
    """Refund an order in full."""
    return f"Order {order} is refunded."


@tool
def cancel_order(order: int, context: ToolContext) -> str:
    """Cancel an order before it ships."""
    return f"Order {order} is cancelled for {context.state['deps']} in {context.session_id}."


@tool
def send_parcel(place: str) -> str:
    """Send a parcel to a place."""
    if place == "moon":
        raise ToolFailed("Nobody delivers there.")
    if place == "?":
        raise ToolRetry("Name a place.")
    return f"Sent to {place}."


@tool
def draw_map() -> ToolResult:
    """Draw a map."""
    from toolsearch.messages import ImagePart, TextPart

    return ToolResult((TextPart(text="Here:"), ImagePart.of(b"png")))


@tool(pinned=True)
def now() -> str:
    """The time."""
    return "noon"


SHOP = Catalog([refund_order, cancel_order, send_parcel, draw_map, now])


class Scripted:
    """A `FunctionModel` that says a script and notes the tools that each request offers."""

    def __init__(self, *script: str | Call_ | list[Call_]) -> None:
        self._script = iter(script)
        self.offered: list[list[str]] = []
        self.instructions: list[str | None] = []
        self.model = FunctionModel(self._whole, stream_function=self._streamed)

    def _next(self, info: AgentInfo) -> str | list[Call_]:
        self.offered.append([each.name for each in info.function_tools])
        self.instructions.append(info.instructions)
        step = next(self._script)
        return [step] if isinstance(step, tuple) else step

    def _whole(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages
        step = self._next(info)
        if isinstance(step, str):
            return ModelResponse(parts=[TextPart(step)])
        return ModelResponse(parts=[ToolCallPart(name, arguments) for name, arguments in step])

    async def _streamed(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        del messages
        step = self._next(info)
        if isinstance(step, str):
            yield step
        else:
            for index, (name, arguments) in enumerate(step):
                yield {index: DeltaToolCall(name, json.dumps(arguments))}


def find(*names: str) -> Call_:
    return "tool_search", {"queries": [f"select:{','.join(names)}"]}


def toolset(catalog: Catalog = SHOP, **options: Any) -> ToolSearchToolset[Any]:
    return ToolSearchToolset(catalog, embedder=HashingEmbedder(), **options)


async def ask(agent: Agent[Any, Any], text: str, *, stream: bool, **options: Any) -> Any:
    if not stream:
        return await agent.run(text, **options)
    async with agent.run_stream(text, **options) as result:
        await result.get_output()
        return result


def returned(run: Any) -> list[ToolReturnPart]:
    parts = [part for message in run.all_messages() for part in message.parts]
    return [part for part in parts if type(part) is ToolReturnPart]


def results(run: Any) -> list[str]:
    return [part.model_response_str() for part in returned(run)]


def names_sent(body: dict[str, Any]) -> list[str]:
    """Names of the tools of a request, those included that a model is told of within the conversation."""
    inside = [each for item in body.get("input", []) for each in item.get("tools", [])]
    return [(each.get("function") or each)["name"] for each in (*body["tools"], *inside)]


@pytest.mark.parametrize("stream", [False, True])
def test_the_model_sees_what_it_has_found_and_calls_it(stream: bool) -> None:
    script = Scripted(
        ("tool_search", {"queries": ["refund an order"], "limit": 1}), ("refund_order", {"order": 7}), "Done."
    )
    agent = Agent(script.model, toolsets=[toolset()])
    run = asyncio.run(ask(agent, "Refund order 7.", stream=stream))
    found = ["tool_search", "now", "refund_order"]
    assert script.offered == [["tool_search", "now"], found, found]
    assert results(run)[1:] == ["Order 7 is refunded."]
    assert all("tool_search" in (text or "") for text in script.instructions)


def test_discoveries_stay_in_first_seen_order_and_with_their_conversation() -> None:
    script = Scripted(find("send_parcel"), find("cancel_order", "refund_order"), "Yes.", "Hello.", "Again.")
    agent = Agent(script.model, toolsets=[toolset()])

    async def talk() -> None:
        await agent.run("Look.", conversation_id="a")
        await agent.run("Hello?", conversation_id="b")
        await agent.run("Without its history.", conversation_id="a")

    asyncio.run(talk())
    found = ["tool_search", "now", "send_parcel", "cancel_order", "refund_order"]
    assert script.offered[2:] == [found, ["tool_search", "now"], found]


def test_two_tenants_share_nothing_under_one_id() -> None:
    script = Scripted(find("send_parcel"), "Yes.", "Hello.")
    shared = toolset(session=lambda ctx: "same", tenant=lambda ctx: ctx.deps)
    agent = Agent(script.model, deps_type=str, toolsets=[shared])

    async def talk() -> None:
        await agent.run("Look.", deps="acme")
        await agent.run("Hello?", deps="other")

    asyncio.run(talk())
    assert script.offered[2] == ["tool_search", "now"]


def test_a_history_that_was_written_to_disk_tells_its_discoveries() -> None:
    script = Scripted(find("refund_order"), "Yes.", "Again.")

    async def talk() -> None:
        first = await Agent(script.model, toolsets=[toolset()]).run("Look.")
        history = ModelMessagesTypeAdapter.validate_json(first.all_messages_json())
        await Agent(script.model, toolsets=[toolset()]).run("And?", message_history=history)

    asyncio.run(talk())
    assert script.offered[2] == ["tool_search", "now", "refund_order"]


@pytest.mark.parametrize("name", ["refund_order", "no_such_tool"])
def test_a_hidden_tool_is_answered_like_one_that_does_not_exist(name: str) -> None:
    script = Scripted((name, {"order": 7}), "Sorry.")
    run = asyncio.run(Agent(script.model, toolsets=[toolset()]).run("Refund order 7."))
    (told,) = returned(run)
    assert told.outcome == "retried"
    assert told.content == f"Unknown tool name: {name!r}. Available tools: 'now', 'tool_search'"


def test_a_filter_of_the_run_hides_from_search_and_call() -> None:
    rule = ToolFilter(deny=("refund*",))
    script = Scripted(find("refund_order", "cancel_order"), ("cancel_order", {"order": 7}), "Done.")
    agent = Agent(script.model, toolsets=[toolset(filter=lambda ctx: rule)], deps_type=str)
    run = asyncio.run(agent.run("Refund.", deps="Ann", conversation_id="c"))
    assert script.offered[1] == ["tool_search", "now", "cancel_order"]
    assert results(run)[1] == "Order 7 is cancelled for Ann in c."
    assert "Refund an order" not in results(run)[0]


def test_what_a_tool_tells_the_model_reaches_it_as_pydantic_ai_says_it() -> None:
    script = Scripted(
        find("send_parcel", "draw_map", "refund_order"),
        [("send_parcel", {"place": "?"}), ("refund_order", {"order": "x"})],
        [("send_parcel", {"place": "moon"}), ("draw_map", {})],
        "Done.",
    )
    run = asyncio.run(Agent(script.model, toolsets=[toolset()]).run("Go."))
    _, unsure, wrong, failed, drawn = returned(run)
    assert [part.outcome for part in (unsure, wrong, failed)] == ["retried", "retried", "failed"]
    assert [unsure.content, failed.content] == ["Name a place.", "Nobody delivers there."]
    assert "'order'" in str(wrong.content)
    assert isinstance(drawn.content, list)
    assert drawn.content[0] == "Here:"
    assert drawn.content[1].data == b"png"


def test_a_tool_that_is_only_known_by_its_definition_is_external() -> None:
    script = Scripted(find("mail__send_email"), ("mail__send_email", {}))
    agent = Agent(
        script.model,
        toolsets=[ToolSearchToolset(searcher=office_searcher())],
        output_type=[str, DeferredToolRequests],
    )
    output = asyncio.run(agent.run("Mail.")).output
    assert isinstance(output, DeferredToolRequests)
    assert [call.tool_name for call in output.calls] == ["mail__send_email"]


def test_vain_searches_are_counted_over_the_rounds_of_a_run() -> None:
    search: Call_ = ("tool_search", {"queries": ["select:nothing"]})
    script = Scripted(search, ("tool_search", {"queries": ["select:nought"]}), search, "No.")
    run = asyncio.run(Agent(script.model, toolsets=[toolset(nudge_after=2)]).run("Go."))
    assert ["Stop searching" in text for text in results(run)] == [False, True, True]


@pytest.mark.parametrize("model", [OpenAIChatModel, OpenAIResponsesModel])
@pytest.mark.parametrize("stream", [False, True])
def test_over_the_wire_a_provider_takes_every_request(model: Any, stream: bool) -> None:
    fake = FakeProvider(
        [
            Answer(calls=(Call("f", "tool_search", '{"queries": ["select:refund_order"]}', native=False),)),
            Answer(calls=(Call("u", "refund_order", '{"order": 7}'),)),
            Answer("Done."),
        ]
    )

    async def talk() -> Any:
        async with fake.serve() as url:
            provider = OpenAIProvider(base_url=url, api_key="k")
            agent = Agent(model("gpt-4o", provider=provider), toolsets=[toolset()])
            run = await ask(agent, "Refund order 7.", stream=stream)
            await provider.client.close()
            return run

    run = asyncio.run(talk())
    assert results(run)[1:] == ["Order 7 is refunded."]
    found = ["tool_search", "now", "refund_order"]
    assert [names_sent(body) for body in fake.bodies] == [["tool_search", "now"], found, found]


def weather(city: str) -> str:
    """The weather of a city."""
    return f"Sun in {city}."


def stocks(symbol: str) -> str:
    """The price of a share."""
    return f"{symbol} is up."


def clock() -> str:
    """The time."""
    return "noon"


DEFERRED = [Tool(weather, defer_loading=True), Tool(stocks, defer_loading=True), Tool(clock)]


@pytest.mark.parametrize("stream", [False, True])
def test_the_strategy_finds_deferred_tools(stream: bool) -> None:
    script = Scripted(
        ("search_tools", {"queries": ["weather of a city"]}), ("weather", {"city": "Rome"}), "Done."
    )
    strategy = SearchStrategy(HashingEmbedder(), limit=1)
    agent = Agent(script.model, tools=DEFERRED, capabilities=[ToolSearch(strategy=strategy)])
    run = asyncio.run(ask(agent, "Rome?", stream=stream))
    assert [sorted(names) for names in script.offered] == [
        ["clock", "search_tools"],
        ["clock", "search_tools", "weather"],
        ["clock", "search_tools", "weather"],
    ]
    assert results(run) == ["Sun in Rome."]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [OpenAIChatModel, OpenAIResponsesModel])
def test_over_the_wire_the_strategy_adds_what_it_finds(model: Any, stream: bool) -> None:
    fake = FakeProvider(
        [
            Answer(calls=(Call("f", "search_tools", '{"queries": ["weather of a city"]}', native=False),)),
            Answer(calls=(Call("w", "weather", '{"city": "Rome"}'),)),
            Answer("Done."),
        ]
    )

    async def talk() -> Any:
        async with fake.serve() as url:
            provider = OpenAIProvider(base_url=url, api_key="k")
            search = ToolSearch(strategy=SearchStrategy(HashingEmbedder(), limit=1))
            agent = Agent(model("gpt-4o", provider=provider), tools=DEFERRED, capabilities=[search])
            run = await ask(agent, "Weather in Rome?", stream=stream)
            await provider.client.close()
            return run

    run = asyncio.run(talk())
    assert results(run)[-1] == "Sun in Rome."
    first, *later = [set(names_sent(body)) for body in fake.bodies]
    assert (first, later) == ({"search_tools", "clock"}, [{"search_tools", "clock", "weather"}] * 2)


def test_a_hidden_tool_of_theirs_cannot_run_before_the_strategy_has_found_it() -> None:
    script = Scripted(("weather", {"city": "Rome"}), "Sorry.")
    agent = Agent(
        script.model, tools=DEFERRED, capabilities=[ToolSearch(strategy=SearchStrategy(HashingEmbedder()))]
    )
    (told,) = returned(asyncio.run(agent.run("Rome?")))
    assert told.outcome == "retried"
    assert [sorted(names) for names in script.offered] == [["clock", "search_tools"]] * 2


def test_the_strategy_puts_what_is_known_last_and_follows_changed_tools() -> None:
    strategy = SearchStrategy(HashingEmbedder(), limit=1)

    async def names(queries: list[str], tools: list[Tool[Any]], known: set[str]) -> list[str]:
        agent = Agent(Scripted("Hi.").model)
        async with agent.iter("Hi.") as run:
            async for _ in run:
                pass
            context: RunContext[Any] = RunContext(
                deps=None, model=Scripted().model, usage=run.usage, discovered_tool_names=known
            )
        return await strategy(context, queries, [each.tool_def for each in tools])

    def look() -> None:
        """The weather of a city, from above."""

    asked = ["weather of a city"]
    assert asyncio.run(names(asked, DEFERRED, set())) == ["weather"]
    two = [*DEFERRED, Tool(look)]
    assert asyncio.run(names(asked, two, {"weather"})) == ["look", "weather"]
    assert asyncio.run(names(["price of a share", " "], two, set())) == ["stocks"]


def test_nothing_found_is_said_in_pydantic_ais_words() -> None:
    script = Scripted(("search_tools", {"queries": ["select:nothing"]}), "No.")
    agent = Agent(
        script.model, tools=DEFERRED, capabilities=[ToolSearch(strategy=SearchStrategy(HashingEmbedder()))]
    )
    run = asyncio.run(agent.run("Rome?"))
    (part,) = [
        part
        for message in run.all_messages()
        for part in message.parts
        if isinstance(part, ToolSearchReturnPart)
    ]
    assert part.discovered_tools == []


@pytest.mark.parametrize("limit", [0, 21])
def test_a_limit_out_of_its_range_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="must be from 1 to 20"):
        SearchStrategy(limit=limit)


def test_where_nothing_is_hidden_there_is_no_search() -> None:
    script = Scripted("Hi.")
    agent = Agent(script.model, toolsets=[toolset(whole_below_tokens=10**6)])
    asyncio.run(agent.run("Hi."))
    assert "tool_search" not in script.offered[0]
    assert set(script.offered[0]) == set(SHOP)
    assert script.instructions == [None]


def test_the_office_is_searched_by_meaning() -> None:
    script = Scripted(("tool_search", {"queries": ["Find emails by text"], "limit": 1}), "Done.")
    asyncio.run(Agent(script.model, toolsets=[ToolSearchToolset(searcher=office_searcher())]).run("Hi."))
    assert script.offered == [["tool_search"], ["tool_search", "mail__search_mail"]]
    assert len(OFFICE) > 2
