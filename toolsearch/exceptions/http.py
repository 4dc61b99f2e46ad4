"""Errors of requests over HTTP."""

from __future__ import annotations

from toolsearch.exceptions.base import ToolSearchError


class AddressRefusedError(ToolSearchError):
    """A request to where none may go, so nothing was sent; `host` is that of its URL."""

    def __init__(self, host: str, reason: str) -> None:
        self.host = host
        self.reason = reason
        super().__init__(f"Nothing was sent to {host!r}: {reason}")
