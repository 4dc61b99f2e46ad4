"""`mcp_server`: any tools as a server of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from toolsearch import __version__
from toolsearch.advisors.failures import ErrorPolicy, ToolFailure
from toolsearch.advisors.manager import CALL_TIMEOUT_S, ToolCallingManager
from toolsearch.given import Tools

if TYPE_CHECKING:
    from mcp.server import Server, ServerRequestContext

    from toolsearch.serving.tool_server import ToolServer

PROGRESS = "report_progress"
"""Where `ToolContext.state` has what tells clients how far a call is: ``await report(done, total, text)``."""

_SESSION_HEADER = "mcp-session-id"


def mcp_server(
    tools: Tools,
    *,
    name: str = "toolsearch",
    version: str = "",
    instructions: str = "",
    state: Mapping[str, Any] | None = None,
    errors: ErrorPolicy | None = None,
    call_timeout_s: float | None = CALL_TIMEOUT_S,
    on_failure: Callable[[ToolFailure], None] | None = None,
    page_size: int | None = None,
) -> ToolServer:
    """A server of the official SDK with `tools` under their public names, in their order.

    `serving.mcp_transports` runs it; so does whatever runs servers of the SDK. Its method ``change`` gives it
    other tools while it is served, of which its clients are told.

    A tool is given a `ToolContext` with the client's session, the id of the request, and in `state` the
    coroutine function ``report_progress``. A call that the client cancels is cancelled: a coroutine ends, a
    thread runs to its end and its result is dropped. What a tool raises comes as an error result, in words of
    `errors`, and so does a result that does not fit its tool's output schema; a tool that is not there is an
    error of the protocol.

    Args:
        name, version, instructions: What the server says of itself; by default the version of this package.
        state: Further values of `ToolContext.state`.
        errors: Which exceptions the client reads.
        call_timeout_s: Seconds that a call may take where its tool says nothing else; None for any number.
        on_failure: Called with each exception of a tool, in full.
        page_size: The most tools of a page of the list; None for all in one, as some clients read no other.

    Raises:
        ValueError: a page size below 1.
        TypeError: something that is no tool.
        DuplicateToolError: two tools share a public name.
        DefinitionError: a tool has no `call`, or none can be made of a function.
        ImportError: the extra ``mcp`` is not installed.
    """
    if find_spec("mcp") is None:
        raise ImportError("An MCP server needs the package mcp. Install it: pip install 'toolsearch[mcp]'")
    from toolsearch.serving.tool_server import ToolServer

    return ToolServer(
        tools,
        name=name,
        version=version or __version__,
        instructions=instructions,
        state=dict(state or {}),
        manager=ToolCallingManager(errors=errors, call_timeout_s=call_timeout_s, on_failure=on_failure),
        on_failure=on_failure,
        page_size=page_size,
    )


@asynccontextmanager
async def connection_id(server: Server[Any]) -> AsyncIterator[str]:
    """An id for the one client of a server on standard input and output."""
    del server
    yield uuid4().hex


def session_id_of(request: ServerRequestContext[str]) -> str:
    """The client's session: of HTTP where it has one, else of the connection."""
    if request.request is None:
        return request.lifespan_context
    return str(request.request.headers.get(_SESSION_HEADER, ""))
