"""JSON with comments and trailing commas, as editors have it in their settings: read, and changed."""

from __future__ import annotations

import re
from collections.abc import Callable

_PARTS = re.compile(
    r"""
      (?P<text> "(?:\\.|[^"\\])*" )
    | (?P<comment> //[^\r\n]* | /\*.*?\*/ )
    | (?P<comma> , (?= (?: \s | //[^\r\n]* | /\*.*?\*/ )*+ [\]}] ) )
    """,
    re.VERBOSE | re.DOTALL,
)


def plain_json(text: str) -> str:
    """`text` with blanks for comments and for commas that nothing follows; the rest stays in its place."""
    return _PARTS.sub(lambda part: part[0] if part.lastgroup == "text" else _blank(part[0]), text)


def changed_json(text: str, change: Callable[[str], str]) -> str:
    """`text` after a change of one place of its plain form; comments elsewhere stay."""
    before = plain_json(text)
    after = change(before)
    start = _shared(before, after)
    end = _shared(before[start:][::-1], after[start:][::-1])
    return text[:start] + after[start : len(after) - end] + text[len(text) - end :]


def _shared(one: str, other: str) -> int:
    """How many characters the two begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)
