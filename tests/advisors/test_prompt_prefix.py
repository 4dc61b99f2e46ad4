"""What a provider has read stays the same bytes, where the delivery promises it."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import pytest

from tests.advisors.test_tool_search import MAIL, SEND, WEATHER, Office
from tests.fake_provider import Answer, Call, FakeProvider
from tests.retrieval.support import OFFICE
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.advisors.tool_search import ToolSearchAdvisor
from toolsearch.chat import AnthropicChatModel, ChatRequest, OpenAIChatModel, OpenAIResponsesModel
from toolsearch.chat.model import HttpChatModel
from toolsearch.messages import Message, UserMessage
from toolsearch.tools import Tool

DeliveryName: TypeAlias = Literal["append", "bridge", "native"]
Json: TypeAlias = dict[str, Any]

PROVIDERS: dict[str, Callable[[FakeProvider], HttpChatModel]] = {
    "openai_chat": lambda fake: OpenAIChatModel("fake-1", api_key="k", transport=fake.transport),
    "openai_responses": lambda fake: OpenAIResponsesModel(
        "fake-1", api_key="k", transport=fake.transport, native_search=True
    ),
    "anthropic": lambda fake: AnthropicChatModel(
        "fake-1", api_key="k", transport=fake.transport, native_search=True
    ),
}
PAIRS: list[tuple[str, DeliveryName]] = [
    *((provider, "append") for provider in PROVIDERS),
    *((provider, "bridge") for provider in PROVIDERS),
    ("openai_responses", "native"),
    ("anthropic", "native"),
]
TOOLS = [*OFFICE, Tool(raw_name="help", description="Explains.", pinned=True)]


def find(number: int, delivery: str, *names: str) -> Call:
    arguments = json.dumps({"queries": [f"select:{','.join(names)}"]})
    return Call(f"find_{number}", "tool_search", arguments, native=delivery == "native")


def use(number: int, delivery: str, name: str, **arguments: Any) -> Call:
    written: Json = {"name": name, "arguments": arguments} if delivery == "bridge" else arguments
    return Call(f"use_{number}", "call_tool" if delivery == "bridge" else name, json.dumps(written))


def script(delivery: str) -> Iterator[Answer]:
    """Three discoveries in two turns, with calls of what was found in between."""
    yield Answer("Looking.", (find(1, delivery, WEATHER),))
    yield Answer("", (use(1, delivery, WEATHER, city="Łódź"), find(2, delivery, SEND, MAIL)))
    yield Answer("", (use(2, delivery, MAIL), find(3, delivery, SEND)))
    yield Answer("Done.")
    yield Answer("", (find(4, delivery, "web__search"),))
    yield Answer("", (use(4, delivery, "web__search"),))
    yield Answer("All done.")


def bodies(provider: str, delivery: DeliveryName, **options: Any) -> list[Json]:
    """The request bodies of the two turns."""
    fake = FakeProvider(script(delivery))
    advisor: ToolSearchAdvisor = Office().advisor(TOOLS, delivery=delivery, **options)
    chain = AdvisorChain(PROVIDERS[provider](fake), [ToolCallingAdvisor(), advisor])

    async def turns() -> None:
        messages: tuple[Message, ...] = ()
        for text in ("How is the weather? Send it by email.", "Search the web."):
            messages = (*messages, UserMessage.of(text))
            response = await chain.call(ChatRequest(messages, context={"session_id": "s"}))
            messages += response.metadata["messages"]

    asyncio.run(turns())
    assert len(fake.bodies) == 7
    return fake.bodies


def serialized(parts: Sequence[Any]) -> list[bytes]:
    return [json.dumps(part, ensure_ascii=False, sort_keys=False).encode() for part in parts]


def conversation(body: Json) -> list[bytes]:
    system = [body["system"]] if "system" in body else []
    return serialized([*system, *(body["messages"] if "messages" in body else body["input"])])


def is_prefix(first: Sequence[bytes], second: Sequence[bytes]) -> bool:
    return list(second[: len(first)]) == list(first)


@pytest.mark.parametrize("preselect", [0, 2])
@pytest.mark.parametrize(("provider", "delivery"), PAIRS)
def test_the_conversation_only_grows(provider: str, delivery: DeliveryName, preselect: int) -> None:
    sent = bodies(provider, delivery, preselect=preselect)
    for before, after in pairwise(sent):
        assert is_prefix(conversation(before), conversation(after))
        assert len(conversation(after)) > len(conversation(before))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_append_only_appends_tools(provider: str) -> None:
    """(E153)"""
    tools = [serialized(body["tools"]) for body in bodies(provider, "append")]
    for before, after in pairwise(tools):
        assert is_prefix(before, after)
    assert [len(each) for each in tools] == [2, 3, 5, 5, 5, 6, 6]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_bridge_never_changes_its_tools(provider: str) -> None:
    """(E153)"""
    tools = [serialized(body["tools"]) for body in bodies(provider, "bridge")]
    assert tools == [tools[0]] * 7
    assert len(tools[0]) == 3


@pytest.mark.parametrize("provider", ["openai_responses", "anthropic"])
def test_native_never_changes_its_tools(provider: str) -> None:
    """(E153)"""
    tools = [serialized(body["tools"]) for body in bodies(provider, "native")]
    assert tools == [tools[0]] * 7


def test_anthropic_is_sent_references_to_what_was_found() -> None:
    last = bodies("anthropic", "native")[-1]
    found = [
        block["content"]
        for message in last["messages"]
        for block in message["content"]
        if block["type"] == "tool_result" and block["tool_use_id"].startswith("find")
    ]
    references = [[part.get("tool_name") for part in content] for content in found]
    assert references == [[WEATHER], [SEND, MAIL], [None], ["web__search"]]
    deferred = [tool["name"] for tool in last["tools"] if tool.get("defer_loading")]
    assert deferred == sorted(tool.name for tool in OFFICE)
