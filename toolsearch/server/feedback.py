"""Feedback as it is kept, and learned from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from toolsearch.api.usage import FeedbackBody, FeedbackEntry
from toolsearch.server.answers import MAX_NUMBER
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


def latest_feedback(asking: Asking, *, since: float) -> Iterator[FeedbackEntry]:
    """The feedback of the tenant since a time, the newest first, read as it is asked for."""
    records, before = asking.service.records, MAX_NUMBER
    while True:
        found = records.latest_feedback(asking.caller.tenant, before=before, since=since, limit=_READ)
        yield from found
        if len(found) < _READ:
            return
        before = found[-1].id


def known_feedback(
    asking: Asking, *, after: int, limit: int
) -> tuple[tuple[FeedbackEntry, ...], FeedbackEntry | None]:
    """Up to `limit` entries with larger ids than `after` on tools that the caller may know of, the oldest
    first, and the last of them if more such entries follow."""
    names = asking.visible().names
    known = (entry for entry in _feedback_after(asking, after) if entry.tool in names)
    found = tuple(islice(known, limit + 1))
    return found[:limit], found[limit - 1] if len(found) > limit else None


def forget_feedback(asking: Asking, tenant: str) -> None:
    """Drop the feedback of a tenant, and all that was learned from it."""
    asking.service.records.forget_feedback(tenant)
    if asking.service.learning is not None:
        asking.service.learning.forget(tenant)


def _feedback_after(asking: Asking, after: int) -> Iterator[FeedbackEntry]:
    """The feedback of the tenant with larger ids than `after`, the oldest first, read as it is asked for."""
    while True:
        found = asking.service.records.feedback(asking.caller.tenant, after=after, limit=_READ)
        yield from found
        if len(found) < _READ:
            return
        after = found[-1].id
