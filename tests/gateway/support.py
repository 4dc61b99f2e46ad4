"""Gateways for tests: as processes that clients start, and over real HTTP in this one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import uvicorn
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.sources.mcp.support import ROOT, scripted, sdk_server
from toolsearch.gateway.gateway import Gateway
from toolsearch.gateway.sources import GatewaySources
from toolsearch.serving.mcp_transports import PATH, http_app
from toolsearch.sources.mcp.config import read_mcp_config
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import JsonObject

LETTERS = [
    {
        "name": "send_letter",
        "description": "Send a letter by post",
        "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}},
    }
]


def two_servers() -> JsonObject:
    return {"shop": sdk_server(), "post": scripted(LETTERS)}


def gateway_of(folder: Path, entries: JsonObject | None = None, **options: Any) -> Gateway:
    """A gateway in this process; by default in front of two servers."""
    configs = read_mcp_config({"mcpServers": two_servers() if entries is None else entries})
    sources = options.pop("sources", None) or GatewaySources(configs)
    # However busy the machine is, no server is late.
    options = {"wait_s": 120.0, "embedder": HashingEmbedder, **options}
    return Gateway(sources, folder=folder / "state", **options)


@asynccontextmanager
async def served(gateway: Gateway, **settings: Any) -> AsyncIterator[str]:
    """The address of a gateway, which is opened and served over HTTP in the running loop."""
    app = http_app(gateway.server, **settings)
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="critical", lifespan="on", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    async with gateway:
        running = asyncio.create_task(server.serve())
        try:
            await until(lambda: server.started)
            port = server.servers[0].sockets[0].getsockname()[1]
            yield f"http://127.0.0.1:{port}{PATH}"
        finally:
            server.should_exit = True
            await running


def as_process(folder: Path, entries: JsonObject | None = None, *arguments: str) -> StdioServerParameters:
    """What starts a gateway as clients do; by default in front of two servers."""
    config = folder / "mcp.json"
    config.write_text(
        json.dumps({"mcpServers": two_servers() if entries is None else entries}), encoding="utf-8"
    )
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "tests.gateway.started", str(config), "--state", str(folder / "state"), *arguments],
        cwd=str(ROOT),
        env={
            "PATH": os.environ["PATH"],
            "TOOLSEARCH_CACHE_DIR": str(folder / "cache"),
            "TOOLSEARCH_CONFIG_DIR": str(folder / "config"),
        },
    )


@asynccontextmanager
async def connected(
    transport: Literal["stdio", "http"],
    folder: Path,
    entries: JsonObject | None = None,
    *,
    mode: str = "bridge",
    protocol: Literal["legacy", "auto"] = "legacy",
    **client: Any,
) -> AsyncIterator[Client]:
    """A client of the official SDK, connected to a gateway in front of these servers."""
    if transport == "stdio":
        with (folder / "gateway.log").open("w") as log:
            started = stdio_client(as_process(folder, entries, "--mode", mode), errlog=log)
            async with Client(started, mode=protocol, **client) as opened:
                yield opened
        return
    async with (
        served(gateway_of(folder, entries, mode=mode)) as url,
        Client(streamable_http_client(url), mode=protocol, **client) as opened,
    ):
        yield opened


async def until(is_so: Callable[[], Any], *, within_s: float = 20.0) -> None:
    """Returns once `is_so`, of something that tells nobody."""
    async with asyncio.timeout(within_s):
        while not is_so():
            await asyncio.sleep(0.01)


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


def names_of(result: types.ListToolsResult) -> list[str]:
    return [tool.name for tool in result.tools]
