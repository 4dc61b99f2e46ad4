"""LlamaIndex's index of objects over tools, with its in-memory vector store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.objects import ObjectIndex
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel, PrivateAttr

from benchmarks.peers.protocol import Embed, PeerTool, Search


def build(tools: Sequence[PeerTool], k: int, embed: Embed) -> Search:
    """The retriever of an index of these tools."""
    encoder = _Encoder(model_name="minilm")
    encoder._embed = embed
    index = ObjectIndex.from_objects(
        [_as_function(tool) for tool in tools], index_cls=VectorStoreIndex, embed_model=encoder
    )
    retriever = index.as_retriever(similarity_top_k=k)
    return lambda query: [str(found.metadata.name) for found in retriever.retrieve(query)]


def _as_function(tool: PeerTool) -> Any:
    """A tool of its own kind; arguments are models there, so the schema stands in for what one would say."""

    class Arguments(BaseModel):
        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return tool.input_schema

    return FunctionTool.from_defaults(
        fn=_never_run, name=tool.name, description=tool.description, fn_schema=Arguments
    )


def _never_run() -> None:
    raise AssertionError("Tools are searched here, not run.")


class _Encoder(BaseEmbedding):  # type: ignore[misc]  # of a package that only its own environment has
    _embed: Any = PrivateAttr()

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self._embed(texts, "documents")
        return rows

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        row: list[float] = self._embed([query], "queries")[0]
        return row

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)
