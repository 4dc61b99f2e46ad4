"""Repetition that tries to lift a tool in the ranking.

It is in vain here, as fields are cut and counts saturate, but it costs tokens and tells of the source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from toolsearch.lint.finding import Finding, Rule
from toolsearch.tools import Tool

RANK_STUFFING = Rule(
    code="rank-stuffing",
    severity="warning",
    title="words repeated again and again",
    hint="Say it once: repetition does not rank higher here and costs tokens.",
)

WORD_LIMITS = ((8, 0.25), (4, 0.5))
"""(times, share of all words) from which a word is stuffing; prose names its subject in one word of ten."""
MIN_PHRASE_REPEATS = 4
_PHRASE_WORDS = 4
_SHORTEST_WORD = 4

# Compounds stay whole, as a list of them is no repetition: shiny-button, ripple-button.
_WORD = re.compile(r"[^\W_][\w-]*")


def check_repetition(tool: Tool) -> Iterator[Finding]:
    """Whether the description or the search hint repeats a word or a phrase beyond what prose does."""
    for where, text in (("description", tool.description), ("search_hint", tool.search_hint)):
        words = [word.casefold() for word in _WORD.findall(text)]
        repeated = _repeated_word(words) or _repeated_phrase(words)
        if repeated:
            what, times = repeated
            yield RANK_STUFFING.finding(tool.name, f"Its {where} repeats {what!r} {times} times.")
            return


def _repeated_word(words: list[str]) -> tuple[str, int] | None:
    counts = Counter(word for word in words if len(word) >= _SHORTEST_WORD and not word.isdigit())
    if not counts:
        return None
    ((word, times),) = counts.most_common(1)
    stuffed = any(times >= least and times >= share * len(words) for least, share in WORD_LIMITS)
    return (word, times) if stuffed else None


def _repeated_phrase(words: list[str]) -> tuple[str, int] | None:
    """Four words in a row that come back so often that they are half of the text."""
    phrases = zip(*(words[i:] for i in range(_PHRASE_WORDS)), strict=False)
    counts = Counter(" ".join(phrase) for phrase in phrases)
    if not counts:
        return None
    ((phrase, times),) = counts.most_common(1)
    half = times * _PHRASE_WORDS >= len(words) / 2
    return (phrase, times) if times >= MIN_PHRASE_REPEATS and half else None
