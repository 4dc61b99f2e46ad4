"""Rerankers behind one protocol: one backend a module, loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolsearch.rerankers.base import Reranker
    from toolsearch.rerankers.load import load_reranker
    from toolsearch.rerankers.sentence_transformers import CrossEncoderReranker

__all__ = ["CrossEncoderReranker", "Reranker", "load_reranker"]

_MODULES = {
    "CrossEncoderReranker": "sentence_transformers",
    "Reranker": "base",
    "load_reranker": "load",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
