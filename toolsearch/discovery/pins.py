"""Which tools to pin: those that so many sessions call that sending them always costs less than searching."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

LEAST_SESSIONS = 10
"""Fewer sessions say too little to pin anything."""

ROUNDS = 4.0
"""Rounds of a session where nobody has counted them."""

SEARCH_TOKENS = 600.0
"""What a search adds to a conversation where nobody has counted it: its call, and a result of five tools."""

_Z = 1.96
"""Of a 95 % interval."""


@dataclass(frozen=True)
class PinSuggestion:
    """A tool to pin.

    Attributes:
        sessions: How many sessions called it.
        share: Of all sessions; `least_share` is the lower bound of its 95 % interval.
        tokens: Of its definition.
        gain_tokens: What pinning it saves a session, at `least_share`.
    """

    name: str
    sessions: int
    share: float
    least_share: float
    tokens: int
    gain_tokens: float


def suggest_pins(
    called: Iterable[Collection[str]],
    tokens: Mapping[str, int],
    *,
    rounds: float = ROUNDS,
    search_tokens: float = SEARCH_TOKENS,
    least_sessions: int = LEAST_SESSIONS,
) -> tuple[PinSuggestion, ...]:
    """The tools whose pinning saves tokens, those that save most first, ties by name.

    A pinned tool is sent in every round. One that is not is searched for by the share of sessions that call
    it, and then sent in about half of the rounds that are left::

        gain = share * (search_tokens + tokens * (rounds - 1) / 2) - rounds * tokens

    `share` is the lower bound of the 95 % interval, so that a few sessions do not pin a tool.

    Args:
        called: For each session the public names of the tools that it called, none too.
        tokens: Of the definition of each tool that may be suggested.
        rounds: Of a session, on average.
        search_tokens: What one search costs: its call, its result, and what of the prompt is paid again for
            the round that it takes.
        least_sessions: With fewer sessions nothing is suggested.

    Source: Wilson, Journal of the American Statistical Association 22, 1927, for the interval.
    """
    sessions = [set(names) for names in called]
    if len(sessions) < least_sessions:
        return ()
    found = []
    for name, n in Counter(name for names in sessions for name in names).items():
        if name not in tokens:
            continue
        low, cost = wilson_lower(n, len(sessions)), tokens[name]
        gain = low * (search_tokens + cost * (rounds - 1) / 2) - rounds * cost
        if gain > 0:
            found.append(PinSuggestion(name, n, n / len(sessions), low, cost, gain))
    return tuple(sorted(found, key=lambda pin: (-pin.gain_tokens, pin.name)))


def wilson_lower(successes: int, n: int) -> float:
    """The lower bound of the 95 % interval of a share; 0 for none of none."""
    if n == 0:
        return 0.0
    share, z2 = successes / n, _Z**2
    middle = share + z2 / (2 * n)
    return max((middle - _Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n), 0.0)
