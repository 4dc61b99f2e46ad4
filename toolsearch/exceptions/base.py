"""The base of every error that `toolsearch` raises on purpose."""

from __future__ import annotations


class ToolSearchError(Exception):
    """Base of every error that this package raises on purpose."""
