"""How a searcher is taught what became of the tools of a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from toolsearch.api.usage import Outcome
from toolsearch.checks import check_choice
from toolsearch.embedders.base import Embedder, Vectors, as_unit_rows, cosine_scale
from toolsearch.exceptions import UnknownToolError
from toolsearch.retrieval.query import clean_query
from toolsearch.retrieval.usage import LearnedUsage, UsageEvent

if TYPE_CHECKING:
    from toolsearch.retrieval.searcher import ToolSearcher

MAX_TAUGHT = 16


def learn(
    searcher: ToolSearcher,
    queries: str | Sequence[str],
    tool: str,
    outcome: Outcome = "succeeded",
    *,
    session_id: str = "",
    tenant: str = "",
) -> tuple[UsageEvent, ...]:
    """What was learned, one event for each query that the encoder reads; it counts from the next search on.

    Args:
        queries: The request, or the searches that led to the tool; one to 16 texts.
        tool: Public name.
        outcome: ``called``, ``succeeded`` or ``failed``; ``relevant`` or ``irrelevant`` for a judgement.
        session_id: The conversation. One counts once for a tool, however often it calls it; requests without
            one count together, hour by hour.
        tenant: On whose behalf: only searches of this tenant are changed.

    Raises:
        UnknownToolError: the index has no such tool.
        SearchRequestError: a query has no word.
        EmbeddingError: the encoder failed.
        ValueError: the searcher has no `usage`, the outcome is none, or there are too many queries or none.
    """
    usage, embedder, index = searcher.usage, searcher.embedder, searcher.index
    if usage is None or embedder is None:
        raise ValueError("The searcher does not learn. Give it usage=LearnedUsage().")
    check_choice("outcome", outcome, Outcome)
    texts = [queries] if isinstance(queries, str) else list(queries)
    if not 1 <= len(texts) <= MAX_TAUGHT:
        raise ValueError(f"There are {len(texts)} queries; give from 1 to {MAX_TAUGHT}.")
    row = index.row_of(tool)
    if row is None:
        raise UnknownToolError(
            tool, tuple(index.columns.names[near] for near in index.name_index.near(tool, 3))
        )
    cleaned = (clean_query(text)[0] for text in texts)
    texts = [text for text in dict.fromkeys(cleaned) if can_compare(embedder, text)]
    if not texts:
        return ()
    # In half precision, as it is kept: then a request is the same one when it is read again.
    vectors = [row.astype(np.float16).astype(np.float32) for row in _rows(usage, embedder, texts, tenant)]
    document = index.columns.facts["document_digest"][row].tobytes()
    now = usage.now()
    events = tuple(
        UsageEvent(tool, document, outcome, vector, session_id=session_id, tenant=tenant, at=now)
        for vector in vectors
    )
    for event in events:
        usage.learn(event)
    return events


def _rows(usage: LearnedUsage, embedder: Embedder, texts: Sequence[str], tenant: str) -> list[Vectors]:
    """The unit row of each text, embedded where the tenant has not searched for it lately."""
    known = {text: usage.remembered(tenant, text) for text in texts}
    unknown = [text for text, row in known.items() if row is None]
    if unknown:
        found = embedder.embed_queries(unknown)
        rows = as_unit_rows(found, n=len(unknown), dim=embedder.dim, embedder_id=embedder.id)
        known |= dict(zip(unknown, rows, strict=True))
    return [row for row in known.values() if row is not None]


def can_compare(embedder: Embedder | None, text: str) -> bool:
    """Whether the vector of a request says what it is about, so that requests can be compared.

    Texts that an encoder cannot read are all alike to it. What is half read by an embedder of two encoders
    is read by its second one.
    """
    return embedder is not None and (embedder.reads(text) > 0.5 or cosine_scale(embedder) != 1)
