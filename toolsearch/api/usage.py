"""Feedback on tools, and what was used."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from toolsearch.api.base import Answered, Asked, Name, SessionId, Text

Outcome: TypeAlias = Literal["called", "succeeded", "failed", "relevant", "irrelevant"]


class FeedbackBody(Asked):
    """What became of a tool that a query was about: it was called, it worked, or somebody judged it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"tool": "mail__send_email", "outcome": "succeeded", "query": "write to the customer"}
            ]
        }
    )

    tool: Name
    outcome: Outcome
    query: Annotated[Text, Field(max_length=2000)] = ""
    session_id: SessionId | None = None


class FeedbackEntry(Answered):
    """Feedback as it was kept; `at` is in seconds since 1970."""

    id: int
    at: float
    tool: str
    outcome: str
    query: str = ""
    session_id: str | None = None


class FeedbackPage(Answered):
    """Feedback, the oldest first; `next_cursor` leads to what follows."""

    feedback: tuple[FeedbackEntry, ...]
    next_cursor: str | None = None


class UsageDay(Answered):
    """What a tenant used on a day (UTC): searches, what they returned and what they spared, in tokens."""

    day: str
    searches: int = 0
    nothing_fits: int = 0
    returned_tokens: int = 0
    spared_tokens: int = 0
    calls: int = 0


class UsageAnswer(Answered):
    """Days with any use, the oldest first, and their sum, whose ``day`` is the first and the last one."""

    days: tuple[UsageDay, ...]
    total: UsageDay
