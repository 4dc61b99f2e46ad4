"""What goes wrong with servers: nothing hangs, nothing runs twice, every error says which server it was."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.sources.mcp.support import (
    ROOT,
    call,
    is_running,
    raw_names,
    scripted,
    servers,
    text_of,
    tools,
    until,
)
from toolsearch.exceptions import McpCallError
from toolsearch.sources.mcp.servers import McpServers
from toolsearch.tools import ToolContext


def test_a_server_that_dies_in_a_call_is_told_at_once_and_the_others_go_on() -> None:
    """E73"""
    settings = {"timeout_s": 600, "connect_timeout_s": 60}
    with servers(a=scripted(tools("die", "pid"), settings=settings), b=scripted(tools("pid"))) as source:
        with pytest.raises(McpCallError, match=r"'a'.*outcome is unknown") as told:
            call(source, "a", "die")
        assert told.value.server == "a"
        assert told.value.may_have_run
        assert text_of(call(source, "b", "pid")).isdigit()
        # The next call starts it again.
        assert text_of(call(source, "a", "pid")).isdigit()


def test_the_end_of_a_server_is_noticed_where_its_child_holds_the_pipe_open() -> None:
    settings = {"timeout_s": 600}
    with (
        servers(a=scripted(tools("die"), settings=settings, child=True)) as source,
        pytest.raises(McpCallError, match="'a'"),
    ):
        call(source, "a", "die")


def test_a_call_that_may_have_run_is_not_repeated(tmp_path: Path) -> None:
    """E77"""
    written = tmp_path / "charged"
    with servers(bank=scripted(tools("charge"))) as source:
        with pytest.raises(McpCallError, match="It was not sent again") as told:
            call(source, "bank", "charge", {"file": str(written)})
        assert told.value.may_have_run
    assert written.read_text() == "1"


def test_a_server_that_never_greets_is_given_up_and_keeps_up_no_other() -> None:
    """E75, E57"""
    source = servers(
        good=scripted(tools("pid")),
        mute=scripted(silent="initialize", settings={"connect_timeout_s": 3}),
        missing={"command": "no-such-command-at-all"},
        closed={"url": "http://127.0.0.1:9/mcp"},
    )
    try:
        source.open(wait_s=0)
        until(lambda: bool(source.catalog))
        assert source.servers["mute"].status.state == "connecting"
        assert text_of(call(source, "good", "pid")).isdigit()
        source.open()
        reasons = {status.server: status.reason for status in source.statuses}
        assert reasons["good"] == ""
        assert "was not ready within 3 s" in reasons["mute"]
        assert "there is no 'no-such-command-at-all'" in reasons["missing"]
        assert "cannot be reached" in reasons["closed"]
        assert [issue.path for issue in source.issues] == [
            "MCP server 'mute'",
            "MCP server 'missing'",
            "MCP server 'closed'",
        ]
    finally:
        source.close()


def test_a_call_that_times_out_is_cancelled_and_blocks_no_other() -> None:
    """E82"""
    listed = tools("hang", "pid", "cancelled")
    with servers(a=scripted(listed, settings={"tool_timeouts_s": {"hang": 0.2}})) as source:
        tool = source.catalog["a__hang"].call
        assert tool is not None

        async def ten() -> list[object]:
            return await asyncio.gather(*(tool({}, ToolContext()) for _ in range(10)), return_exceptions=True)

        told = asyncio.run(ten())
        assert all(isinstance(each, McpCallError) and "within 0.2 s" in str(each) for each in told)
        assert text_of(call(source, "a", "pid")).isdigit()
        assert text_of(call(source, "a", "cancelled")).count(",") == 9


def test_cancelling_a_call_is_sent_on() -> None:
    with servers(a=scripted(tools("hang", "cancelled"))) as source:
        tool = source.catalog["a__hang"].call
        assert tool is not None

        async def cancelled() -> None:
            task = asyncio.ensure_future(tool({}, ToolContext()))
            await asyncio.sleep(0)
            await source.servers["a"].call_tool("cancelled", {})
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())
        until(lambda: text_of(call(source, "a", "cancelled")) != "[]")


def test_progress_keeps_a_call_alive_but_not_for_ever() -> None:
    settings = {"timeout_s": 2.0, "total_timeout_s": 6.0}
    with servers(a=scripted(tools("progress"), settings=settings)) as source:
        heard: list[float] = []

        async def counted() -> None:
            async def hear(progress: float, total: float | None, message: str | None) -> None:
                heard.append(progress)

            await source.servers["a"].call_tool("progress", {"steps": 6, "every_s": 0.5}, on_progress=hear)

        asyncio.run(counted())
        assert heard == [0, 1, 2, 3, 4, 5]
        with pytest.raises(McpCallError, match="within 6 s"):
            call(source, "a", "progress", {"steps": 1000, "every_s": 0.1, "endless": True})


def test_what_a_server_prints_between_messages_is_passed_over() -> None:
    """E71"""
    with servers(a=scripted(tools("pid", "echo"), noise=True)) as source:
        assert source.issues == ()
        assert text_of(call(source, "a", "echo", {"x": 1})) == '{"x": 1}'
        assert "Starting up" in source.servers["a"].status.last_words


def test_an_answer_with_half_a_character_is_read() -> None:
    with servers(a=scripted(tools("surrogate"))) as source:
        assert text_of(call(source, "a", "surrogate")) == "a?b"


def test_an_error_of_the_protocol_is_told_to_the_model() -> None:
    with servers(a=scripted(tools("error"))) as source:
        with pytest.raises(McpCallError, match="'a' refused the request: bad id") as told:
            call(source, "a", "error", {"code": -32602, "message": "bad id"})
        assert not told.value.may_have_run
        with pytest.raises(McpCallError, match="outcome is unknown"):
            call(source, "a", "error", {"code": -32603, "message": "oops"})


def test_a_result_of_fifty_megabytes_is_cut() -> None:
    listed = tools("big", "pid")
    with servers(a=scripted(listed)) as source:
        result = call(source, "a", "big", {"unit": "x" * 1000, "times": 50_000})
        assert text_of(result).endswith("[49,950,000 characters more were cut off.]")
        assert len(text_of(result)) < 50_100


def test_a_message_that_is_too_large_is_refused_and_the_connection_stays() -> None:
    listed = tools("big", "pid")
    with servers(a=scripted(listed, settings={"max_message_bytes": 100_000})) as source:
        pid = text_of(call(source, "a", "pid"))
        with pytest.raises(McpCallError, match="'a' answered with a larger message than max_message_bytes"):
            call(source, "a", "big", {"unit": "x" * 1000, "times": 1000})
        assert text_of(call(source, "a", "pid")) == pid


def test_ten_thousand_tools_come_in_a_hundred_pages() -> None:
    """E51"""
    with servers(a=scripted(per_page=100, generate=10_000)) as source:
        assert len(source.catalog) == 10_000
        assert "a__t9999" in source.catalog


def test_pages_without_an_end_are_refused() -> None:
    with servers(a=scripted(tools("a", "b", "c"), per_page=1, loop=True), b=scripted(tools("pid"))) as source:
        assert raw_names(source) == ["pid"]
        (issue,) = source.issues
        assert "'a'" in issue.path
        assert "leads back to an earlier one" in issue.reason


def test_a_list_that_changes_in_the_middle_of_a_call() -> None:
    with servers(a=scripted(tools("later", "old"))) as source:
        result = call(source, "a", "later", {"tools": tools("later", "new")})
        assert text_of(result) == "at last"
        until(lambda: raw_names(source) == ["later", "new"])


def test_a_list_that_cannot_be_had_names_the_server() -> None:
    with servers(a=scripted(refuse="tools/list")) as source:
        (issue,) = source.issues
        assert str(issue) == "MCP server 'a': error: refused the request: not today"


def test_no_process_is_left_when_servers_are_closed() -> None:
    """E80: 20 times"""
    pids = []
    for _ in range(10):
        with servers(a=scripted(tools("pid"), child=True), b=scripted(tools("pid"))) as source:
            pids += [int(text_of(call(source, name, "pid"))) for name in ("a", "b")]
    assert not any(map(is_running, pids))
    assert not [each for each in threading.enumerate() if each.name == "toolsearch-mcp"]


@pytest.mark.parametrize(
    "end", ["raise SystemExit(1)", "os.kill(os.getpid(), signal.SIGTERM)", "os.kill(os.getpid(), 9)"]
)
def test_no_process_is_left_when_the_program_ends(end: str) -> None:
    """E80; also of one that is killed and can end nothing: the server sees the end of its input."""
    program = f"""
