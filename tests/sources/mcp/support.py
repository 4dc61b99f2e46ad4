"""Servers for tests: real processes and real HTTP on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import uvicorn

from toolsearch.messages import ToolResult
from toolsearch.sources.mcp.servers import McpServers
from toolsearch.tools import JsonObject, ToolContext

SCRIPTED = str(Path(__file__).parent / "servers" / "scripted.py")
ROOT = Path(__file__).parents[3]


def a_tool(name: str, description: str = "", **more: Any) -> JsonObject:
    """A tool as a server lists it."""
    return {"name": name, "description": description or name, "inputSchema": {"type": "object"}, **more}


def tools(*names: str) -> list[JsonObject]:
    return [a_tool(name) for name in names]


def scripted(listed: Sequence[Any] = (), *, settings: JsonObject | None = None, **script: Any) -> JsonObject:
    """A server that does what a test wants it to do wrong; see `servers/scripted.py`."""
    command = json.dumps({"tools": list(listed), **script})
    return {"command": sys.executable, "args": ["-S", SCRIPTED, command], "toolsearch": settings or {}}


def sdk_server(module: str = "shop", **entry: Any) -> JsonObject:
    """A server that is written with the SDK, over stdio."""
    return {
        "command": sys.executable,
        "args": ["-m", f"tests.sources.mcp.servers.{module}"],
        "cwd": str(ROOT),
        **entry,
    }


def servers(options: JsonObject | None = None, /, **entries: JsonObject) -> McpServers:
    return McpServers.from_config({"mcpServers": entries}, **(options or {}))


def call(
    source: McpServers, server: str, tool: str, arguments: JsonObject | None = None, **context: Any
) -> ToolResult:
    """The result of a call, from a thread without an event loop."""
    found = next(each for each in source.catalog.values() if (each.source, each.raw_name) == (server, tool))
    result = found.call_sync(arguments or {}, ToolContext(**context))
    assert isinstance(result, ToolResult)
    return result


def text_of(result: ToolResult) -> str:
    return "".join(part.text for part in result.content if part.kind == "text")


def raw_names(source: McpServers) -> list[str]:
    return sorted(tool.raw_name for tool in source.catalog.values())


def until(is_so: Callable[[], bool], *, within_s: float = 20.0) -> None:
    """Returns once `is_so`, of something outside of this process that tells nobody."""
    ends = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < ends, "it did not come to be"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Whether there is such a process, a zombie among them."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def children(of: int | None = None) -> set[int]:
    """The processes that this one, or another, has started and that are not gone, zombies among them (Linux).

    A number may be another's soon after its process is gone, so nothing else may be killed or counted.
    """
    found: set[int] = set()
    for task in Path(f"/proc/{of or 'self'}/task").iterdir():
        # A thread may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found |= set(map(int, (task / "children").read_text().split()))
    return found


def free_port() -> int:
    """A port that nobody listened at just now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextlib.contextmanager
def served(app: Any, *, port: int = 0, lifespan: Literal["on", "off"] = "on") -> Iterator[str]:
    """The address of an ASGI application on this machine, at any free port or at this one."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=port, log_level="critical", lifespan=lifespan, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    try:
        until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
