"""`Delivery`: how discovered tools reach the model, and `Offer`: the tools that there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from toolsearch.catalog import tool_digest
from toolsearch.chat.base import ChatRequest, ChatResponse
from toolsearch.delivery.visible import visible
from toolsearch.tools import JsonObject, Tool

SEARCH_TOOL = "tool_search"
CALL_TOOL = "call_tool"

_LINE_CHARACTERS = 100


@dataclass(frozen=True)
class Offer:
    """The tools of one round. No name is in two of `visible`, `loaded` and `hidden`.

    Attributes:
        search_tool: Finds what is hidden; None only where nothing is.
        visible: In every round: pinned tools, then those that the caller gave with the request.
        loaded: Discovered, in first-seen order.
        hidden: The rest of what the caller may use, in name order, for a delivery that declares it.
        preselected: Which of `loaded` were found for each user message, by its position in the conversation.
        changed: Which of `loaded` the conversation shows in another form than they have now.
    """

    search_tool: Tool | None
    visible: tuple[Tool, ...] = ()
    loaded: tuple[Tool, ...] = ()
    hidden: tuple[Tool, ...] = ()
    preselected: Mapping[int, tuple[Tool, ...]] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()


class Delivery(Protocol):
    """One way to the model. A value without state, shared by all conversations."""

    @property
    def name(self) -> str:
        """``append``, ``bridge`` or ``native``."""

    @property
    def lives_in_messages(self) -> bool:
        """Whether the model knows a discovered tool only as long as the conversation shows its discovery."""

    @property
    def declares_hidden(self) -> bool:
        """Whether the provider is told of hidden tools."""

    @property
    def fixed_tools(self) -> int:
        """How many tools there are beside those of the catalog and the caller."""

    def request(self, request: ChatRequest, offer: Offer) -> ChatRequest:
        """`request` as the model is to see it."""

    def response(self, response: ChatResponse, offer: Offer) -> ChatResponse:
        """`response` with every call under the name of the tool that is meant, and what may run for it."""

    def runnable(self, offer: Offer) -> tuple[Tool, ...]:
        """What may run for an answer to the request, in a fixed order."""

    def heading(self, n: int) -> str:
        """The line above `n` tools that a search has just found: what can be done with them."""

    def entry(self, tool: Tool) -> str:
        """What a search says of a tool that it has just found."""


def one_line(text: str, limit: int) -> str:
    """`text` without line breaks and hidden characters, cut at the end of a word after `limit` characters."""
    flat = " ".join(visible(text).split())
    if len(flat) <= limit:
        return flat
    head = flat[: limit - 1]
    return f"{head[: head.rfind(' ')] if ' ' in head else head}…"


def summary(tool: Tool, limit: int = _LINE_CHARACTERS) -> str:
    """Name and one line of a tool."""
    text = one_line(tool.description or tool.title, limit)
    return f"- {tool.name}: {text}" if text else f"- {tool.name}"


def count(n: int) -> str:
    """``1 tool``, ``2 tools`` …"""
    return "1 tool" if n == 1 else f"{n} tools"


def shown(tools: tuple[Tool, ...]) -> JsonObject:
    """Digests by name: in which form these tools are shown, to see later whether they have changed."""
    return {tool.name: tool_digest(tool)[:16] for tool in tools}
