"""Vectors of many documents: each text once, in calls of a bounded size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolsearch.embedders.base import Embedder, Progress, Vectors, as_unit_rows

MAX_TEXTS_PER_CALL = 512
"""What one call of an embedder gets at most; hosted ones refuse more."""


def embed_in_chunks(
    documents: Sequence[str], embedder: Embedder, *, progress: Progress | None = None
) -> Vectors:
    """Unit rows (n, dim) in the order of `documents`; equal documents have equal rows.

    `progress` counts the different texts; it is called after each call of the embedder, if not more often.

    Raises:
        EmbeddingError: the embedder failed, or answered something that is no embedding.
    """
    # Texts of like length together leave an embedder little to pad.
    texts = sorted(dict.fromkeys(documents), key=len)
    rows = np.empty((len(texts), embedder.dim), dtype=np.float32)
    for start in range(0, len(texts), MAX_TEXTS_PER_CALL):
        chunk = texts[start : start + MAX_TEXTS_PER_CALL]

        def within(done: int, _: int, start: int = start) -> None:
            if progress is not None:
                progress(start + done, len(texts))

        answer = embedder.embed_documents(chunk, progress=within)
        rows[start : start + len(chunk)] = as_unit_rows(
            answer, n=len(chunk), dim=embedder.dim, embedder_id=embedder.id
        )
        within(len(chunk), len(chunk))
    row_of = {text: row for row, text in enumerate(texts)}
    return rows[[row_of[document] for document in documents]]
