"""`MemoryAdvisor`: brings the conversation so far into a request, and keeps what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolsearch.advisors.base import MEMORY_OUTSIDE
from toolsearch.advisors.chain import AdvisorChain, closing
from toolsearch.advisors.memory.call_ids import with_distinct_ids
from toolsearch.advisors.memory.compaction import Compactor
from toolsearch.advisors.memory.store import ConversationStore
from toolsearch.advisors.memory.window import latest_turns, tokens_of, turns_of
from toolsearch.advisors.paused import resumption_of
from toolsearch.chat.base import ChatEvent, ChatRequest, ChatResponse, RunFinished
from toolsearch.checks import check_has, check_whole
from toolsearch.exceptions import ChainError
from toolsearch.messages import AssistantMessage, Message, SystemMessage, ToolMessage


class MemoryAdvisor:
    """Remembers conversations by ``context["session_id"]`` and ``context["tenant"]``.

    A request then holds only what is new, such as the user's message; what is remembered goes between its
    system messages and that. System messages are not remembered.

    Outside the tool-calling loop (order 200) it keeps each run when it ends: the new messages, every call
    with its result, and the answer; of a run that raises it keeps nothing, of one that pauses the user's
    message until it is resumed. Inside (order 500) it keeps each round as it happens, and the loop then sends
    only what is new in each: see `ToolCallingAdvisor`. In both places a call is only kept along with its
    result. What a session has discovered is kept by the tool search, not here: no trimming loses it.
    """

    def __init__(
        self,
        store: ConversationStore,
        *,
        max_turns: int | None = None,
        max_tokens: int | None = None,
        compact: Compactor | None = None,
        compact_above_tokens: int = 50_000,
        keep_turns: int = 3,
        name: str = "memory",
        order: int = MEMORY_OUTSIDE,
    ) -> None:
        """Remembers nothing of its own.

        Args:
            store: Keeps the conversations.
            max_turns, max_tokens: How much of the end of a conversation a request is given, in whole turns;
                the store keeps all of it.
            compact: Makes old turns into less, for good; None never does.
            compact_above_tokens: From when on.
            keep_turns: The latest turns that `compact` leaves as they are.
            order: Above that of the tool-calling loop for a place inside it.

        Raises:
            TypeError: the store is none, or a number is no whole one.
            ValueError: a number below 1, or `compact_above_tokens` below 0.
        """
        check_whole("max_turns", max_turns, or_none=True)
        check_whole("max_tokens", max_tokens, or_none=True)
        check_whole("compact_above_tokens", compact_above_tokens, least=0)
        check_whole("keep_turns", keep_turns)
        check_has("store", store, ("messages", "append"), "a ConversationStore")
        self.name = name
        self.order = order
        self._store = store
        self._max_turns = max_turns
        self._max_tokens = max_tokens
        self._compact = compact
        self._compact_above_tokens = compact_above_tokens
        self._keep_turns = keep_turns

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        """The rest of the chain, with the conversation so far.

        Raises:
            ChainError: the request's context has no ``session_id``.
        """
        self._session(request.context)
        new: tuple[Message, ...] = tuple(
            message for message in request.messages if not isinstance(message, SystemMessage)
        )
        if resumption_of(request) is not None:
            # Its messages are the whole conversation, and what was new in them was kept when it paused.
            new, asked = (), request
        else:
            system = tuple(message for message in request.messages if isinstance(message, SystemMessage))
            remembered = await self._remembered(request.context)
            new = _unknown(new, remembered)
            asked = replace(request, messages=(*system, *with_distinct_ids((*remembered, *new))))
        async with closing(chain.next(asked)) as events:
            async for event in events:
                if isinstance(event, RunFinished):
                    added = (*new, *_added(event.response))
                    if resumption_of(request) is None or not await self._has(added, request.context):
                        await self.keep(added, request.context)
                yield event

    async def keep(self, messages: Sequence[Message], context: Mapping[str, Any]) -> None:
        """Appends `messages` to the conversation that `context` names."""
        if messages:
            await asyncio.to_thread(self._store.append, *self._session(context), messages)

    async def _has(self, messages: Sequence[Message], context: Mapping[str, Any]) -> bool:
        """Whether they are kept, one after the other: a run resumed anew may have come to its end before."""
        kept = await asyncio.to_thread(self._store.messages, *self._session(context))
        n, wanted = len(messages), tuple(messages)
        return any(tuple(kept[at : at + n]) == wanted for at in range(len(kept) - n + 1))

    async def _remembered(self, context: Mapping[str, Any]) -> tuple[Message, ...]:
        session = self._session(context)
        messages = await asyncio.to_thread(self._store.messages, *session)
        if self._compact is not None:
            messages = await self._compacted(messages, session, self._compact)
        if self._max_turns is None and self._max_tokens is None:
            return messages
        return latest_turns(messages, max_turns=self._max_turns, max_tokens=self._max_tokens)

    async def _compacted(
        self, messages: tuple[Message, ...], session: tuple[str, str], compact: Compactor
    ) -> tuple[Message, ...]:
        old = tuple(message for turn in turns_of(messages)[: -self._keep_turns] for message in turn)
        if not old or await asyncio.to_thread(tokens_of, messages) <= self._compact_above_tokens:
            return messages
        less = tuple(await compact(old))
        # Another run of the session may have done so first; then its version counts.
        await asyncio.to_thread(self._store.replace_head, *session, old, less)
        return await asyncio.to_thread(self._store.messages, *session)

    def _session(self, context: Mapping[str, Any]) -> tuple[str, str]:
        session_id = context.get("session_id")
        if not session_id:
            raise ChainError(
                f"{self.name!r} needs to know the conversation. Give the request a context['session_id'].",
                (self.name,),
            )
        return session_id, context.get("tenant") or ""


def _added(response: ChatResponse) -> tuple[Message, ...]:
    """What a response adds to the conversation by now; calls are left for when their results are there."""
    if response.finish_reason == "paused":
        return ()
    if "messages" in response.metadata:
        return tuple(response.metadata["messages"])
    return () if response.message.tool_calls else (response.message,)


def _unknown(messages: tuple[Message, ...], remembered: tuple[Message, ...]) -> tuple[Message, ...]:
    """`messages` without calls and results that are remembered: a run resumed anew sends them again."""
    known = {ids: message for message in remembered if (ids := _call_ids(message))}
    return tuple(
        message
        for message in messages
        if not (ids := _call_ids(message)) or ids not in known or known[ids] != message
    )


def _call_ids(message: Message) -> tuple[str, ...]:
    match message:
        case AssistantMessage():
            return tuple(call.id for call in message.tool_calls)
        case ToolMessage():
            return ("result of", message.call_id)
        case _:
            return ()
