"""What of a query is searched: cleaned, cut to length, or refused."""

from __future__ import annotations

import unicodedata

from toolsearch.exceptions import SearchRequestError
from toolsearch.retrieval.steps import split_steps

MAX_QUERY_CHARACTERS = 2000


def clean_query(query: str) -> tuple[str, str | None]:
    """The text to search for, and what to tell the caller where that is not all of `query`.

    White space is folded, control characters and lone surrogates are dropped, and the text is cut after
    2,000 characters at the end of a word. An encoder may read less: MiniLM takes the first 256 tokens.

    Raises:
        SearchRequestError: no letter or digit is left, so there is nothing to search for.
    """
    text = folded(beginning(query))
    if not any(c.isalnum() for c in text):
        raise SearchRequestError(
            f"The query {query[:40]!r} has no word to search for. Say in a few words what the tool should do."
        )
    return text, _cut_notice(len(query)) if len(query) > MAX_QUERY_CHARACTERS else None


def searched_steps(query: str) -> tuple[str, ...]:
    """The steps of `query` as they are searched for, each once; none where it has but one."""
    steps = dict.fromkeys(folded(step) for step in split_steps(beginning(query)))
    return tuple(steps) if len(steps) > 1 else ()


def beginning(query: str) -> str:
    """As much of `query` as is searched for, as it is written."""
    if len(query) <= MAX_QUERY_CHARACTERS:
        return query
    head = query[:MAX_QUERY_CHARACTERS]
    return head[: head.rfind(" ")] if " " in head else head


def folded(text: str) -> str:
    """`text` in one line with single spaces, without control characters and lone surrogates."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(c for c in text if c.isspace() or unicodedata.category(c)[0] != "C")
    return " ".join(text.split())


def _cut_notice(length: int) -> str:
    return f"The query has {length:,} characters; the first {MAX_QUERY_CHARACTERS:,} were searched for."
