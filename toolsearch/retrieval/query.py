"""What of a query is searched: cleaned, cut to length, or refused."""

from __future__ import annotations

import unicodedata

from toolsearch.exceptions import SearchRequestError

MAX_QUERY_CHARACTERS = 2000


def clean_query(query: str) -> tuple[str, str | None]:
    """The text to search for, and what to tell the caller where that is not all of `query`.

    White space is folded, control characters and lone surrogates are dropped, and the text is cut after
    2,000 characters at the end of a word. An encoder may read less: MiniLM takes the first 256 tokens.

    Raises:
        SearchRequestError: no letter or digit is left, so there is nothing to search for.
    """
    cut = len(query) > MAX_QUERY_CHARACTERS
    if cut:
        head = query[:MAX_QUERY_CHARACTERS]
        query, notice = head[: head.rfind(" ")] if " " in head else head, _cut_notice(len(query))
    text = " ".join("".join(c for c in query if c.isspace() or unicodedata.category(c)[0] != "C").split())
    if not any(c.isalnum() for c in text):
        raise SearchRequestError(
            f"The query {query[:40]!r} has no word to search for. Say in a few words what the tool should do."
        )
    return text, notice if cut else None


def _cut_notice(length: int) -> str:
    return f"The query has {length:,} characters; the first {MAX_QUERY_CHARACTERS:,} were searched for."
