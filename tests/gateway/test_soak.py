"""A gateway with many clients, in front of many servers that are killed at random: nothing of it is left."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import re
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.gateway.support import connected, gateway_of, served, text_of, until
from tests.sources.mcp.support import children, scripted, tools

N_SERVERS = 20
N_CLIENTS = 10
N_CALLS = 1_000
KILLED = 0.05
MOST_S = 900
"""However busy the machine is; on an idle one it takes some ten seconds."""


@dataclass
class Outcome:
    """What became of the calls."""

    answered: int = 0
    failed: int = 0
    pids: set[int] = field(default_factory=set)


async def client_calls(url: str, number: int, outcome: Outcome) -> None:
    """The calls of one client, one after the other; each has its outcome, which names its server."""
    chance = random.Random(number)
    mode = "legacy" if number % 2 else "auto"
    async with Client(streamable_http_client(url), mode=mode) as client:
        for _ in range(N_CALLS // N_CLIENTS):
            server = f"s{chance.randrange(N_SERVERS)}"
            result = await client.call_tool("call_tool", {"name": f"{server}__pid", "arguments": {}})
            if result.is_error:
                assert f"MCP server '{server}'" in text_of(result)
                outcome.failed += 1
                continue
            outcome.answered += 1
            pid = int(text_of(result))
            outcome.pids.add(pid)
            if chance.random() < KILLED and pid in children():
                with suppress(ProcessLookupError):  # another client may have had it killed just before
                    os.kill(pid, signal.SIGKILL)


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


@pytest.mark.skipif(sys.platform != "linux", reason="processes and open files are counted in /proc")
def test_nothing_is_left_of_many_clients_and_servers_that_were_killed(tmp_path: Path) -> None:
    settings = {"timeout_s": MOST_S, "connect_timeout_s": MOST_S}
    entries = {f"s{number}": scripted(tools("pid"), settings=settings) for number in range(N_SERVERS)}

    async def warm() -> None:
        async with connected("http", tmp_path) as client:
            await client.call_tool("tool_search", {"queries": ["x"]})

    async def soak() -> Outcome:
        outcome = Outcome()
        before = left()
        async with asyncio.timeout(MOST_S):
            async with served(gateway_of(tmp_path, entries, wait_s=MOST_S)) as url:
                await asyncio.gather(*(client_calls(url, number, outcome) for number in range(N_CLIENTS)))
            # Those of connections that are over end, too, if not at once.
            await until(lambda: left() == before, within_s=MOST_S)
        return outcome

    # What is imported and opened once is not counted.
    asyncio.run(warm())
    processes, files = children(), open_files()
    outcome = asyncio.run(soak())
    assert outcome.answered + outcome.failed == N_CALLS
    assert outcome.answered > N_CALLS // 3
    assert len(outcome.pids) > N_SERVERS
    assert children() == processes
    assert open_files() == files
