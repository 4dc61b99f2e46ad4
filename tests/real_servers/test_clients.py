"""Clients that nobody here wrote, with a gateway in front of real servers and with tools of Python."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from tests.real_servers.installed import PYTHON, ROOT, of_npm, of_pypi
from tests.real_servers.running import running
from tests.sources.mcp.support import free_port
from toolsearch.tools import JsonObject

OPERATION = "everything__trigger-long-running-operation"
FASTMCP = Path(__file__).parent / "clients" / "fastmcp_client.py"

Use: TypeAlias = Callable[[JsonObject, list[list[Any]]], JsonObject]
"""Given where a server is and calls: the names of its tools, the results and the progress that was told."""


def with_fastmcp(target: JsonObject, calls: list[list[Any]]) -> JsonObject:
    """In a process of its own, with another SDK in it."""
    script = json.dumps({**target, "calls": calls})
    done = subprocess.run(
        [str(PYTHON), str(FASTMCP), script], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    answer: JsonObject = json.loads(done.stdout)
    return answer


def with_sdk(target: JsonObject, calls: list[list[Any]]) -> JsonObject:
    """With the official client, in this process."""

    async def used() -> JsonObject:
        told: list[float] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            told.append(progress)

        transport = (
            streamable_http_client(target["url"])
            if "url" in target
            else stdio_client(StdioServerParameters(**target))
        )
        results = []
        async with Client(transport) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            for name, arguments in calls:
                result = await client.call_tool(name, arguments, progress_callback=on_progress)
                text = "".join(part.text for part in result.content if isinstance(part, TextContent))
                structured = result.structured_content
                results.append({"text": text, "is_error": result.is_error, "structured": structured})
        return {"tools": names, "results": results, "progress": told}

    return asyncio.run(used())


@pytest.fixture(params=[with_fastmcp, with_sdk], ids=["fastmcp", "sdk"])
def use(request: pytest.FixtureRequest) -> Use:
    chosen: Use = request.param
    return chosen


@pytest.fixture(scope="module", params=["stdio", "http"])
def gateway(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JsonObject]:
    """Where a gateway is that has real servers of npm and PyPI behind it."""
    folder = tmp_path_factory.mktemp("gateway").resolve()
    (folder / "hello.txt").write_text("Hello there.\n")
    servers = {
        "time": of_pypi("mcp_server_time", "--local-timezone=UTC"),
        "files": of_npm("filesystem", str(folder)),
        "everything": of_npm("everything"),
    }
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    kept = {
        "TOOLSEARCH_CACHE_DIR": str(folder / "cache"),
        "TOOLSEARCH_CONFIG_DIR": str(folder / "config"),
        "PYTHONPATH": str(ROOT),
    }
    entry: JsonObject = {
        "command": sys.executable,
        "args": ["-m", "toolsearch", "gateway", str(config)],
    }
    if request.param == "stdio":
        yield {**entry, "env": {**os.environ, **kept}, "cwd": str(folder)}
        return
    port = free_port()
    with running(entry, "--http", f"127.0.0.1:{port}", env=kept, port=port):
        yield {"url": f"http://127.0.0.1:{port}/mcp", "folder": str(folder)}


def folder_of(gateway: JsonObject) -> str:
    folder: str = gateway["cwd"] if "cwd" in gateway else gateway["folder"]
    return folder


def test_a_client_searches_describes_and_calls_through_the_gateway(gateway: JsonObject, use: Use) -> None:
    path = f"{folder_of(gateway)}/hello.txt"
    calls = [
        ["tool_search", {"query": "what time is it somewhere"}],
        ["tool_search", {"query": "read a text file"}],
        ["describe_tool", {"names": ["time__get_current_time"]}],
        ["call_tool", {"name": "time__get_current_time", "arguments": {"timezone": "Asia/Tokyo"}}],
        ["call_tool", {"name": "files__read_text_file", "arguments": {"path": path}}],
        ["call_tool", {"name": "files__read_text_file", "arguments": {"path": "/etc/hostname"}}],
        ["call_tool", {"name": "everything__get-sum", "arguments": {"a": 2, "b": 40}}],
        ["call_tool", {"name": OPERATION, "arguments": {"duration": 0.4, "steps": 4}}],
    ]
    target = {key: value for key, value in gateway.items() if key != "folder"}
    answer = use(target, calls)
    assert answer["tools"] == ["tool_search", "describe_tool", "call_tool"]
    asked, files, described, time, read, refused, added, _ = answer["results"]
    assert "time__get_current_time" in asked["text"]
    assert "files__read_text_file" in files["text"]
    assert "timezone" in described["text"]
    assert "+09:00" in time["text"]
    assert read["text"] == "Hello there.\n"
    assert "42" in added["text"]
    assert [each["is_error"] for each in answer["results"]] == [False] * 5 + [True, False, False]
    assert "outside allowed directories" in refused["text"]
    assert answer["progress"][-4:] == [1, 2, 3, 4]


def test_tools_of_python_are_called_by_other_clients(use: Use) -> None:
    if not PYTHON.exists():
        of_pypi("fastmcp")
    target = {
        "command": sys.executable,
        "args": ["-m", "toolsearch", "mcp", "serve", "tests.serving.shop:TOOLS"],
        "env": {**os.environ, "PYTHONPATH": str(ROOT)},
        "cwd": str(ROOT),
    }
    answer = use(target, [["add", {"a": 2}], ["fail", {"how": "said"}]])
    assert "add" in answer["tools"]
    added, failed = answer["results"]
    assert (added["structured"], added["is_error"]) == ({"sum": 3}, False)
    assert failed["is_error"]
