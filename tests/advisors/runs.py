"""Short ways to run a chain in tests."""

import asyncio
from collections.abc import Sequence
from typing import Any

from toolsearch.advisors.base import Advisor
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.chat.base import ChatEvent, ChatRequest, ChatResponse
from toolsearch.messages import Message, ToolMessage, UserMessage
from toolsearch.testing import ScriptedChatModel
from toolsearch.tools import Tool


def question(text: str = "Go.", **context: Any) -> ChatRequest:
    return ChatRequest((UserMessage.of(text),), context=context)


def call(
    model: ScriptedChatModel,
    tools: Sequence[Tool] = (),
    advisors: Sequence[Advisor] | None = None,
    request: ChatRequest | None = None,
) -> ChatResponse:
    """The response of a chain, by default with a plain tool-calling loop."""
    chain = AdvisorChain(model, [ToolCallingAdvisor()] if advisors is None else advisors, tools)
    return asyncio.run(chain.call(request or question()))


def stream(
    model: ScriptedChatModel,
    tools: Sequence[Tool] = (),
    advisors: Sequence[Advisor] | None = None,
    request: ChatRequest | None = None,
) -> list[ChatEvent]:
    """The events of the same, streamed."""
    chain = AdvisorChain(model, [ToolCallingAdvisor()] if advisors is None else advisors, tools)

    async def collect() -> list[ChatEvent]:
        return [event async for event in chain.stream(request or question())]

    return asyncio.run(collect())


def results(messages: Sequence[Message]) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]
