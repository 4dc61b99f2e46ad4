"""JSON with comments and trailing commas, as editors have it in their settings: read, and changed."""

from __future__ import annotations

import re
from collections.abc import Callable

_COMMENTS = re.compile(
    r"""
      (?P<text> "(?:\\.|[^"\\])*" )
    | (?P<comment> //[^\r\n]* | /\*.*?\*/ )
    """,
    re.VERBOSE | re.DOTALL,
)
# Of several commas in a row none is the last of a list: they are kept, for a reader to refuse.
_COMMAS = re.compile(
    r"""
      (?P<text> "(?:\\.|[^"\\])*" | ,(?:\s*,)+ )
    | (?P<comma> , (?= \s* [\]}] ) )
    """,
    re.VERBOSE | re.DOTALL,
)


def plain_json(text: str) -> str:
    """`text` with blanks for comments and for commas that nothing follows; the rest stays in its place."""
    return _blanked(_COMMAS, _blanked(_COMMENTS, text))


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


def _blanked(parts: re.Pattern[str], text: str) -> str:
    """`text` with blanks for all `parts` but those that are text."""
    return parts.sub(lambda part: part[0] if part.lastgroup == "text" else _blank(part[0]), text)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)
