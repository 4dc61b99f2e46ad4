"""The gateway as a process: how it ends, and what it leaves."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.gateway.support import as_process, text_of
from tests.sources.mcp.support import free_port, is_running, scripted, tools, until


def sent(number: int, method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


@pytest.mark.parametrize("how", ["end of input", "signal"])
def test_a_gateway_ends_with_its_client_and_its_servers_with_it(how: str, tmp_path: Path) -> None:
    """Also one that does not end when its own input does."""
    started = as_process(tmp_path, {"post": scripted(tools("pid"), deaf=True)})

    async def used() -> tuple[int, int | None]:
        process = await asyncio.create_subprocess_exec(
            started.command,
            *started.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=started.cwd,
            env=started.env,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        client = {"name": "test", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        process.stdin.write(sent(1, "initialize", hello))
        await process.stdout.readline()
        call = {"name": "call_tool", "arguments": {"name": "post__pid", "arguments": {}}}
        process.stdin.write(sent(2, "tools/call", call))
        answer = json.loads(await process.stdout.readline())
        if how == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdin.close()
        async with asyncio.timeout(60):
            await process.wait()
        return int(answer["result"]["content"][0]["text"]), process.returncode

    pid, code = asyncio.run(used())
    assert code == 0
    until(lambda: not is_running(pid))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_gateway_over_http_ends_with_its_servers_when_it_is_told_to(tmp_path: Path) -> None:
    port = free_port()
    started = as_process(tmp_path, {"post": scripted(tools("pid"), deaf=True)}, "--http", f"127.0.0.1:{port}")
    with (tmp_path / "gateway.log").open("wb") as log:
        process = subprocess.Popen(
            [started.command, *started.args], cwd=started.cwd, env=started.env, stderr=log, stdout=log
        )

    async def pid_of_the_server() -> int:
        call = {"name": "post__pid", "arguments": {}}
        async with Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp"), mode="legacy") as client:
            return int(text_of(await client.call_tool("call_tool", call)))

    try:
        until(lambda: process.poll() is not None or "behind" in (tmp_path / "gateway.log").read_text())
        until(lambda: process.poll() is not None or listens(port))
        pid = asyncio.run(pid_of_the_server())
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        until(lambda: not is_running(pid))
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0
