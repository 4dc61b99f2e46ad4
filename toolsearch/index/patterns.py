"""Regular expressions over texts, safe for patterns that a model wrote."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import regex

from toolsearch.exceptions import SearchRequestError

MAX_PATTERN = 200
"""Characters of a pattern. Longer ones, and deeper nesting, would take long to compile."""


@dataclass(frozen=True)
class PatternMatches:
    """Where a pattern occurs.

    Attributes:
        rows: Positions of the texts that it occurs in, ascending.
        notice: Says so where the pattern was sought as plain text; else empty.
    """

    rows: tuple[int, ...]
    notice: str = ""


def match_pattern(pattern: str, texts: Sequence[str], *, timeout_s: float = 0.25) -> PatternMatches:
    """The texts that `pattern` occurs in, case aside.

    A pattern that is no regular expression is sought as it stands, and the notice says so. Other threads
    run while it matches.

    Raises:
        SearchRequestError: the pattern is longer than `MAX_PATTERN`, or not done after `timeout_s` seconds
            of work (a machine that is busy with other things takes longer).
    """
    if len(pattern) > MAX_PATTERN:
        raise SearchRequestError(
            f"The pattern has {len(pattern)} characters, {MAX_PATTERN} are allowed. Search for fewer words."
        )
    deadline = time.monotonic() + timeout_s
    notice = ""
    try:
        expression = regex.compile(pattern, regex.IGNORECASE)
    except (regex.error, RecursionError, OverflowError) as exc:
        expression = regex.compile(regex.escape(pattern), regex.IGNORECASE)
        notice = f"{pattern!r} is no regular expression ({exc}); it was sought as plain text."
    rows = []
    for row, text in enumerate(texts):
        try:
            # A limit of 0 would mean none.
            found = expression.search(text, timeout=max(deadline - time.monotonic(), 1e-6))
        except TimeoutError:
            raise SearchRequestError(
                f"The pattern {pattern!r} took more than {timeout_s:g} s. Search in plain words, or without "
                "repeats inside of repeats such as (a+)+."
            ) from None
        if found:
            rows.append(row)
    return PatternMatches(tuple(rows), notice)
