"""When to ask a busy service again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from toolsearch.checks import check_number, check_whole


@dataclass(frozen=True)
class RetryPolicy:
    """How often to ask, and how long to wait in between.

    Attributes:
        attempts: Requests in all, from 1.
        base_wait_s: Wait after the first failure; doubled after each further one.
        max_wait_s: No wait is longer, whatever the service asks for.

    Raises:
        TypeError, ValueError: a number that is none, or out of its range.
    """

    attempts: int = 5
    base_wait_s: float = 0.5
    max_wait_s: float = 60.0

    def __post_init__(self) -> None:
        check_whole("attempts", self.attempts)
        check_number("base_wait_s", self.base_wait_s, zero=True)
        check_number("max_wait_s", self.max_wait_s, zero=True)

    def wait_s(self, failures: int, retry_after: str | None, *, now: float, random: float) -> float:
        """Seconds to wait after so many failures.

        What the service asks for goes first. Otherwise the wait grows exponentially, and `random`
        (from 0 to 1) takes up to half of it off, so that clients that failed together do not come
        back together.

        Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015 ("equal jitter").
        """
        asked_for_s = parse_retry_after(retry_after, now=now)
        if asked_for_s is not None:
            return min(asked_for_s, self.max_wait_s)
        return min(self.base_wait_s * 2.0 ** (failures - 1), self.max_wait_s) * (1 - random / 2)


def parse_retry_after(value: str | None, *, now: float) -> float | None:
    """Seconds from `now` (since 1970) that a ``Retry-After`` header asks for, at least 0.

    The header holds seconds or an HTTP date (RFC 9110, 10.2.3); None when there is none or it is neither.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.replace(".", "", 1).isdigit():
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - now)
