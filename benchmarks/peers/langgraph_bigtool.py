"""LangGraph bigtool: its default retrieval tool over an in-memory store with vectors."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph_bigtool.tools import get_default_retrieval_tool

from benchmarks.peers.protocol import Embed, PeerTool, Search

NAMESPACE = ("tools",)


def build(tools: Sequence[PeerTool], k: int, embed: Embed) -> Search:
    """`retrieve_tools` over a store filled as its readme fills one."""
    encoder = _Encoder(embed)
    dim = len(encoder.embed_query("dimension"))
    store = InMemoryStore(index={"embed": encoder, "dims": dim, "fields": ["description"]})
    store.batch(
        [PutOp(NAMESPACE, tool.name, {"description": f"{tool.name}: {tool.description}"}) for tool in tools]
    )
    retrieve, _ = get_default_retrieval_tool(NAMESPACE, limit=k)
    return lambda query: list(retrieve(query, store=store))


class _Encoder(Embeddings):
    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._embed(texts, "documents")

    def embed_query(self, text: str) -> list[float]:
        return self._embed([text], "queries")[0]
