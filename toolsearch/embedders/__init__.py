"""Embedding models behind one protocol: one backend a module, loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolsearch.embedders.base import Embedder
    from toolsearch.embedders.bundled import BundledEmbedder
    from toolsearch.embedders.cache import CachedEmbedder, default_cache_path
    from toolsearch.embedders.endpoint import EmbeddingEndpoint
    from toolsearch.embedders.http import HttpEmbedder
    from toolsearch.embedders.joined import JoinedEmbedder
    from toolsearch.embedders.load import load_embedder
    from toolsearch.embedders.minilm import MiniLmEmbedder
    from toolsearch.embedders.sentence_transformers import SentenceTransformerEmbedder
    from toolsearch.embedders.static import StaticEmbedder
    from toolsearch.embedders.tuned import TunedEmbedder
    from toolsearch.embedders.universal import UniversalEmbedder

__all__ = [
    "BundledEmbedder",
    "CachedEmbedder",
    "Embedder",
    "EmbeddingEndpoint",
    "HttpEmbedder",
    "JoinedEmbedder",
    "MiniLmEmbedder",
    "SentenceTransformerEmbedder",
    "StaticEmbedder",
    "TunedEmbedder",
    "UniversalEmbedder",
    "default_cache_path",
    "load_embedder",
]

_MODULES = {
    "BundledEmbedder": "bundled",
    "CachedEmbedder": "cache",
    "Embedder": "base",
    "EmbeddingEndpoint": "endpoint",
    "HttpEmbedder": "http",
    "JoinedEmbedder": "joined",
    "MiniLmEmbedder": "minilm",
    "SentenceTransformerEmbedder": "sentence_transformers",
    "StaticEmbedder": "static",
    "TunedEmbedder": "tuned",
    "UniversalEmbedder": "universal",
    "default_cache_path": "cache",
    "load_embedder": "load",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
