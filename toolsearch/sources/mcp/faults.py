"""What a failure of the SDK or a transport means: which error it is, and what to say."""

from __future__ import annotations

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolsearch.exceptions import (
    McpConnectionError,
    McpError,
    McpLostError,
    McpProtocolError,
    McpRequestError,
)
from toolsearch.sources.mcp.asked import Asked
from toolsearch.sources.mcp.config import McpServerConfig

_MADE_UP = ("Server returned an error response", "Session terminated", "Not Found")
"""What the SDK says for a server that answered with no more than an HTTP status."""

_LOST = ("Connection closed", "SSE stream")
_UNREADABLE = {
    "answered with": "",
    "Failed to parse": "answered with something that is no JSON-RPC message",
    "Unexpected content type": "answered with a content type that MCP does not have",
    "server answered a request with 202": "answered that it will not answer (HTTP status 202)",
}
"""How the messages of unreadable answers begin, ours and the SDK's, and what to say instead."""


def is_answer(exc: MCPError) -> bool:
    """Whether the server itself said this, and not the SDK for it."""
    return exc.message not in _MADE_UP and not exc.message.startswith(_LOST)


def is_session_lost(exc: MCPError, asked: Asked) -> bool:
    """Whether the server knows nothing of the session any more."""
    return asked.status == 404 and exc.message == "Session terminated"


def is_connection_lost(exc: MCPError) -> bool:
    """Whether there is no connection any more."""
    return exc.message.startswith("Connection closed")


def request_error(server: str, exc: MCPError, asked: Asked, *, last_words: str) -> McpError:
    """What became of a request, by what the SDK raised and what HTTP saw."""
    if asked.failure or (asked.status and exc.message in _MADE_UP):
        kind = McpConnectionError if asked.is_refused else McpLostError
        return kind(server, f"{asked.reason}.")
    if exc.message.startswith(_LOST):
        return McpLostError(server, f"ended the connection before it answered.{told(last_words)}")
    for beginning, said in _UNREADABLE.items():
        if exc.code in {types.PARSE_ERROR, types.INVALID_REQUEST} and exc.message.startswith(beginning):
            return McpProtocolError(server, f"{said or exc.message}.")
    return McpRequestError(server, exc.message, code=exc.code, data=exc.data)


def unreadable(server: str, method: str, exc: ValidationError) -> McpProtocolError:
    """An answer that has not the form that MCP gives it."""
    return McpProtocolError(
        server, f"answered {method} with something that MCP does not allow: {_first(exc)}."
    )


def connection_reason(exc: BaseException, config: McpServerConfig, asked: Asked, *, last_words: str) -> str:
    """Why there is no connection."""
    first = exc
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    last = told(last_words)
    if asked.reason:
        return f"{asked.reason}.{last}"
    if isinstance(first, FileNotFoundError):
        where = config.cwd if first.filename == config.cwd else config.command
        return f"cannot be started: there is no {where!r}. Check its command and cwd."
    if isinstance(first, OSError):
        return f"cannot be started: {first.strerror or first}."
    if isinstance(first, MCPError):
        if first.message.startswith(_LOST):
            return f"ended before it was ready.{last}"
        return f"refused the connection: {first.message:.300}.{last}"
    if isinstance(first, ValidationError):
        return f"greeted with something that MCP does not allow: {_first(first)}.{last}"
    return f"cannot be reached ({type(first).__name__}).{last}"


def told(last_words: str) -> str:
    """A sentence with what a process wrote last; empty where it wrote nothing."""
    return f" Its last words: {last_words}" if last_words else ""


def _first(exc: ValidationError) -> str:
    """What is wrong first, and where, without the value."""
    fault = exc.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc'][-3:]))}: {fault['msg']:.120}"
