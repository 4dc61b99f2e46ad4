"""`MemorySessionStore`: sessions of one process, the least recently used ones forgotten."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from toolsearch.checks import check_number, check_whole


@dataclass
class _Session:
    used_at: float
    names: dict[str, None] = field(default_factory=dict)
    choice: str | None = None


class MemorySessionStore:
    """A `SessionStore` in memory, bounded in number and in age."""

    def __init__(
        self,
        *,
        max_sessions: int = 1000,
        ttl_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """An empty store.

        Args:
            max_sessions: The least recently used session beyond it is forgotten.
            ttl_s: Seconds without use after which a session is forgotten; None for never.
            clock: Seconds from any start.

        Raises:
            ValueError: a bound that keeps nothing.
            TypeError: one that is no number, or no whole one for sessions.
        """
        check_whole("max_sessions", max_sessions)
        check_number("ttl_s", ttl_s, or_none=True)
        self.max_sessions = max_sessions
        self.ttl_s = ttl_s
        self._clock = clock
        self._sessions: OrderedDict[tuple[str, str], _Session] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def n_sessions(self) -> int:
        """Sessions that are kept, those included whose time is up but which nobody has asked after since."""
        return len(self._sessions)

    def discovered(self, session_id: str, tenant: str) -> tuple[str, ...]:
        with self._lock:
            session = self._used(session_id, tenant)
            return () if session is None else tuple(session.names)

    def discover(self, session_id: str, tenant: str, names: Iterable[str]) -> tuple[str, ...]:
        with self._lock:
            known = self._opened(session_id, tenant).names
            new = tuple(name for name in dict.fromkeys(names) if name not in known)
            known.update(dict.fromkeys(new))
            return new

    def forget(self, session_id: str, tenant: str, names: Collection[str] | None = None) -> None:
        with self._lock:
            if names is None:
                self._sessions.pop((tenant, session_id), None)
                return
            session = self._used(session_id, tenant)
            if session is not None:
                for name in names:
                    session.names.pop(name, None)

    def settle(self, session_id: str, tenant: str, choice: str) -> str:
        with self._lock:
            session = self._opened(session_id, tenant)
            if session.choice is None:
                session.choice = choice
            return session.choice

    def _used(self, session_id: str, tenant: str) -> _Session | None:
        """The session, now the most recently used one; None where it is not known."""
        self._drop_old()
        key = (tenant, session_id)
        session = self._sessions.get(key)
        if session is not None:
            session.used_at = self._clock()
            self._sessions.move_to_end(key)
        return session

    def _opened(self, session_id: str, tenant: str) -> _Session:
        session = self._used(session_id, tenant)
        if session is None:
            session = self._sessions[tenant, session_id] = _Session(self._clock())
            if len(self._sessions) > self.max_sessions:
                self._sessions.popitem(last=False)
        return session

    def _drop_old(self) -> None:
        if self.ttl_s is None:
            return
        oldest_kept = self._clock() - self.ttl_s
        while self._sessions and next(iter(self._sessions.values())).used_at < oldest_kept:
            self._sessions.popitem(last=False)
