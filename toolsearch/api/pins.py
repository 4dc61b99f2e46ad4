"""Tools that it would pay to pin."""

from __future__ import annotations

from toolsearch.api.base import Answered


class Pin(Answered):
    """A tool to pin: it costs `tokens` in every round, and saves searches.

    Attributes:
        sessions, share: How many sessions called it, and of all that is this share.
        least_share: The lower bound of its 95 % interval.
        gain_tokens: What pinning it saves a session, at `least_share`.
        name: The public name of the tool.
        tokens: What its definition costs in each round.
    """

    name: str
    sessions: int
    share: float
    least_share: float
    tokens: int
    gain_tokens: float


class PinList(Answered):
    """Tools to pin, those that save most first, and what that was reckoned with.

    Attributes:
        sessions: How many were looked at; too few suggest nothing.
        rounds: Of a session, on average.
        search_tokens: What a search costs.
        pins: Those that save most first.
    """

    sessions: int
    rounds: float
    search_tokens: float
    pins: tuple[Pin, ...] = ()
