"""Agents of the OpenAI Agents SDK are offered what was discovered, streaming or not."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    ModelBehaviorError,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    RunContextWrapper,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from agents.items import ToolCallOutputItem
from agents.testing import ScriptedModel, assistant_message, function_call
from openai import AsyncOpenAI

from tests.fake_provider import Answer, Call, FakeProvider
from toolsearch import ToolContext, ToolFailed, ToolFilter, ToolResult, tool
from toolsearch.adapters.openai_agents import AgentToolSearch
from toolsearch.exceptions import DefinitionError, UnknownToolError
from toolsearch.messages import ImagePart, TextPart
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

Step = str | tuple[str, dict[str, Any]] | list[tuple[str, dict[str, Any]]]


@pytest.fixture(autouse=True)
def _no_traces() -> Iterator[None]:
    set_tracing_disabled(True)
    yield
    set_tracing_disabled(False)


@function_tool
def refund_order(order: int) -> str:
    """Refund an order in full."""
    return f"Order {order} is refunded."


@function_tool
def who_asks(context: RunContextWrapper[Any]) -> str:
    """Tell who asks."""
    return str(context.context)


def cancel_order(order: int) -> str:
    """Cancel an order before it ships."""
    return f"Order {order} is cancelled."


@tool
def send_parcel(place: str, context: ToolContext) -> str:
    """Send a parcel to a place."""
    if place == "moon":
        raise ToolFailed("Nobody delivers there.")
    return f"Sent to {place} for {context.session_id}/{context.state['context']}."


@tool
def draw_map() -> ToolResult:
    """Draw a map."""
    return ToolResult((TextPart(text="Here:"), ImagePart.of(b"png")))


@function_tool
def now() -> str:
    """The time."""
    return "noon"


SHOP = [refund_order, who_asks, cancel_order, send_parcel, draw_map]


def hidden(tools: Sequence[Any] = SHOP, **options: Any) -> AgentToolSearch:
    return AgentToolSearch(tools, embedder=HashingEmbedder(), **options)


def find(*names: str) -> tuple[str, dict[str, Any]]:
    return "tool_search", {"queries": [f"select:{','.join(names)}"]}


def scripted(*script: Step) -> ScriptedModel:
    steps = []
    for number, step in enumerate(script):
        if isinstance(step, str):
            steps.append([assistant_message(step)])
            continue
        calls = [step] if isinstance(step, tuple) else step
        steps.append(
            [function_call(name, given, call_id=f"c{number}-{i}") for i, (name, given) in enumerate(calls)]
        )
    return ScriptedModel(steps)


def offered(model: ScriptedModel) -> list[list[str]]:
    return [[each.name for each in call.tools] for call in model.calls]


def agent_of(model: Any, search: AgentToolSearch, text: str = "") -> Agent[Any]:
    return Agent(
        name="Clerk", model=model, tools=[*search.tools, now], instructions=search.instructions(text)
    )


async def run(agent: Agent[Any], given: Any, *, stream: bool = False, **options: Any) -> Any:
    if not stream:
        return await Runner.run(agent, given, **options)
    streamed = Runner.run_streamed(agent, given, **options)
    async for _ in streamed.stream_events():
        pass
    return streamed


def results(done: Any) -> list[Any]:
    return [item.output for item in done.new_items if isinstance(item, ToolCallOutputItem)]


@pytest.mark.parametrize("stream", [False, True])
def test_the_model_sees_what_it_has_found_and_calls_it(stream: bool) -> None:
    model = scripted(
        ("tool_search", {"queries": ["refund an order"], "limit": 1}), ("refund_order", {"order": 7}), "Done."
    )
    search = hidden()
    done = asyncio.run(run(agent_of(model, search, "Be kind."), "Refund order 7.", stream=stream))
    found = ["tool_search", "refund_order", "now"]
    assert offered(model) == [["tool_search", "now"], found, found]
    assert results(done)[1:] == ["Order 7 is refunded."]
    assert done.final_output == "Done."
    said = [call.system_instructions or "" for call in model.calls]
    assert all(text.startswith("Be kind.\n\nYou see only") for text in said)


def test_runs_share_no_discoveries_even_at_the_same_time() -> None:
    search = hidden()
    models = [scripted(find("refund_order"), "Yes."), scripted(find("who_asks"), "Yes.")]

    async def both() -> None:
        await asyncio.gather(*(run(agent_of(model, search), "Look.") for model in models))

    asyncio.run(both())
    assert [offered(model)[1] for model in models] == [
        ["tool_search", "refund_order", "now"],
        ["tool_search", "who_asks", "now"],
    ]


def test_a_run_goes_on_with_what_its_input_shows() -> None:
    search = hidden()
    model = scripted(find("who_asks"), "Yes.", "Again.", "Hello.")
    agent = agent_of(model, search)

    async def talk() -> None:
        first = await run(agent, "Look.")
        await run(agent, [*first.to_input_list(), {"role": "user", "content": "And?"}])
        await run(agent, "Hello?")

    asyncio.run(talk())
    assert offered(model)[2:] == [["tool_search", "who_asks", "now"], ["tool_search", "now"]]


def test_runs_of_one_session_of_the_sdk_go_on() -> None:
    model = scripted(find("who_asks"), "Yes.", "Again.")
    agent = agent_of(model, hidden())

    async def talk() -> None:
        session = SQLiteSession("s")
        await run(agent, "Look.", session=session)
        await run(agent, "And?", session=session)
        session.close()

    asyncio.run(talk())
    assert offered(model)[2] == ["tool_search", "who_asks", "now"]


def test_a_session_keeps_discoveries_beside_the_messages_and_by_tenant() -> None:
    model = scripted(find("who_asks"), "Yes.", "Again.", "Hello.")
    search = hidden(session=lambda ctx: "s", tenant=lambda ctx: ctx.context)
    agent = agent_of(model, search)

    async def talk() -> None:
        for tenant in ("acme", "acme", "other"):
            await run(agent, "Look.", context=tenant)

    asyncio.run(talk())
    assert offered(model)[2:] == [["tool_search", "who_asks", "now"], ["tool_search", "now"]]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["refund_order", "no_such_tool"])
def test_a_hidden_tool_is_answered_like_one_that_does_not_exist(name: str, stream: bool) -> None:
    search = hidden()
    agent = agent_of(scripted((name, {"order": 7}), "Sorry."), search)
    done = asyncio.run(run(agent, "Refund.", stream=stream, run_config=search.run_config()))
    assert results(done) == [
        f"There is no tool {name!r}. Find tools with tool_search first; "
        "only tools that it has found can be called."
    ]
    assert done.final_output == "Sorry."


def test_without_that_configuration_the_sdk_ends_the_run_and_nothing_runs() -> None:
    agent = agent_of(scripted(("refund_order", {"order": 7})), hidden())
    with pytest.raises(ModelBehaviorError, match="refund_order not found"):
        asyncio.run(run(agent, "Refund."))


def test_other_errors_are_told_as_the_given_configuration_says() -> None:
    @function_tool
    def broken() -> str:
        """Broken."""
        raise OSError("disk")

    search = hidden([broken])
    config = search.run_config(RunConfig(tool_error_formatter=lambda failure: f"Own words: {failure.kind}"))
    agent = agent_of(scripted(find("broken"), ("broken", {}), "Sorry."), search)
    done = asyncio.run(run(agent, "Go.", run_config=config))
    assert results(done)[1] == "Own words: tool_exception"


def test_tools_of_each_kind_get_what_they_ask_for() -> None:
    model = scripted(
        find("send_parcel", "who_asks", "cancel_order", "draw_map"),
        [
            ("send_parcel", {"place": "Rome"}),
            ("send_parcel", {"place": "moon"}),
            ("send_parcel", {"where": "Rome"}),
            ("who_asks", {}),
            ("cancel_order", {"order": 7}),
            ("draw_map", {}),
        ],
        "Done.",
    )
    done = asyncio.run(run(agent_of(model, hidden(session=lambda ctx: "s")), "Go.", context="Ann"))
    sent, failed, wrong, asked, cancelled, drawn = results(done)[1:]
    assert sent == "Sent to Rome for s/Ann."
    assert failed == "Nobody delivers there."
    assert "'place'" in wrong
    assert asked == "Ann"
    assert cancelled == "Order 7 is cancelled."
    assert [part.type for part in drawn] == ["text", "image"]
    assert drawn[1].image_url == "data:image/png;base64,cG5n"


def test_searches_of_one_answer_are_united_and_vain_ones_counted() -> None:
    model = scripted([find("draw_map"), find("who_asks")], find("nothing"), find("nought"), "Done.")
    done = asyncio.run(run(agent_of(model, hidden(nudge_after=2)), "Look."))
    assert offered(model)[1] == ["tool_search", "who_asks", "draw_map", "now"]
    assert ["Stop searching" in text for text in results(done)] == [False, False, False, True]


def test_pinned_tools_are_always_there_and_a_filter_hides_from_everything() -> None:
    servers = [
        Tool(raw_name="a", source="secret", description="A.", call=send_parcel.call),
        Tool(raw_name="b", source="open", description="B.", call=send_parcel.call),
    ]
    rule = ToolFilter(sources=frozenset({"open", ""}))
    search = hidden([*servers, cancel_order], pinned=("cancel_order",), filter=lambda ctx: rule)
    model = scripted(find("secret__a", "open__b"), "No.")
    done = asyncio.run(run(agent_of(model, search), "Look."))
    assert offered(model) == [
        ["tool_search", "cancel_order", "now"],
        ["tool_search", "open__b", "cancel_order", "now"],
    ]
    (described,) = (each for each in model.calls[0].tools if each.name == "tool_search")
    assert isinstance(described, FunctionTool)
    assert "secret" not in described.description
    assert "A." not in results(done)[0]


def test_a_tool_that_its_owner_has_switched_off_stays_off() -> None:
    @function_tool(is_enabled=lambda ctx, agent: ctx.context == "admin")
    def drop_table() -> str:
        """Drop a table."""
        return "gone"

    search = hidden([drop_table])
    seen = []
    for user in ("guest", "admin"):
        model = scripted(find("drop_table"), "Yes.")
        asyncio.run(run(agent_of(model, search), "Look.", context=user))
        seen.append(offered(model)[1])
    assert seen == [["tool_search", "now"], ["tool_search", "drop_table", "now"]]
    assert drop_table.is_enabled is not search.tools[1].is_enabled


def test_where_nothing_is_hidden_there_is_no_search() -> None:
    model = scripted("Hi.")
    asyncio.run(run(agent_of(model, hidden(whole_below_tokens=10**6)), "Hi."))
    assert "tool_search" not in offered(model)[0]
    assert len(offered(model)[0]) == len(SHOP) + 1
    assert not model.calls[0].system_instructions


def test_what_was_kept_of_a_run_goes_with_it() -> None:
    import gc

    search = hidden()
    asyncio.run(run(agent_of(scripted(find("who_asks"), "Yes."), search), "Look."))
    gc.collect()
    assert search._runs == {}


@pytest.mark.parametrize("model", [OpenAIResponsesModel, OpenAIChatCompletionsModel])
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
        async with fake.serve() as url, AsyncOpenAI(base_url=url, api_key="k") as client:
            return await run(agent_of(model("gpt-4o", client), hidden()), "Refund order 7.", stream=stream)

    assert results(asyncio.run(talk()))[1:] == ["Order 7 is refunded."]
    names = [[(each.get("function") or each)["name"] for each in body["tools"]] for body in fake.bodies]
    found = ["tool_search", "refund_order", "now"]
    assert names == [["tool_search", "now"], found, found]


def test_what_cannot_be_offered_is_refused_at_once() -> None:
    with pytest.raises(DefinitionError, match="no `call`"):
        hidden([Tool(raw_name="far", description="Far away.")])
    with pytest.raises(UnknownToolError):
        hidden(pinned=("no_such",))
