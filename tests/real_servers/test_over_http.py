"""Servers that nobody here wrote, over streamable HTTP and SSE."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from tests.real_servers.installed import of_npm
from tests.real_servers.running import running
from tests.sources.mcp.support import call, free_port, servers, text_of
from toolsearch import McpServers, ToolContext
from toolsearch.messages import ImagePart


@pytest.fixture(scope="module", params=["streamableHttp", "sse"])
def source(request: pytest.FixtureRequest) -> Iterator[McpServers]:
    """The server with everything, over each transport, found without being told which."""
    path = "mcp" if request.param == "streamableHttp" else "sse"
    port = free_port()
    with (
        running(of_npm("everything"), request.param, env={"PORT": str(port)}, port=port),
        servers(everything={"url": f"http://127.0.0.1:{port}/{path}"}) as opened,
    ):
        yield opened


def test_tools_are_listed_and_called(source: McpServers) -> None:
    assert source.issues == ()
    assert text_of(call(source, "everything", "echo", {"message": "a\u2028b 🙂"})) == "Echo: a\u2028b 🙂"
    image = call(source, "everything", "get-tiny-image")
    assert [part.media_type for part in image.content if isinstance(part, ImagePart)] == ["image/png"]
    assert call(source, "everything", "echo", {"message": 7}).is_error


def test_calls_at_once_have_each_their_own_answer(source: McpServers) -> None:
    async def echo(number: int) -> str:
        tool = source.catalog["everything__echo"].call
        assert tool is not None
        return text_of(await tool({"message": str(number)}, ToolContext()))

    async def many() -> list[str]:
        return await asyncio.gather(*(echo(number) for number in range(40)))

    assert asyncio.run(many()) == [f"Echo: {number}" for number in range(40)]


def test_progress_is_told(source: McpServers) -> None:
    told: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async def run() -> None:
        await source.servers["everything"].call_tool(
            "trigger-long-running-operation", {"duration": 0.4, "steps": 4}, on_progress=on_progress
        )

    asyncio.run(run())
    assert told == [1, 2, 3, 4]
