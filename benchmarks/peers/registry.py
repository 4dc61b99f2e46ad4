"""Which peers are compared, what each is installed from, and how it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """A tool search of others.

    Attributes:
        title: As a table calls it.
        module: Of this package: holds ``build(tools, k, embed)``, run in the peer's own environment.
        environment: Names the folder of that environment; peers of one package share it.
        requirements: What is installed there; the first is the package that the table names.
        recorded: Further packages whose release can change a ranking or a time.
        embeds: Given plain all-MiniLM-L6-v2, as it carries no encoder of its own.
        usage: What is called, and every setting that is not its default.
    """

    title: str
    module: str
    environment: str
    requirements: tuple[str, ...]
    recorded: tuple[str, ...]
    embeds: bool
    usage: str

    @property
    def package(self) -> str:
        """The package that the peer is known by, without its version."""
        return self.requirements[0].partition("==")[0]

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages whose versions are written down."""
        named = (requirement.partition("==")[0] for requirement in self.requirements)
        return (*named, *self.recorded)


PEERS: Mapping[str, Peer] = {
    "callbus-bm25": Peer(
        title="callbus, keywords",
        module="benchmarks.peers.callbus_bm25",
        environment="callbus",
        requirements=("callbus==0.3.1",),
        recorded=("bm25s", "numpy"),
        embeds=False,
        usage="`Retriever.search` with its BM25 scorer, what its server answers with before it has vectors",
    ),
    "callbus-dense": Peer(
        title="callbus, dense",
        module="benchmarks.peers.callbus_dense",
        environment="callbus",
        requirements=("callbus==0.3.1",),
        recorded=("bm25s", "numpy"),
        embeds=True,
        usage=(
            "`Retriever.search` with its dense scorer and its own text of a tool, queries as they are: the "
            "instruction that it puts before them is for the 8B encoder that it is meant for, too large here"
        ),
    ),
    "fastmcp": Peer(
        title="FastMCP BM25",
        module="benchmarks.peers.fastmcp_bm25",
        environment="fastmcp",
        requirements=("fastmcp==4.2.3",),
        recorded=("fastmcp-slim",),
        embeds=False,
        usage="`search_tools` of `BM25SearchTransform`, called by an in-memory client",
    ),
    "pydantic-ai": Peer(
        title="Pydantic AI keywords",
        module="benchmarks.peers.pydantic_ai_keywords",
        environment="pydantic-ai",
        requirements=("pydantic-ai-slim==2.68.0",),
        recorded=(),
        embeds=False,
        usage="`search_tools` of the toolset that the capability `ToolSearch` makes",
    ),
    "langgraph-bigtool": Peer(
        title="LangGraph bigtool",
        module="benchmarks.peers.langgraph_bigtool",
        environment="langgraph-bigtool",
        requirements=("langgraph-bigtool==0.0.3", "numpy"),
        recorded=("langgraph",),
        embeds=True,
        usage="`get_default_retrieval_tool` over an `InMemoryStore` of `name: description`, as in its readme",
    ),
    "llama-index": Peer(
        title="LlamaIndex ObjectIndex",
        module="benchmarks.peers.llama_index_objects",
        environment="llama-index",
        requirements=("llama-index-core==0.14.25",),
        recorded=("numpy",),
        embeds=True,
        usage="`ObjectIndex.from_objects` over a `VectorStoreIndex`, its retriever",
    ),
}
