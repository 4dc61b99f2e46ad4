"""Many calls of many servers that are killed at random: every call has an outcome, and nothing is left."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.sources.mcp.support import children, scripted, servers, text_of, tools, until
from toolsearch.exceptions import McpCallError
from toolsearch.messages import ToolResult
from toolsearch.sources.mcp.servers import McpServers
from toolsearch.tools import ToolContext

N_SERVERS = 20
N_CALLS = 1_000
AT_ONCE = 12
KILL_EVERY = 20


async def soak(source: McpServers) -> tuple[int, int, set[int]]:
    """How many calls were answered and how many failed, and the processes that answered."""
    chance = random.Random(7)
    room = asyncio.Semaphore(AT_ONCE)
    pids: set[int] = set()
    named: set[tuple[str, str]] = set()

    async def one(number: int) -> bool:
        async with room:
            server = f"s{chance.randrange(N_SERVERS)}"
            tool = source.catalog[f"{server}__pid"].call
            assert tool is not None
            try:
                result = await tool({}, ToolContext())
            except McpCallError as exc:
                named.add((server, exc.server))
                return False
            assert isinstance(result, ToolResult)
            pid = int(text_of(result))
            pids.add(pid)
            if number % KILL_EVERY == 0 and pid in children():
                with suppress(ProcessLookupError):  # another call may have had it killed just before
                    os.kill(pid, signal.SIGKILL)
            return True

    done = await asyncio.gather(*(one(number) for number in range(N_CALLS)))
    assert all(called == told for called, told in named)
    return sum(done), len(done) - sum(done), pids


def pending_tasks() -> int:
    """Tasks of any event loop that are not done."""
    return sum(not each.done() for each in gc.get_objects() if type(each) is asyncio.Task)


@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted in /proc")
def test_nothing_is_left_of_servers_that_were_killed_at_random() -> None:
    # However busy the machine is, no server is late.
    settings = {"timeout_s": 300, "connect_timeout_s": 300}
    processes = children()
    before = pending_tasks()
    # What is imported and opened once is not counted.
    with servers(warm=scripted(tools("pid"))):
        n_of_one = pending_tasks() - before
    assert n_of_one > 0
    assert pending_tasks() <= before
    threads, files = threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))
    entries = {f"s{n}": scripted(tools("pid"), settings=settings) for n in range(N_SERVERS)}
    with servers(**entries) as source:
        answered, failed, pids = asyncio.run(soak(source))
        assert answered + failed == N_CALLS
        assert answered > N_CALLS // 3
        assert len(pids) > N_SERVERS
        # Those of connections that are over end, too, if not at once.
        until(lambda: pending_tasks() <= before + N_SERVERS * n_of_one, within_s=120)
    assert pending_tasks() <= before
    assert children() == processes
    assert threading.active_count() == threads
    assert len(list(Path("/proc/self/fd").iterdir())) == files
