"""`ConversationStore`: the messages of conversations; and one in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from toolsearch.checks import check_whole
from toolsearch.messages import Message


class ConversationStore(Protocol):
    """Messages by session and tenant, oldest first. Safe to use from several threads; it may block on I/O.

    A session that is not known has no messages: that is no error.
    """

    def messages(self, session_id: str, tenant: str) -> tuple[Message, ...]:
        """All of them."""

    def append(self, session_id: str, tenant: str, messages: Sequence[Message]) -> None:
        """Adds `messages`, all or none of them, with nothing between them."""

    def replace_head(
        self, session_id: str, tenant: str, head: Sequence[Message], by: Sequence[Message]
    ) -> bool:
        """Puts `by` in the place of `head`; False, and no change, where it does not begin with `head`."""

    def forget(self, session_id: str, tenant: str) -> None:
        """Drops the conversation."""


class MemoryConversationStore:
    """A `ConversationStore` in memory; the least recently used session beyond `max_sessions` is dropped."""

    def __init__(self, *, max_sessions: int = 1000) -> None:
        check_whole("max_sessions", max_sessions)
        self._max_sessions = max_sessions
        self._lock = threading.Lock()
        self._conversations: OrderedDict[tuple[str, str], tuple[Message, ...]] = OrderedDict()

    def messages(self, session_id: str, tenant: str) -> tuple[Message, ...]:
        with self._lock:
            return self._used(session_id, tenant)

    def append(self, session_id: str, tenant: str, messages: Sequence[Message]) -> None:
        with self._lock:
            self._keep(session_id, tenant, (*self._used(session_id, tenant), *messages))

    def replace_head(
        self, session_id: str, tenant: str, head: Sequence[Message], by: Sequence[Message]
    ) -> bool:
        with self._lock:
            kept = self._used(session_id, tenant)
            if kept[: len(head)] != tuple(head):
                return False
            self._keep(session_id, tenant, (*by, *kept[len(head) :]))
            return True

    def forget(self, session_id: str, tenant: str) -> None:
        with self._lock:
            self._conversations.pop((tenant, session_id), None)

    def _used(self, session_id: str, tenant: str) -> tuple[Message, ...]:
        key = tenant, session_id
        if key not in self._conversations:
            return ()
        self._conversations.move_to_end(key)
        return self._conversations[key]

    def _keep(self, session_id: str, tenant: str, messages: tuple[Message, ...]) -> None:
        self._conversations[tenant, session_id] = messages
        self._conversations.move_to_end((tenant, session_id))
        if len(self._conversations) > self._max_sessions:
            self._conversations.popitem(last=False)
