"""When a server that failed is tried again."""

from __future__ import annotations

LONGEST_S = 60.0
STEADY_S = 10.0
"""After so long, or once it has answered a call, a server counts as one that works."""


class Backoff:
    """Waits between tries: 1, 2, 4 seconds and so on to a minute; none after what worked has ended."""

    def __init__(self) -> None:
        self._failures = 0
        self._retry_at = 0.0

    def failed(self, now: float) -> None:
        """Notes that a try failed, or that what it gave broke at once."""
        self._retry_at = now + min(LONGEST_S, 2.0 ** min(self._failures, 10))
        self._failures += 1

    def worked(self) -> None:
        """Forgets earlier failures: the next try may come at once."""
        self._failures = 0
        self._retry_at = 0.0

    def wait_s(self, now: float) -> float:
        """Seconds until the next try."""
        return max(0.0, self._retry_at - now)
