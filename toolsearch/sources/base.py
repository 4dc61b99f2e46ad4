"""`ToolSource`: where tools come from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from toolsearch.tools import Tool


@runtime_checkable
class ToolSource(Protocol):
    """Lists tools: a catalog file, Python functions, a server.

    Public names need nothing from a source: `toolsearch.naming` derives them from `Tool.source` and
    `Tool.raw_name`.
    """

    @property
    def name(self) -> str:
        """Stands for the source in messages."""

    def list_tools(self) -> Iterable[Tool]:
        """The tools, in the source's order."""
