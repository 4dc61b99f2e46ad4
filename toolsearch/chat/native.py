"""What of a request's tools a provider with tool search of its own is shown, and what it holds back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from toolsearch.chat.base import ChatRequest
from toolsearch.formats import write_tools
from toolsearch.formats.bounded import bounded
from toolsearch.messages import ToolMessage
from toolsearch.tools import JsonObject, Tool


@dataclass(frozen=True)
class Offer:
    """The tools of a request, each in one of three places.

    Attributes:
        shown: Visible from the start, in the request's order.
        unreferenced: Discovered, but by no result of the conversation, such as after it was trimmed.
        deferred: Not visible until a result refers to them, discovered or not, in an order that stays.
    """

    shown: tuple[Tool, ...]
    unreferenced: tuple[Tool, ...]
    deferred: tuple[Tool, ...]


def open_records(tools: Iterable[Tool], form: str) -> list[JsonObject]:
    """Definitions in a provider's form, all visible: without a ``defer_loading`` that they brought along."""
    return [
        {key: value for key, value in record.items() if key != "defer_loading"}
        for record in write_tools([bounded(tool) for tool in tools], form)
    ]


def offer_of(request: ChatRequest) -> Offer:
    """Where each tool goes; without `ChatRequest.native` all of them are shown."""
    if request.native is None:
        return Offer(request.tools, (), ())
    hidden = {tool.name for tool in request.native.deferred}
    referenced = {
        name
        for message in request.messages
        if isinstance(message, ToolMessage) and not message.is_error
        for name in message.discovered
    }
    unreferenced = tuple(t for t in request.tools if t.name in hidden and t.name not in referenced)
    open_names = {tool.name for tool in unreferenced}
    return Offer(
        shown=tuple(tool for tool in request.tools if tool.name not in hidden),
        unreferenced=unreferenced,
        deferred=tuple(tool for tool in request.native.deferred if tool.name not in open_names),
    )
