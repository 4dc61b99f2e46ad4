"""What API keys allow; apart, so that the command line names it without loading the wire models."""

from __future__ import annotations

from enum import StrEnum


class KeyScope(StrEnum):
    """What a key may do: find and read, change the catalog, call tools, everything."""

    SEARCH = "search"
    MANAGE = "manage"
    CALL = "call"
    ADMIN = "admin"
