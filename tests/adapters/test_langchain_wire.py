"""LangChain's own chat models, over the wire of providers: each request is one that they take."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from tests.adapters.serving import names_in, served
from tests.adapters.test_langchain import hidden
from tests.fake_provider import Answer, Call

Run = Callable[[Any, str], list[BaseMessage]]

CONFIG: Any = {"configurable": {"thread_id": "a"}}


def chat(url: str) -> ChatOpenAI:
    return ChatOpenAI(model="m", base_url=url, api_key="key", max_retries=0)  # type: ignore[arg-type]


def responses(url: str) -> ChatOpenAI:
    return ChatOpenAI(model="m", base_url=url, api_key="key", max_retries=0, use_responses_api=True)  # type: ignore[arg-type]


def messages(url: str) -> ChatAnthropic:
    return ChatAnthropic(model_name="m", base_url=url, api_key="key", max_retries=0, max_tokens=99)  # type: ignore[call-arg, arg-type]


def _asked(text: str) -> Any:
    return {"messages": [{"role": "user", "content": text}]}


def invoke(agent: Any, text: str) -> list[BaseMessage]:
    return list(agent.invoke(_asked(text), CONFIG)["messages"])


def ainvoke(agent: Any, text: str) -> list[BaseMessage]:
    return list(asyncio.run(agent.ainvoke(_asked(text), CONFIG))["messages"])


def stream(agent: Any, text: str) -> list[BaseMessage]:
    return _whole(list(agent.stream(_asked(text), CONFIG, stream_mode=["messages", "values"])))


def astream(agent: Any, text: str) -> list[BaseMessage]:
    async def collect() -> list[Any]:
        events = agent.astream(_asked(text), CONFIG, stream_mode=["messages", "values"])
        return [event async for event in events]

    return _whole(asyncio.run(collect()))


def _whole(events: list[Any]) -> list[BaseMessage]:
    """The last state of a stream, which must have come in more pieces than it has messages."""
    last: list[BaseMessage] = [value for mode, value in events if mode == "values"][-1]["messages"]
    assert sum(mode == "messages" for mode, _ in events) > len(last)
    return last


def call(name: str, call_id: str, **arguments: Any) -> Call:
    return Call(call_id, name, json.dumps(arguments), native=False)


def find(name: str, call_id: str) -> Call:
    return call("tool_search", call_id, queries=[f"select:{name}"])


def results(told: list[BaseMessage]) -> list[Any]:
    return [each.content for each in told if isinstance(each, ToolMessage)]


MODELS = pytest.mark.parametrize("model", [chat, responses, messages])
RUNS = pytest.mark.parametrize("run", [invoke, ainvoke, stream, astream])


@MODELS
@RUNS
def test_a_request_carries_the_search_what_is_pinned_and_what_was_found(
    model: Callable[[str], Any], run: Run
) -> None:
    steps = [
        Answer("Let me see.", (find("refund_order", "s1"), call("cancel_order", "c1", order=7))),
        Answer(calls=(call("refund_order", "r1", order=7), find("draw_map", "s2"))),
        Answer("Done."),
    ]
    with served(*steps) as (provider, url):
        agent = create_agent(model(url), middleware=[hidden(pinned=("cancel_order",))])
        told = run(agent, "Cancel and refund order 7.")
    first = ["tool_search", "cancel_order"]
    assert [names_in(body) for body in provider.bodies] == [
        first,
        [*first, "refund_order"],
        [*first, "refund_order", "draw_map"],
    ]
    assert {bool(body.get("stream")) for body in provider.bodies} == {run in {stream, astream}}
    assert results(told)[1:3] == ["Order 7 is cancelled.", "Order 7 is refunded."]
    assert told[-1].text == "Done."


@MODELS
def test_a_hidden_tool_is_refused_in_words_that_the_provider_takes_back(model: Callable[[str], Any]) -> None:
    steps = [
        Answer(calls=(call("refund_order", "r1", order=7), call("no_such_tool", "n1"))),
        Answer("Sorry."),
    ]
    with served(*steps) as (provider, url):
        told = invoke(create_agent(model(url), middleware=[hidden()]), "Refund order 7.")
    assert [names_in(body) for body in provider.bodies] == [["tool_search"]] * 2
    assert ["There is no tool" in text for text in results(told)] == [True, True]


@MODELS
def test_a_thread_goes_on_with_what_it_found_and_another_begins_anew(model: Callable[[str], Any]) -> None:
    steps = [Answer(calls=(find("who_asks", "s1"),)), *[Answer("Yes.")] * 3]
    with served(*steps) as (provider, url):
        agent = create_agent(model(url), middleware=[hidden()], checkpointer=InMemorySaver())
        for thread in ("a", "a", "b"):
            agent.invoke(_asked("Look."), {"configurable": {"thread_id": thread}})
    found = ["tool_search", "who_asks"]
    assert [names_in(body) for body in provider.bodies] == [["tool_search"], found, found, ["tool_search"]]
