"""Errors of the definitions that somebody has approved."""

from __future__ import annotations

from pathlib import Path

from toolsearch.exceptions.base import ToolSearchError


class TrustError(ToolSearchError, ValueError):
    """A trust file that cannot be used, or not as asked; `path` names it."""

    def __init__(self, path: Path | str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"Trust file {str(path)!r}: {reason}")
