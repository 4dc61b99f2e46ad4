"""Calls of an answer to somebody else's loop: which tool each means, and which are answered here."""

from __future__ import annotations

from collections.abc import Sequence

from toolsearch.advisors.calls import PlannedCall, plan_calls
from toolsearch.chat.base import ChatRequest, ChatResponse
from toolsearch.delivery.base import CALL_TOOL, SEARCH_TOOL, Delivery, Offer
from toolsearch.delivery.bridge import answer_itself
from toolsearch.discovery.discovery import Discovery
from toolsearch.messages import AssistantMessage, ToolCall, ToolResult
from toolsearch.tools import Tool


def meant_calls(
    calls: Sequence[ToolCall], delivery: Delivery, offer: Offer
) -> tuple[tuple[ToolCall, ...], tuple[Tool, ...]]:
    """The calls under the names of the tools that are meant, and all tools that may run."""
    offered = delivery.request(ChatRequest(()), offer).tools
    asked = ChatResponse(AssistantMessage(content=tuple(calls)), offered=offered)
    response = delivery.response(asked, offer)
    return response.message.tool_calls, response.offered


def planned_calls(calls: Sequence[ToolCall], offered: Sequence[Tool]) -> tuple[PlannedCall, ...]:
    """What calls of `offered` tools come to, by `meant_calls`; those of other tools are refused."""
    return plan_calls(AssistantMessage(content=tuple(calls)), offered).calls


def answered_here(planned: PlannedCall, discovery: Discovery, offer: Offer) -> ToolResult | None:
    """The result of a search, or of a call that must not run; None for a call that the loop is to run."""
    if planned.refusal is not None:
        return planned.refusal
    if planned.call.name == SEARCH_TOOL:
        return discovery.search(planned.arguments)
    if planned.call.name == CALL_TOOL:
        return answer_itself(planned.arguments, offer)
    return None
