"""Which tools a reader would call the same: such must not be trained apart."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from toolsearch.index.text import tokenize
from toolsearch.naming import split_words
from toolsearch.tools import Tool

SAME_SHARE = 0.8
"""Share of the words of two descriptions, of all that either has, from which they count as the same."""
_OPENING_WORDS = 6
_CHARACTERS = 2000
# Each tool is held against so many before it in a block: enough for versions and mirrors of one tool.
_LARGEST_BLOCK = 24


def duplicate_keys(tools: Sequence[Tool], groups: Iterable[Sequence[int]] = ()) -> tuple[str, ...]:
    """For each tool a key, equal for near-duplicates.

    These are tools of one of the given `groups`; of equal name and description; or whose names or first
    words are equal and that share `SAME_SHARE` of the words of name and description.
    """
    parents = list(range(len(tools)))

    def find(row: int) -> int:
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    def join(a: int, b: int) -> None:
        low, high = sorted((find(a), find(b)))
        parents[high] = low

    keys = [_text_key(tool) for tool in tools]
    for group in groups:
        for row in group[1:]:
            join(group[0], row)
    for block in _blocks(keys).values():
        for row in block[1:]:
            join(block[0], row)
    words = [frozenset(_tokens(tool)) for tool in tools]
    for alike in (_names(tools), _openings(tools)):
        for block in _blocks(alike).values():
            for a, b in combinations(block[:_LARGEST_BLOCK], 2):
                if find(a) != find(b) and _overlap(words[a], words[b]) >= SAME_SHARE:
                    join(a, b)
    return tuple(keys[find(row)] for row in range(len(tools)))


def _tokens(tool: Tool) -> list[str]:
    return tokenize(f"{tool.raw_name}\n{tool.description}"[:_CHARACTERS])


def _text_key(tool: Tool) -> str:
    """Equal for tools of equal name and description, whatever their source; 16 hex digits."""
    plain = " ".join(_tokens(tool))
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Jaccard's share of common words."""
    return len(a & b) / len(a | b) if a | b else 0.0


def _blocks(labels: Sequence[str]) -> dict[str, list[int]]:
    blocks: dict[str, list[int]] = defaultdict(list)
    for row, label in enumerate(labels):
        if label:
            blocks[label].append(row)
    return blocks


def _names(tools: Sequence[Tool]) -> list[str]:
    return [" ".join(split_words(tool.raw_name)).lower() for tool in tools]


def _openings(tools: Sequence[Tool]) -> list[str]:
    return [" ".join(tool.description.lower().split()[:_OPENING_WORDS]) for tool in tools]
