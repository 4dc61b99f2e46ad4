"""What the service keeps beside keys and sessions: feedback, usage, answers to repeated writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from toolsearch.api.usage import FeedbackBody, FeedbackEntry, UsageDay

COUNTS = ("searches", "nothing_fits", "returned_tokens", "spared_tokens", "calls")
"""What is counted of a day: the fields of `UsageDay`, and the columns of both databases."""

ANSWERS_KEPT_S = 24 * 3600.0
"""How long an answer is given again."""

CLAIM_S = 600.0
"""After it whoever began a write is taken to be dead."""


@dataclass(frozen=True)
class KeptAnswer:
    """The answer to a write, to be given again; `fingerprint` is that of its request."""

    fingerprint: str
    status: int = 0
    content_type: str = ""
    etag: str = ""
    body: bytes = b""

    @property
    def is_running(self) -> bool:
        """Whether there is no answer yet."""
        return self.status == 0


class Records(Protocol):
    """Keeps records by tenant, and writes by who made them. Safe to use from several threads."""

    def add_feedback(self, tenant: str, feedback: FeedbackBody) -> FeedbackEntry:
        """The feedback as it is kept from now on."""

    def feedback(self, tenant: str, *, after: int, limit: int) -> tuple[FeedbackEntry, ...]:
        """Up to `limit` entries with larger ids than `after`, the oldest first."""

    def latest_feedback(
        self, tenant: str, *, before: int, since: float, limit: int
    ) -> tuple[FeedbackEntry, ...]:
        """Up to `limit` entries with smaller ids than `before`, none older than `since`, the newest first."""

    def forget_feedback(self, tenant: str) -> int:
        """Drop all feedback of a tenant; how many entries there were."""

    def trim_feedback(self, *, before: float, keeping: int) -> None:
        """Drop feedback from before a time, and of each tenant all but the newest entries."""

    def add_usage(self, used: Mapping[tuple[str, str], UsageDay]) -> None:
        """Add to what was used, by tenant and day."""

    def usage(self, tenant: str, *, since: str, until: str) -> tuple[UsageDay, ...]:
        """Days from `since` to `until`, both included, as ``2026-01-31``."""

    def begin_write(self, owner: str, key: str, fingerprint: str) -> KeptAnswer | None:
        """Claim an idempotency key: None where it was free, else what is kept of its request."""

    def end_write(self, owner: str, key: str, answer: KeptAnswer | None) -> None:
        """Keep the answer to the request that claimed the key, or free the key for None.

        Where the database is away that is done by a later `settle`.
        """

    def settle(self) -> None:
        """End the writes that could not be ended when they were; not from two threads at once."""