import os, signal
from tests.sources.mcp.support import *
source = servers(a=scripted(tools("pid"))).open()
print(text_of(call(source, "a", "pid")), flush=True)
{end}
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert done.returncode in {1, -15, -9}, done.stderr
    until(lambda: not is_running(int(done.stdout)))


def test_a_server_that_is_deaf_to_the_end_is_killed() -> None:
    with servers(a=scripted(tools("pid"), deaf=True)) as source:
        pid = int(text_of(call(source, "a", "pid")))
    assert not is_running(pid)


def test_a_closed_source_says_so() -> None:
    with servers(a=scripted(tools("pid"))) as source:
        pass
    with pytest.raises(RuntimeError, match="were closed"):
        call(source, "a", "pid")
    source.close()


def test_a_variable_that_is_missing_keeps_one_server_from_starting() -> None:
    entry = {**scripted(tools("pid")), "env": {"TOKEN": "${NO_SUCH_VARIABLE_HERE}"}}
    with McpServers.from_config({"mcpServers": {"a": entry, "b": scripted(tools("pid"))}}) as source:
        assert raw_names(source) == ["pid"]
        (issue,) = source.issues
        assert "NO_SUCH_VARIABLE_HERE is not set" in str(issue)


def test_servers_that_were_never_started_need_no_thread() -> None:
    source = servers(a=scripted(tools("pid")))
    assert not [each for each in threading.enumerate() if each.name == "toolsearch-mcp"]
    source.close()
    with pytest.raises(RuntimeError, match="were closed"):
        source.open()


def test_a_long_refusal_is_cut() -> None:
    with servers(a=scripted(tools("error"))) as source:
        with pytest.raises(McpCallError) as told:
            call(source, "a", "error", {"code": -32603, "message": "x" * 1_000_000})
        assert len(str(told.value)) < 3_000


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="there is no way to stop a process here")
def test_a_server_that_hangs_is_given_up_and_killed_in_the_end() -> None:
    entry = scripted(tools("pid", "env"), settings={"tool_timeouts_s": {"env": 0.3}})
    with servers(a=entry, b=scripted(tools("pid"))) as source:
        pid = int(text_of(call(source, "a", "pid")))
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(McpCallError, match=r"'a' gave no answer to tools/call within 0\.3 s"):
            call(source, "a", "env")
        assert text_of(call(source, "b", "pid")).isdigit()
    assert not is_running(pid)
