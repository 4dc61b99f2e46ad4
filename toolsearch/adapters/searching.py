"""`Searching`: what all calls that one program makes share, and the beginning of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolsearch.adapters.api import Arguments, WireApi
from toolsearch.adapters.native import lacks_search
from toolsearch.adapters.recall import Recall
from toolsearch.adapters.tool_lists import ToolLists
from toolsearch.adapters.turn import Turn
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery
from toolsearch.session.base import SessionStore
from toolsearch.tools import Tool


@dataclass(frozen=True)
class Searching:
    """What all calls of a wrapped client share."""

    lists: ToolLists
    store: SessionStore
    recall: Recall
    max_rounds: int
    delivery: Delivery = APPEND

    def open(
        self,
        api: WireApi,
        request: Arguments,
        caller: tuple[str, str],
        *,
        list_key: bytes | None = None,
        owner: bytes = b"",
        runs: Mapping[str, Tool] | None = None,
    ) -> Turn | None:
        """The turn of a request, or None for one that goes out as it is: too few tools to be searched.

        It may build an index, so it takes a thread of its own where others wait.

        Args:
            list_key: As `key` of `ToolLists.of`.
            owner: Tells apart callers who are to know nothing of each other's conversations.
            runs: Tools of the catalog whose calls are answered here too, by public name.

        Raises:
            ValueError: the request cannot be answered with tool search, or its session id is no text.
            ReservedNameError, UnknownToolError, ToolLimitError, EmbeddingError: as `wrap` says.
        """
        if not all(isinstance(part, str) for part in caller):
            raise ValueError(f"Session id and tenant must be texts, not {caller!r}.")
        if not request["tools"] and not self.lists.has_catalog:
            return None
        tool_list = self.lists.of(api, request["tools"], key=list_key)
        if tool_list.has_own_search:
            tool_list.log()
            return None
        if tool_list.was_whole.is_set() and not caller[0]:
            return None
        turn = Turn(self, api, request, tool_list, caller, owner=owner, runs=runs)
        if turn.discovery.whole and not self.lists.has_catalog:
            tool_list.log()
            tool_list.was_opened.set()
            if not caller[0]:
                tool_list.was_whole.set()
            return None
        reason = api.refuses(request)
        if turn.is_native:
            reason = reason or lacks_search(api.form, request.get("model"))
        if reason:
            raise ValueError(f"Tool search cannot answer this request. {reason}")
        tool_list.prepare()
        tool_list.was_opened.set()
        return turn
