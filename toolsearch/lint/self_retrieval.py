"""Tools that are not found by what they say of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import SearchRequestError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.lint.finding import Finding, Rule, shortened
from toolsearch.lint.similar import near_duplicates
from toolsearch.retrieval.query import clean_query
from toolsearch.retrieval.ranking import rank, wordings

NOT_SELF_RETRIEVED = Rule(
    code="not-self-retrieved",
    severity="warning",
    title="tools that their own description does not find",
    hint="Let the first sentence name what the tool acts on and what sets it apart from those that win.",
)

TOP = 5
MIN_WORDS = 3
MAX_CHARACTERS = 200

_SENTENCE_END = re.compile(r"(?<=[^\W_]{2}[.!?])\s|(?<=[。！？])|\n")


def check_self_retrieval(index: ToolIndex, embedder: Embedder) -> Iterator[Finding]:
    """Tools that the first sentence of their description does not bring among the first five.

    Names in the sentence do not count, so that it is judged by what it says, and near-duplicates that come
    first are passed over. Descriptions of fewer than three words are not asked.

    Raises:
        EmbeddingError: the embedder failed.
    """
    sentences = {row: first_sentence(index.tool(row).description) for row in range(len(index))}
    asked = {row: text for row, text in sentences.items() if _says_something(text)}
    if not asked:
        return
    texts = list(asked.values())
    vectors = dict(zip(texts, embedder.embed_queries(texts), strict=True))
    worded = wordings(index, texts, vectors, embedder, None)
    alike = near_duplicates(index)
    for row, text in asked.items():
        ranking = rank(index, worded[text], None, names=False)
        ranked = ranking.rows.tolist()
        place = ranked.index(row) if row in ranked else len(ranked)
        better = [other for other in ranked[:place] if other not in alike.get(row, ())]
        if len(better) >= TOP:
            names = [index.tool(other).name for other in better]
            yield NOT_SELF_RETRIEVED.finding(
                index.tool(row).name,
                f"Its own first sentence finds {len(better)} other tools first: {shortened(names, 3)}.",
            )


def first_sentence(description: str) -> str:
    """The first sentence as a query, cut after 200 characters; empty where there is nothing to search for."""
    text = _SENTENCE_END.split(description.strip(), maxsplit=1)[0][:MAX_CHARACTERS]
    try:
        return clean_query(text)[0]
    except SearchRequestError:
        return ""


def _says_something(sentence: str) -> bool:
    """Scripts without spaces between words are taken at their word."""
    return len(sentence.split()) >= MIN_WORDS or (bool(sentence) and not sentence.isascii())
