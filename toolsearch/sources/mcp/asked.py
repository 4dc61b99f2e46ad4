"""What is known of a request beneath the answer that the SDK makes of it."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Asked:
    """One request, as HTTP saw it; of other transports nothing is noted.

    Attributes:
        status: Of the answer where that is 400 or more; 0 for none.
        failure: Why there is no answer, in words for people.
        is_sent: Whether any of it may have reached the server.
    """

    status: int = 0
    failure: str = ""
    is_sent: bool = True

    @property
    def reason(self) -> str:
        """What to say of a request that failed; empty where nothing is known."""
        return self.failure or _REASONS.get(
            self.status, f"answered HTTP status {self.status}" * bool(self.status)
        )

    @property
    def is_refused(self) -> bool:
        """Whether the request certainly did nothing: never sent, or turned away at the door."""
        return not self.is_sent or self.status in _REFUSED


_REFUSED = frozenset({401, 403, 404, 405, 407, 429})
_REASONS = {
    401: "answered 401: it needs credentials, or refuses those that it was given. Check its headers or token",
    403: "answered 403: the credentials may not do this",
    404: "answered 404: it is not there, or knows nothing of this session any more",
    405: "answered 405: it does not take such requests",
    429: "answered 429: it is asked too often",
}

CURRENT: ContextVar[Asked | None] = ContextVar("toolsearch_mcp_asked", default=None)
"""The request that the running task makes; tasks that it starts have the same."""
