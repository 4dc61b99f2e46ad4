"""callbus with its BM25 scorer, as its server answers while it has no vectors."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from callbus.adapters.bm25 import BM25Scorer
from callbus.datasets.jsonl import write_tools
from callbus.domain import Tool
from callbus.ingest.text import tool_text
from callbus.retriever import Retriever

from benchmarks.peers.protocol import Embed, PeerTool, Search


def build(tools: Sequence[PeerTool], k: int, embed: Embed) -> Search:
    """Its retriever over the tools as its ingestion writes them."""
    del embed
    retriever = retriever_of(tools, lambda: BM25Scorer("documentation", "plain"))

    def search(query: str) -> list[str]:
        # BM25 pads its list with tools that share no word with the query; its server leaves them out.
        return [hit.id for hit in retriever.search(query, k=k).hits if hit.score > 0]

    return search


def retriever_of(tools: Sequence[PeerTool], make_scorer: Callable[[], Any]) -> Any:
    """Its retriever with that scorer; the folder that it reads tools from may go once they are read."""
    with tempfile.TemporaryDirectory() as folder:
        write_tools(Path(folder) / "tools.jsonl", [_ingested(tool) for tool in tools])
        return Retriever(folder, make_scorer)


def _ingested(tool: PeerTool) -> Any:
    text = tool_text(tool.server, tool.raw_name, tool.description, tool.input_schema)
    return Tool(id=tool.name, doc=json.loads(text), documentation=text, category=tool.server)
