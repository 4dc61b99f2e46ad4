"""`ToolSearchSession`: tool search in a loop that somebody wrote by hand, in three calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, Unpack

from toolsearch.adapters.planned import answered_here, meant_calls, planned_calls
from toolsearch.adapters.wire import (
    WireForm,
    is_custom,
    read_call,
    read_conversation,
    written_result,
    written_tools,
)
from toolsearch.chat.base import ChatRequest
from toolsearch.checks import check_choice
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery, Offer
from toolsearch.delivery.bridge import BRIDGE
from toolsearch.discovery.discoverer import Discoverer
from toolsearch.discovery.settings import DiscoveryOptions, DiscoverySettings
from toolsearch.functions.arguments import parse_arguments
from toolsearch.given import Tools, as_tools
from toolsearch.messages import ToolCall, ToolMessage, ToolResult
from toolsearch.retrieval.base import Retriever
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.session.base import Session, SessionStore
from toolsearch.session.memory import MemorySessionStore
from toolsearch.tools import JsonObject, Tool

SessionDelivery: TypeAlias = Literal["append", "bridge"]

_ALONE = "alone"


class ToolSearchSession:
    """One conversation of a hand-written loop.

    Before each request, `observe` the messages and send `tools()`; give each call of the answer to `handle`,
    and run those that it leaves to you.

        >>> session = ToolSearchSession(searcher)
        >>> messages = [{"role": "user", "content": "Refund order 7."}]
        >>> while True:
        ...     session.observe(messages)
        ...     answer = ask_the_model(messages, tools=session.tools())
        ...     messages.append(answer)
        ...     if not answer.get("tool_calls"):
        ...         break
        ...     for call in answer["tool_calls"]:
        ...         messages.append(session.handle(call) or run_it(call["id"], *session.target(call)))

    Messages and calls may be plain dicts or the objects of a provider's client. In a coroutine use
    `handle_async` and `observe_async`, which search in a thread; `tools` never waits.
    """

    def __init__(
        self,
        searcher: Retriever,
        catalog: Tools | None = None,
        *,
        form: WireForm = "openai_chat",
        delivery: SessionDelivery = "append",
        own: Tools = (),
        filter: ToolFilter | None = None,  # noqa: A002
        store: SessionStore | None = None,
        session_id: str = "",
        tenant: str = "",
        **settings: Unpack[DiscoveryOptions],
    ) -> None:
        """A conversation over the tools of `catalog`, or those of the searcher's index.

        Args:
            form: Of the provider's tools, calls and messages.
            delivery: ``append`` adds what is found to the tools; ``bridge`` keeps them fixed.
            own: Tools beside the catalog, always visible.
            filter: The tools that the conversation may use.
            store: Where discoveries are kept beyond this object, under `session_id` and `tenant`.
            settings: The attributes of `DiscoverySettings`.

        Raises:
            UnknownToolError, ToolLimitError, ReservedNameError: as `ToolSearchAdvisor`.
            TypeError: an unknown setting, or something that is no searcher or no tool.
            ValueError: an unknown form or delivery, a store without a session id, preselection with the
                bridge, which would have to change messages, or a setting out of its range.
        """
        check_choice("form", form, WireForm)
        check_choice("delivery", delivery, SessionDelivery)
        if store is not None and not session_id:
            raise ValueError("Give the session id under which the store is to keep the conversation.")
        if delivery == "bridge" and settings.get("preselect"):
            raise ValueError("The bridge shows preselected tools in messages, which are yours. Use append.")
        self._form = form
        self._own = as_tools(own, "own")
        self._delivery: Delivery = BRIDGE if delivery == "bridge" else APPEND
        self._discoverer = Discoverer(
            searcher,
            catalog,
            DiscoverySettings.of(**settings),
            self._delivery,
            () if filter is None else (filter,),
        )
        self._session = Session(
            MemorySessionStore() if store is None else store, session_id or _ALONE, tenant
        )
        self._made: dict[tuple[str, str], ToolMessage] = {}
        self._lock = threading.Lock()
        self._discovery = self._discoverer.open(self._session, self._delivery, own=self._own)
        self._sent: Offer | None = None
        self._was_asked = False

    @property
    def instructions(self) -> str:
        """What the system message should say; empty where no tool is hidden."""
        return self._discovery.instructions

    def tools(self) -> list[JsonObject]:
        """The tools of the next request, in the provider's form and in an order that is kept.

        Its answer is held to them until the tools of another request are asked for.
        """
        self._was_asked, self._sent = True, self._discovery.offer()
        request = self._discovery.delivery.request(ChatRequest(()), self._sent)
        return written_tools(request.tools, self._form)

    def observe(self, messages: Iterable[Any]) -> None:
        """Takes note of the conversation as it will be sent: the whole of it, or what is left of it.

        It tells what a resumed conversation had discovered, when the user has spoken, and what the model
        can still read.
        """
        with self._lock:
            known = read_conversation(messages, self._made)
            self._discovery = self._discoverer.open(
                self._session, self._delivery, messages=known, own=self._own
            )
            if not self._was_asked:
                self._sent = None

    def handle(self, call: Any) -> JsonObject | None:
        """The result of `call` in the provider's form, or None for a tool that is yours to run.

        Searches are answered, and so is what must not run: a tool that the request did not offer, be it found
        in this very answer or not, arguments that are no JSON object. For Anthropic the result is a block of
        a user message. Calls of custom tools of OpenAI, which are not searched here, are yours.

        Raises:
            ValueError: `call` is no tool call.
        """
        if is_custom(call):
            return None
        with self._lock:
            asked = read_call(call)
            meant, offered = self._meant(asked)
            (planned,) = planned_calls([meant], offered)
            result = answered_here(planned, self._discovery, self._offer())
            if result is None:
                return None
            made = _message(asked.id, meant.name, result)
            self._made[asked.id, made.text] = made
            return written_result(asked.id, result, self._form)

    def target(self, call: Any) -> tuple[str, JsonObject]:
        """Name and arguments of the tool that a call means: with the bridge, of the one inside.

        Raises:
            ToolArgumentsError: the arguments are no JSON object; `handle` answers such calls.
            ValueError: `call` is no tool call.
        """
        meant, _ = self._meant(read_call(call))
        return meant.name, parse_arguments(meant.arguments, tool=meant.name)

    async def observe_async(self, messages: Iterable[Any]) -> None:
        """`observe`, in a thread."""
        await asyncio.to_thread(self.observe, messages)

    async def handle_async(self, call: Any) -> JsonObject | None:
        """`handle`, in a thread."""
        return await asyncio.to_thread(self.handle, call)

    def _offer(self) -> Offer:
        """What the model was offered: the answer to a request of another object knows what was observed."""
        if self._sent is None:
            self._sent = self._discovery.offer()
        return self._sent

    def _meant(self, call: ToolCall) -> tuple[ToolCall, tuple[Tool, ...]]:
        """The call under the name of the tool that is meant, and all tools that may run."""
        (meant,), offered = meant_calls([call], self._discovery.delivery, self._offer())
        return meant, offered


def _message(call_id: str, name: str, result: ToolResult) -> ToolMessage:
    return ToolMessage(
        call_id=call_id,
        name=name,
        content=result.content,
        is_error=result.is_error,
        discovered=result.discovered,
        structured=result.structured,
    )
