"""Text in a definition that a model reads and a person does not see: invisible and encoded characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from toolsearch.delivery.visible import INVISIBLE, hiding_places
from toolsearch.lint.finding import Finding, Rule
from toolsearch.lint.texts import quoted, tool_texts
from toolsearch.tools import Tool

HIDDEN_TEXT = Rule(
    code="hidden-text",
    severity="error",
    title="characters that hide text from people",
    hint="Remove them, or do not trust the source: a model reads what they hide.",
)
INVISIBLE_CHARACTER = Rule(
    code="invisible-character",
    severity="warning",
    title="invisible characters",
    hint="Remove them: they break words apart for the search and cost tokens.",
)
HIDDEN_MARKUP = Rule(
    code="hidden-markup",
    severity="warning",
    title="markup that clients do not show",
    hint="Remove it: a model reads comments and hidden elements, the person who approves a call does not.",
)
ENCODED_BLOB = Rule(
    code="encoded-blob",
    severity="warning",
    title="a long encoded string",
    hint="Leave it out: nobody can review it, no search finds it, and it costs many tokens.",
)

_UNSHOWN = re.compile(
    r"<!--\s{0,9}[^\s>-]+\s{1,9}[^\s>-].*?(?:-->|\Z)"
    r"|^\[[^\]\n]{0,99}\]:\s?(?:#|<>)\s?[\"'(][^\n]*"
    r"|<[^<>]{1,80}style\s?=[^<>]{0,80}(?:display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?0)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_BLOB = re.compile(r"(?<![A-Za-z0-9+/_=.-])[A-Za-z0-9+/_-]{100,}={0,2}")


def check_hidden_text(tool: Tool) -> Iterator[Finding]:
    """The first of each kind of hidden or encoded text in any text of the definition."""
    found: set[str] = set()
    for where, text in tool_texts(tool):
        for rule, what, start, end in _hidden(text):
            if what not in found:
                found.add(what)
                yield rule.finding(tool.name, f"Its {where} holds {what}: {quoted(text, start, end)}.")


def _hidden(text: str) -> Iterator[tuple[Rule, str, int, int]]:
    """(rule, what it is, start, end) for each place."""
    if not text.isascii() or not text.isprintable():
        for what, match in hiding_places(text):
            yield HIDDEN_TEXT, what, *match.span()
        for match in INVISIBLE.finditer(text):
            name = unicodedata.name(match[0], "control character").lower()
            yield INVISIBLE_CHARACTER, f"U+{ord(match[0]):04X} ({name})", *match.span()
    for match in _UNSHOWN.finditer(text):
        yield HIDDEN_MARKUP, "a comment or an element that is not shown", *match.span()
    for match in _BLOB.finditer(text):
        if _is_encoded(match[0]):
            yield ENCODED_BLOB, f"a string of {len(match[0])} encoded characters", *match.span()


def _is_encoded(run: str) -> bool:
    """Whether this reads like Base64 or hexadecimal and not like a path or words in a row."""
    digits = sum(map(str.isdigit, run))
    if re.fullmatch(r"[0-9a-fA-F]+", run):
        return 0.2 < digits / len(run) < 0.95
    mixed = any(map(str.isupper, run)) and any(map(str.islower, run))
    return mixed and digits >= len(run) // 25 and sum(run.count(c) for c in "/-_") <= len(run) // 15
