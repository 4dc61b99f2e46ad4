"""callbus with its dense scorer over vectors that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from callbus.adapters.dense import DenseScorer

from benchmarks.peers.callbus_bm25 import retriever_of
from benchmarks.peers.protocol import Embed, PeerTool, Search


def build(tools: Sequence[PeerTool], k: int, embed: Embed) -> Search:
    """Its retriever over the tools as its ingestion writes them."""
    encoder = _Encoder(embed)
    retriever = retriever_of(tools, lambda: DenseScorer(encoder, "documentation", "plain"))
    return lambda query: [hit.id for hit in retriever.search(query, k=k).hits]


class _Encoder:
    """Its port `TextEncoder`."""

    name = "minilm"

    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    def encode(self, texts: Sequence[str], *, kind: str = "document") -> Any:
        rows = self._embed(texts, "documents" if kind == "document" else "queries")
        return np.array(rows, dtype=np.float32)
