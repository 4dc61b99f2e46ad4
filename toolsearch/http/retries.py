"""When to ask a busy service again."""

from __future__ import annotations

from collections.abc import Mapping
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

    def wait_s(self, failures: int, asked_for_s: float | None, *, random: float) -> float:
        """Seconds to wait after so many failures.

        What the service asks for, by `asked_wait_s`, goes first. Otherwise the wait grows exponentially,
        and `random` (from 0 to 1) takes up to half of it off, so that clients that failed together do not
        come back together.

        Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015 ("equal jitter").
        """
        if asked_for_s is not None:
            return min(asked_for_s, self.max_wait_s)
        return min(self.base_wait_s * 2.0 ** (failures - 1), self.max_wait_s) * (1 - random / 2)


def asked_wait_s(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds from `now` (since 1970) that an answer asks to wait, at least 0; None where it does not.

    `headers` are looked up in lower case. Providers of models send ``retry-after-ms`` beside ``retry-after``,
    and their clients read it first, as it is the more precise one.
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _is_number(milliseconds):
        return float(milliseconds) / 1000
    return parse_retry_after(headers.get("retry-after"), now=now)


def parse_retry_after(value: str | None, *, now: float) -> float | None:
    """Seconds from `now` (since 1970) that a ``Retry-After`` header asks for, at least 0.

    The header holds seconds or an HTTP date (RFC 9110, 10.2.3); None when there is none or it is neither.
    """
    if value is None:
        return None
    value = value.strip()
    if _is_number(value):
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - now)


def _is_number(text: str) -> bool:
    return text.isascii() and text.replace(".", "", 1).isdigit()
