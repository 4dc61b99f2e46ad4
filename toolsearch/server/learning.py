"""`Learning`: what becomes of tools is learned at once, kept, and heard of by the other replicas."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from toolsearch.api.usage import Outcome
from toolsearch.exceptions import EmbeddingError, SearchRequestError, UnknownToolError
from toolsearch.messages import ToolResult
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.retrieval.usage import LearnedUsage, UsageEvent
from toolsearch.session.trail import SearchTrail
from toolsearch.telemetry.learning import query_of

_READ_AT_ONCE = 1000

_log = logging.getLogger("toolsearch.server")


@dataclass(frozen=True)
class StoredUsage:
    """What became of a tool, or with `event` None that all of a tenant is forgotten; ids ascend."""

    id: int
    tenant: str
    event: UsageEvent | None


class UsageStore(Protocol):
    """Keeps what was learned, for a time. Safe to use from several threads."""

    def add_events(self, events: Sequence[UsageEvent], embedder_id: str) -> None:
        """Keep events whose vectors are of this embedder, in this order."""

    def events(self, embedder_id: str, *, after: int, limit: int) -> tuple[StoredUsage, ...]:
        """Up to `limit` entries with larger ids than `after`, the oldest first."""

    def newest_id(self, *, keeping: int) -> int:
        """The id after which the newest `keeping` entries come; 0 where there are fewer."""

    def forget(self, tenant: str) -> None:
        """Drop all of a tenant, and tell so to who reads on."""


class Learning:
    """Teaches the searcher of this process, and what others teach theirs.

    What sessions searched for is known to the process that searched alone; elsewhere feedback has to name
    its query.
    """

    def __init__(
        self, usage: LearnedUsage, store: UsageStore, searcher: Callable[[], ToolSearcher], embedder_id: str
    ) -> None:
        """Has learned nothing yet; `refresh` reads what is kept."""
        self.usage = usage
        self._store = store
        self._searcher = searcher
        self._embedder_id = embedder_id
        self._trail = SearchTrail()
        self._refreshing = threading.Lock()
        self._read_to: int | None = None

    def searched(self, tenant: str, session_id: str, result: ToolResult) -> None:
        """A session has called `tool_search`."""
        self._trail.found(session_id, tenant, query_of(result))

    def told(self, tenant: str, tool: str, outcome: Outcome, *, query: str, session_id: str | None) -> None:
        """Learn what became of a tool for a query, or for the one by which the session has found it.

        Without either there is nothing to learn.
        """
        query = query or self._trail.query(session_id or "", tenant, tool)
        if not query:
            return
        try:
            events = self._searcher().learn(query, tool, outcome, session_id=session_id or "", tenant=tenant)
        except (SearchRequestError, UnknownToolError):
            return
        except EmbeddingError as exc:
            # The feedback itself is kept; sent again it would be kept twice.
            _log.warning("Nothing was learned of a feedback, as the encoder failed: %s", type(exc).__name__)
            return
        if events:
            self._store.add_events(events, self._embedder_id)

    def refresh(self) -> None:
        """Learn what is kept and was not read yet; at first the newest that there is room for.

        Raises:
            sqlite3.Error, DatabaseError: it cannot be read.
        """
        with self._refreshing:
            if self._read_to is None:
                self._read_to = self._store.newest_id(keeping=self.usage.max_requests)
            while True:
                found = self._store.events(self._embedder_id, after=self._read_to, limit=_READ_AT_ONCE)
                for each in found:
                    if each.event is None:
                        self._drop(each.tenant)
                    else:
                        # What this process has learned already comes to the same when it is learned again.
                        self.usage.learn(each.event)
                if found:
                    self._read_to = found[-1].id
                if len(found) < _READ_AT_ONCE:
                    return

    def forget(self, tenant: str) -> None:
        """Forget all of a tenant, here at once and elsewhere at the next refresh."""
        self._store.forget(tenant)
        self._drop(tenant)

    def forget_session(self, tenant: str, session_id: str) -> None:
        """Forget what a session has searched for; what it taught stays."""
        self._trail.forget(tenant, session_id)

    def _drop(self, tenant: str) -> None:
        self.usage.forget(tenant)
        self._trail.forget(tenant)
