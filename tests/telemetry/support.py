"""A router over two tools, and what a scripted model does with it."""

import asyncio
from typing import Any

from toolsearch.chat.base import ChatEvent, ChatResponse, Usage
from toolsearch.exceptions import ToolFailed
from toolsearch.functions.decorator import tool
from toolsearch.messages import AssistantMessage, TextPart, ToolCall
from toolsearch.router import ToolRouter
from toolsearch.telemetry import Observer
from toolsearch.testing import HashingEmbedder, ScriptedChatModel, tool_call

SECRET = "tok-2b1e77"


@tool
def refund_order(order: str) -> str:
    """Refund an order to the customer."""
    return f"refunded {order}"


@tool
def weather_forecast(city: str) -> str:
    """Weather forecast of a city."""
    raise ToolFailed(f"no forecast for {city}")


@tool
def broken(city: str) -> str:
    """Break."""
    raise RuntimeError(f"broke in {city}")


def call(name: str, id: str, **arguments: Any) -> ToolCall:  # noqa: A002
    return tool_call(name, arguments, id=id)


def said(text: str = "", *calls: ToolCall, usage: Usage | None = None, model: str = "") -> ChatResponse:
    parts = (TextPart(text=text),) if text else ()
    return ChatResponse(
        AssistantMessage(content=(*parts, *calls)),
        "tool_calls" if calls else "stop",
        usage or Usage(),
        model,
    )


SCRIPT = (
    said("", call("tool_search", "s1", queries=[f"refund an order {SECRET}"]), usage=Usage(100, 10, 0)),
    said("", call("refund_order", "c1", order=SECRET), usage=Usage(200, 20, 100)),
    said("All done.", usage=Usage(300, 30, 200), model="gpt-5-2026"),
)


def router(*observers: Observer, script: Any = SCRIPT, tools: Any = None, **more: Any) -> ToolRouter:
    given: Any = [refund_order, weather_forecast] if tools is None else tools
    model = ScriptedChatModel(script, id="openai:gpt-5")
    return ToolRouter(model, given, embedder=HashingEmbedder(256), limit=1, observers=observers, **more)


def streamed(through: ToolRouter, prompt: str, **options: Any) -> list[ChatEvent]:
    async def collect() -> list[ChatEvent]:
        return [event async for event in through.stream(prompt, **options)]

    return asyncio.run(collect())
