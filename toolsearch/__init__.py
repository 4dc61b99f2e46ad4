"""Semantic tool search for large tool catalogs: give a model the tools it needs, not all of them.

    >>> from toolsearch import BundledEmbedder, SearchRequest, ToolSearcher, build_index, read_catalog
    >>> catalog = read_catalog("tools.jsonl").catalog
    >>> embedder = BundledEmbedder()
    >>> searcher = ToolSearcher(build_index(catalog, embedder), embedder)
    >>> searcher.search(SearchRequest(queries=("refund an order",))).names

Names are loaded when they are first used: ``import toolsearch`` loads neither FAISS nor ONNX.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolsearch.adapters.session import ToolSearchSession
    from toolsearch.adapters.wrap import wrap
    from toolsearch.advisors.approval import ApprovalAdvisor
    from toolsearch.advisors.base import Approve, Deny, Edit
    from toolsearch.advisors.chain import AdvisorChain
    from toolsearch.advisors.limits import LoopLimits
    from toolsearch.advisors.manager import ToolCallingManager
    from toolsearch.advisors.memory import MemoryAdvisor
    from toolsearch.advisors.paused import PausedRun
    from toolsearch.advisors.tool_calling import ToolCallingAdvisor
    from toolsearch.advisors.tool_search import ToolSearchAdvisor
    from toolsearch.catalog import Catalog, CatalogDiff
    from toolsearch.chat.base import ChatRequest
    from toolsearch.chat.load import load_chat_model
    from toolsearch.client.asynchronous import AsyncClient
    from toolsearch.client.synchronous import Client
    from toolsearch.embedders.base import Embedder
    from toolsearch.embedders.bundled import BundledEmbedder
    from toolsearch.embedders.cache import CachedEmbedder
    from toolsearch.embedders.http import HttpEmbedder
    from toolsearch.embedders.load import load_embedder
    from toolsearch.embedders.sentence_transformers import SentenceTransformerEmbedder
    from toolsearch.evaluation.datasets import load_dataset
    from toolsearch.evaluation.runner import evaluate
    from toolsearch.exceptions import ToolFailed, ToolRetry, ToolSearchError
    from toolsearch.formats import read_tools, write_tools
    from toolsearch.functions.decorator import tool
    from toolsearch.index.tool_index import ToolIndex
    from toolsearch.messages import AssistantMessage, SystemMessage, ToolMessage, ToolResult, UserMessage
    from toolsearch.naming import public_name
    from toolsearch.retrieval.base import Retriever, ScoredTool, SearchRequest, SearchResult
    from toolsearch.retrieval.building import build_index, update_index
    from toolsearch.retrieval.lazy import CatalogSearcher
    from toolsearch.retrieval.permission import ToolFilter
    from toolsearch.retrieval.searcher import ToolSearcher
    from toolsearch.retrieval.usage import LearnedUsage
    from toolsearch.router import ToolRouter
    from toolsearch.serving.mcp_tools import mcp_server
    from toolsearch.sources.files import LoadedCatalog, read_catalog
    from toolsearch.sources.mcp.servers import McpServers
    from toolsearch.sources.openapi import OpenApiSource, load_openapi
    from toolsearch.tokens import catalog_tokens, count_tokens
    from toolsearch.tools import Tool, ToolContext, ToolDefinition

_MODULES = {
    "AdvisorChain": "advisors.chain",
    "ApprovalAdvisor": "advisors.approval",
    "Approve": "advisors.base",
    "AssistantMessage": "messages",
    "AsyncClient": "client.asynchronous",
    "BundledEmbedder": "embedders.bundled",
    "CachedEmbedder": "embedders.cache",
    "Catalog": "catalog",
    "CatalogDiff": "catalog",
    "CatalogSearcher": "retrieval.lazy",
    "ChatRequest": "chat.base",
    "Client": "client.synchronous",
    "Deny": "advisors.base",
    "Edit": "advisors.base",
    "Embedder": "embedders.base",
    "HttpEmbedder": "embedders.http",
    "LearnedUsage": "retrieval.usage",
    "LoadedCatalog": "sources.files",
    "LoopLimits": "advisors.limits",
    "McpServers": "sources.mcp.servers",
    "MemoryAdvisor": "advisors.memory",
    "OpenApiSource": "sources.openapi",
    "PausedRun": "advisors.paused",
    "Retriever": "retrieval.base",
    "ScoredTool": "retrieval.base",
    "SearchRequest": "retrieval.base",
    "SearchResult": "retrieval.base",
    "SentenceTransformerEmbedder": "embedders.sentence_transformers",
    "SystemMessage": "messages",
    "Tool": "tools",
    "ToolCallingAdvisor": "advisors.tool_calling",
    "ToolCallingManager": "advisors.manager",
    "ToolContext": "tools",
    "ToolDefinition": "tools",
    "ToolFailed": "exceptions",
    "ToolFilter": "retrieval.permission",
    "ToolIndex": "index.tool_index",
    "ToolMessage": "messages",
    "ToolResult": "messages",
    "ToolRetry": "exceptions",
    "ToolRouter": "router",
    "ToolSearchAdvisor": "advisors.tool_search",
    "ToolSearchError": "exceptions",
    "ToolSearchSession": "adapters.session",
    "ToolSearcher": "retrieval.searcher",
    "UserMessage": "messages",
    "build_index": "retrieval.building",
    "catalog_tokens": "tokens",
    "count_tokens": "tokens",
    "evaluate": "evaluation.runner",
    "load_chat_model": "chat.load",
    "load_dataset": "evaluation.datasets",
    "load_embedder": "embedders.load",
    "load_openapi": "sources.openapi",
    "mcp_server": "serving.mcp_tools",
    "public_name": "naming",
    "read_catalog": "sources.files",
    "read_tools": "formats",
    "tool": "functions.decorator",
    "update_index": "retrieval.building",
    "wrap": "adapters.wrap",
    "write_tools": "formats",
}

__version__ = "0.1.0"

__all__ = [
    "AdvisorChain",
    "ApprovalAdvisor",
    "Approve",
    "AssistantMessage",
    "AsyncClient",
    "BundledEmbedder",
    "CachedEmbedder",
    "Catalog",
    "CatalogDiff",
    "CatalogSearcher",
    "ChatRequest",
    "Client",
    "Deny",
    "Edit",
    "Embedder",
    "HttpEmbedder",
    "LearnedUsage",
    "LoadedCatalog",
    "LoopLimits",
    "McpServers",
    "MemoryAdvisor",
    "OpenApiSource",
    "PausedRun",
    "Retriever",
    "ScoredTool",
    "SearchRequest",
    "SearchResult",
    "SentenceTransformerEmbedder",
    "SystemMessage",
    "Tool",
    "ToolCallingAdvisor",
    "ToolCallingManager",
    "ToolContext",
    "ToolDefinition",
    "ToolFailed",
    "ToolFilter",
    "ToolIndex",
    "ToolMessage",
    "ToolResult",
    "ToolRetry",
    "ToolRouter",
    "ToolSearchAdvisor",
    "ToolSearchError",
    "ToolSearchSession",
    "ToolSearcher",
    "UserMessage",
    "__version__",
    "build_index",
    "catalog_tokens",
    "count_tokens",
    "evaluate",
    "load_chat_model",
    "load_dataset",
    "load_embedder",
    "load_openapi",
    "mcp_server",
    "public_name",
    "read_catalog",
    "read_tools",
    "tool",
    "update_index",
    "wrap",
    "write_tools",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'toolsearch' has no attribute {name!r}")
    value = getattr(import_module(f"toolsearch.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
