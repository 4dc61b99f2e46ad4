"""`conversation`: to which session and tenant the calls of wrapped clients belong."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from toolsearch.adapters.api import Arguments

SESSION, TENANT = "toolsearch_session", "toolsearch_tenant"
"""Arguments of a call that are for tool search alone."""

_CONVERSATION: ContextVar[tuple[str, str]] = ContextVar("toolsearch_conversation", default=("", ""))


@contextlib.contextmanager
def conversation(session_id: str, *, tenant: str = "") -> Iterator[None]:
    """Within it, calls of wrapped clients belong to this session, as with ``toolsearch_session=``.

    For calls that somebody else's code makes. It holds for this task or thread, and for those begun in it.
    """
    token = _CONVERSATION.set((session_id, tenant))
    try:
        yield
    finally:
        _CONVERSATION.reset(token)


def caller_of(request: Arguments) -> tuple[str, str]:
    """Session id and tenant of a request; they are taken out of it."""
    session_id, tenant = _CONVERSATION.get()
    return request.pop(SESSION, session_id), request.pop(TENANT, tenant)
