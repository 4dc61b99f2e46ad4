"""Append: discovered tools go to the end of the tool list. Works with every provider.

The list of each round begins with that of the round before, byte for byte. A discovery changes only its end,
though that lies before the messages in a provider's prompt, so the messages are read anew once.
"""

from __future__ import annotations

from dataclasses import replace

from toolsearch.chat.base import ChatRequest, ChatResponse
from toolsearch.delivery.base import Offer, count, summary
from toolsearch.tools import Tool


class Append:
    """The search tool, what is always visible, then what was discovered."""

    name = "append"
    lives_in_messages = False
    declares_hidden = False
    fixed_tools = 1

    def request(self, request: ChatRequest, offer: Offer) -> ChatRequest:
        return replace(request, tools=self.runnable(offer))

    def response(self, response: ChatResponse, offer: Offer) -> ChatResponse:
        del offer
        return response

    def runnable(self, offer: Offer) -> tuple[Tool, ...]:
        search = () if offer.search_tool is None else (offer.search_tool,)
        return (*search, *offer.visible, *offer.loaded)

    def heading(self, n: int) -> str:
        return f"Loaded {count(n)}. Call {'it' if n == 1 else 'them'} directly:"

    def entry(self, tool: Tool) -> str:
        return summary(tool)


APPEND = Append()
