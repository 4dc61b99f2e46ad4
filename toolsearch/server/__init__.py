"""The HTTP service: search, catalog, sessions and their tools for programs in any language."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolsearch.server.app import create_app
    from toolsearch.server.running import serving
    from toolsearch.server.settings import ServerSettings

__all__ = ["ServerSettings", "create_app", "serving"]

_MODULES = {"ServerSettings": "settings", "create_app": "app", "serving": "running"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'toolsearch.server' has no attribute {name!r}")
    return getattr(import_module(f"toolsearch.server.{_MODULES[name]}"), name)
