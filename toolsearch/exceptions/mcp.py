"""Errors of MCP servers; each names its server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolsearch.exceptions.base import ToolSearchError
from toolsearch.exceptions.tools import ToolFailed


class McpError(ToolSearchError):
    """Something about an MCP server; `server` is its name in the configuration, `reason` says what."""

    def __init__(self, server: str, reason: str) -> None:
        self.server = server
        self.reason = reason
        super().__init__(f"MCP server {server!r} {reason}")


class McpConfigError(McpError, ValueError):
    """A configuration of MCP servers that cannot be used.

    Attributes:
        path: The file; None where it comes from none.
        server: The server whose part it is; empty for the whole.
    """

    def __init__(self, reason: str, *, server: str = "", path: Path | str | None = None) -> None:
        super().__init__(server, reason)
        self.path = path
        where = "" if path is None else f"{path}: "
        self.args = (f"{where}MCP server {server!r}: {reason}" if server else f"{where}{reason}",)


class McpConnectionError(McpError):
    """A server that cannot be started or reached. Nothing of the request has run."""


class McpProtocolError(McpError):
    """A server answered what MCP does not allow, or what nobody could use."""


class McpRequestError(McpError):
    """A server refused a request; `code` and `data` are those of its JSON-RPC error."""

    def __init__(self, server: str, message: str, *, code: int, data: Any = None) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(server, f"refused the request: {message}")


class McpLostError(McpError):
    """A request was sent and no answer came: it may have taken effect, and is not sent again."""


class McpCallError(ToolFailed):
    """A call that an MCP server did not answer with a result; the text is meant for the model.

    Attributes:
        server: The server's name in the configuration.
        tool: The raw name of the tool.
        may_have_run: Whether it may have taken effect all the same.
    """

    def __init__(self, server: str, tool: str, reason: str, *, may_have_run: bool) -> None:
        self.server = server
        self.tool = tool
        self.may_have_run = may_have_run
        outcome = (
            "Its outcome is unknown: it may have taken effect. It was not sent again."
            if may_have_run
            else "Nothing was run."
        )
        super().__init__(f"{tool!r} failed: MCP server {server!r} {reason.rstrip('.')}. {outcome}")
