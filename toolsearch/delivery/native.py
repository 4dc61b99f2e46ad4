"""Native: the provider knows every definition, and shows the model those that a search result refers to.

Nothing that the model has read changes when a tool is discovered, so the whole prompt stays cached. The
provider has to offer it: `ChatModel.native_search` tells.
"""

from __future__ import annotations

from dataclasses import replace

from toolsearch.chat.base import ChatRequest, NativeSearch
from toolsearch.delivery.append import Append
from toolsearch.delivery.base import Offer


class Native(Append):
    """The tools of `Append`, and all others as deferred definitions.

    What was preselected is not deferred: no search result of the conversation could refer to it.
    """

    name = "native"
    lives_in_messages = True
    declares_hidden = True

    def request(self, request: ChatRequest, offer: Offer) -> ChatRequest:
        request = super().request(request, offer)
        if offer.search_tool is None:
            return request
        preselected = {tool.name for tools in offer.preselected.values() for tool in tools}
        deferred = (tool for tool in (*offer.loaded, *offer.hidden) if tool.name not in preselected)
        in_order = tuple(sorted(deferred, key=lambda tool: tool.name))
        return replace(request, native=NativeSearch(offer.search_tool.name, in_order))


NATIVE = Native()
