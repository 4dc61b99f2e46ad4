"""`SearchTrail`: by which query a conversation found each of its tools, kept in memory alone."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping

from toolsearch.checks import check_whole

_TOOLS_KEPT = 256


class SearchTrail:
    """The latest query that found a tool, by tenant, session and tool. Safe to use from several threads."""

    def __init__(self, *, max_sessions: int = 10_000) -> None:
        """Knows of nothing yet; beyond `max_sessions` the least recently used one is forgotten.

        Raises:
            ValueError, TypeError: a bound that keeps nothing.
        """
        check_whole("max_sessions", max_sessions)
        self._max_sessions = max_sessions
        self._sessions: OrderedDict[tuple[str, str], OrderedDict[str, str]] = OrderedDict()
        self._lock = threading.Lock()

    def found(self, session_id: str, tenant: str, query_of: Mapping[str, str]) -> None:
        """Remember which query found which tool, by public name."""
        if not session_id or not query_of:
            return
        with self._lock:
            queries = self._sessions.setdefault((tenant, session_id), OrderedDict())
            self._sessions.move_to_end((tenant, session_id))
            for name, query in query_of.items():
                queries[name] = query
                queries.move_to_end(name)
            while len(queries) > _TOOLS_KEPT:
                queries.popitem(last=False)
            while len(self._sessions) > self._max_sessions:
                self._sessions.popitem(last=False)

    def query(self, session_id: str, tenant: str, tool: str) -> str:
        """The query that found `tool`; empty where that is not known."""
        with self._lock:
            queries = self._sessions.get((tenant, session_id))
            return "" if queries is None else queries.get(tool, "")

    def forget(self, tenant: str, session_id: str | None = None) -> None:
        """Forget a session of a tenant, or all of them."""
        with self._lock:
            for key in [k for k in self._sessions if k[0] == tenant and session_id in (None, k[1])]:
                del self._sessions[key]
