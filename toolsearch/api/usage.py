"""Feedback on tools, and what was used."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from toolsearch.api.base import Answered, Asked, Name, SessionId, Text

Outcome: TypeAlias = Literal["called", "succeeded", "failed", "relevant", "irrelevant"]


class FeedbackBody(Asked):
    """What became of a tool that a query was about: it was called, it worked, or somebody judged it.

    Attributes:
        tool: The public name of the tool.
        outcome: What became of it.
        query: What was asked for.
        session_id: Of the conversation that it was in.
    """

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
    """Feedback as it was kept; `at` is in seconds since 1970.

    Attributes:
        id: Of the entry.
        at: In seconds since 1970.
        tool: The public name of the tool.
        outcome: What became of it.
        query: What was asked for; empty where that is not kept.
        session_id: Of the conversation that it was in.
    """

    id: int
    at: float
    tool: str
    outcome: str
    query: str = ""
    session_id: str | None = None


class FeedbackPage(Answered):
    """Feedback, the oldest first; `next_cursor` leads to what follows.

    Attributes:
        feedback: Of this page.
        next_cursor: Leads to what follows; None on the last page.
    """

    feedback: tuple[FeedbackEntry, ...]
    next_cursor: str | None = None


class UsageDay(Answered):
    """What a tenant used on a day (UTC): searches, what they returned and what they spared, in tokens.

    Attributes:
        day: Such as ``2026-01-31``.
        searches: How many there were.
        nothing_fits: How many found that nothing fits.
        returned_tokens: Of the definitions that were found.
        spared_tokens: Of all others that could have been sent.
        calls: Tools that were called.
    """

    day: str
    searches: int = 0
    nothing_fits: int = 0
    returned_tokens: int = 0
    spared_tokens: int = 0
    calls: int = 0


class UsageAnswer(Answered):
    """Days with any use, the oldest first, and their sum, whose ``day`` is the first and the last one.

    Attributes:
        days: The oldest first.
        total: Of all days.
    """

    days: tuple[UsageDay, ...]
    total: UsageDay
