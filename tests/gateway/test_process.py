"""The gateway as a process: how it ends, and what it leaves."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import random
import re
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

from tests.gateway.support import as_process, connected, gateway_of, served, text_of
from tests.sources.mcp.support import free_port, is_running, scripted, tools, until

linux = pytest.mark.skipif(sys.platform != "linux", reason="open files are counted in /proc")


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


def left() -> list[str]:
    """The tasks of the running loop; the server of streams keeps one in each loop that it has ever run in."""
    names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]  # type: ignore[union-attr]
    return [name for name in names if name != "_shutdown_watcher"]


def open_files() -> list[str]:
    """What this process has open, once nothing is open that only waits to be collected."""
    gc.collect()
    return sorted(
        re.sub(r"\d+", "N", str(each.readlink()))
        for each in Path("/proc/self/fd").iterdir()
        if each.is_symlink()
    )


@linux
def test_nothing_is_left_of_many_clients_and_servers_that_were_killed(tmp_path: Path) -> None:
    """200 calls of ten clients to five servers, of which one is killed now and then."""
    settings = {"timeout_s": 60, "connect_timeout_s": 60}
    entries = {f"s{n}": scripted(tools("pid"), settings=settings) for n in range(5)}
    chance = random.Random(7)
    pids: set[int] = set()

    async def client_calls(url: str, number: int) -> tuple[int, int]:
        answered = failed = 0
        mode = "legacy" if number % 2 else "auto"
        async with Client(streamable_http_client(url), mode=mode) as client:
            for _ in range(20):
                server = f"s{chance.randrange(5)}"
                call = {"name": f"{server}__pid", "arguments": {}}
                result = await client.call_tool("call_tool", call)
                if result.is_error:
                    assert f"MCP server '{server}'" in text_of(result)
                    failed += 1
                    continue
                answered += 1
                pids.add(pid := int(text_of(result)))
                if chance.random() < 0.05:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        return answered, failed

    async def soak() -> tuple[int, int]:
        before = left()
        async with served(gateway_of(tmp_path, entries)) as url:
            done = await asyncio.gather(*(client_calls(url, number) for number in range(10)))
        async with asyncio.timeout(20):
            while left() != before:
                await asyncio.sleep(0.01)
        return sum(each[0] for each in done), sum(each[1] for each in done)

    async def warm() -> None:
        async with connected("http", tmp_path) as client:
            await client.call_tool("tool_search", {"queries": ["x"]})

    # What is imported and opened once is not counted.
    asyncio.run(warm())
    files = open_files()
    answered, failed = asyncio.run(soak())
    assert answered + failed == 200
    assert answered > 60
    assert len(pids) > 5
    assert not any(map(is_running, pids))
    assert open_files() == files
