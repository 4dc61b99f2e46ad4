"""Feedback as it is kept, and learned from."""

from __future__ import annotations

from toolsearch.api.usage import FeedbackBody, FeedbackEntry
from toolsearch.server.asking import Asking

_READ = 1000


def kept_feedback(asking: Asking, feedback: FeedbackBody) -> FeedbackEntry:
    """Keep `feedback` for the tenant, without the text of its query unless that is to be kept; learn from it.

    Raises:
        UnknownToolError: the caller knows of no such tool.
    """
    asking.visible().row(feedback.tool)
    service, tenant = asking.service, asking.caller.tenant
    told = feedback if service.settings.keep_queries else feedback.model_copy(update={"query": ""})
    entry = service.records.add_feedback(tenant, told)
    if service.learning is not None:
        service.learning.told(
            tenant, feedback.tool, feedback.outcome, query=feedback.query, session_id=feedback.session_id
        )
    return entry


def known_feedback(
    asking: Asking, *, after: int, limit: int
) -> tuple[tuple[FeedbackEntry, ...], FeedbackEntry | None]:
    """Up to `limit` entries with larger ids than `after` on tools that the caller may know of, the oldest
    first, and the last of them if more such entries follow."""
    names = asking.visible().names
    known: list[FeedbackEntry] = []
    while len(known) <= limit:
        found = asking.service.records.feedback(asking.caller.tenant, after=after, limit=_READ)
        known += (entry for entry in found if entry.tool in names)
        if len(found) < _READ:
            break
        after = found[-1].id
    return tuple(known[:limit]), known[limit - 1] if len(known) > limit else None


def forget_feedback(asking: Asking, tenant: str) -> None:
    """Drop the feedback of a tenant, and all that was learned from it."""
    asking.service.records.forget_feedback(tenant)
    if asking.service.learning is not None:
        asking.service.learning.forget(tenant)
