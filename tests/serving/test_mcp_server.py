"""Tools served to the client of the official SDK, over both transports, for both eras of the protocol."""

import asyncio
import base64
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import mcp_types as types
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.serving import shop
from toolsearch import Tool, __version__, mcp_server
from toolsearch.advisors.failures import ToolFailure
from toolsearch.exceptions import DefinitionError, DuplicateToolError
from toolsearch.serving.mcp_transports import http_app

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def at(app: Any) -> AsyncIterator[str]:
    """The address of an ASGI application that runs in this loop."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    socket = server.config.bind_socket()
    task = asyncio.create_task(server.serve(sockets=[socket]))
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def over_http(mode: str, **settings: Any) -> AsyncIterator[Client]:
    app = http_app(mcp_server(shop.TOOLS, name="shop", version="1", **settings))
    async with at(app) as url, Client(url, mode=mode) as client:
        yield client


def over_stdio(mode: str) -> AbstractAsyncContextManager[Client]:
    arguments = ["-m", "toolsearch", "mcp", "serve", "tests.serving.shop:TOOLS", "--name", "shop"]
    parameters = StdioServerParameters(
        command=sys.executable, args=arguments, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}
    )
    return Client(parameters, mode=mode)


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content if block.type == "text")


def test_a_server_says_its_version_or_that_of_the_package() -> None:
    async def told(**settings: Any) -> str:
        async with Client(mcp_server(shop.TOOLS, **settings)) as client:
            assert client.server_info is not None
            return str(client.server_info.version)

    assert asyncio.run(told()) == __version__
    assert asyncio.run(told(version="7.1")) == "7.1"


@pytest.mark.parametrize("connect", [over_stdio, over_http])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_lists_and_calls_tools(connect: Any, mode: str) -> None:
    async def run() -> None:
        async with connect(mode) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(listed) == [tool.name for tool in shop.TOOLS]
            add = listed["add"]
            assert (add.title, add.description) == ("Add numbers", "Add two numbers.")
            assert add.input_schema["required"] == ["a"]
            assert add.annotations is not None
            assert add.annotations.read_only_hint is True
            assert listed["fail"].annotations is not None
            assert listed["fail"].annotations.destructive_hint is True
            assert listed["whoami"].input_schema["properties"] == {}
            assert listed["counted"].output_schema == shop.OUTPUT
            assert add.output_schema == {"type": "object", "additionalProperties": {"type": "integer"}}

            result = await client.call_tool("add", {"a": 2, "b": 3})
            assert (text_of(result), result.structured_content) == ('{"sum": 5}', {"sum": 5})
            assert not result.is_error
            assert (await client.call_tool("numbers")).structured_content is None
            assert text_of(await client.call_tool("numbers")) == "[1, 2]"
            assert text_of(await client.call_tool("noisy")) == "quiet"

            refused = await client.call_tool("add", {"a": "x"})
            assert refused.is_error
            assert "nothing was run" in text_of(refused)

            told: list[tuple[float, float | None, str | None]] = []

            async def progress(done: float, total: float | None, message: str | None) -> None:
                told.append((done, total, message))

            assert text_of(await client.call_tool("slow", progress_callback=progress)) == "done"
            assert told == [(1, 2, "step 1"), (2, 2, "step 2")]

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_every_kind_of_content_comes_in_its_order(mode: str) -> None:
    """(E66)"""

    async def run() -> None:
        async with over_http(mode) as client:
            content: Any = (await client.call_tool("picture")).content
            text, image, link = content
            assert (text.type, text.text) == ("text", "chart:")
            assert (image.type, image.mime_type) == ("image", "image/png")
            assert base64.b64decode(image.data) == shop.PIXEL
            assert (link.type, link.uri) == ("resource_link", "https://example.org/a.png")

    asyncio.run(run())


def test_errors_are_results_in_neutral_words_and_the_program_has_them_in_full() -> None:
    """(E67)"""
    failures: list[ToolFailure] = []

    async def run() -> None:
        async with over_http("auto", on_failure=failures.append) as client:
            said = await client.call_tool("fail", {"how": "said"})
            assert (said.is_error, text_of(said)) == (True, "There is no such order.")
            hidden = await client.call_tool("fail", {"how": "hidden"})
            assert hidden.is_error
            assert text_of(hidden).startswith("Tool 'fail' failed for a reason that cannot be shown.")
            assert "hunter2" not in text_of(hidden)

    asyncio.run(run())
    assert [str(failure.error) for failure in failures][1] == "password=hunter2 at /srv/db"


def test_a_result_that_does_not_fit_its_output_schema_is_an_error() -> None:
    failures: list[ToolFailure] = []

    async def run() -> None:
        async with over_http("auto", on_failure=failures.append) as client:
            assert (await client.call_tool("counted")).structured_content == {"n": 3}
            bad = await client.call_tool("counted", {"good": False})
            assert (bad.is_error, bad.structured_content) == (True, None)

    asyncio.run(run())
    assert "does not fit its output schema" in str(failures[0].error)


def test_an_unknown_tool_is_an_error_of_the_protocol_that_names_no_other() -> None:
    """(E171)"""

    async def run() -> None:
        async with over_http("auto") as client:
            with pytest.raises(MCPError, match=r"There is no tool 'addd'\.$"):
                await client.call_tool("addd", {})

    asyncio.run(run())


def test_a_tool_knows_its_session_its_call_and_the_state() -> None:
    async def run() -> None:
        app = http_app(mcp_server(shop.TOOLS, state={"who": "me"}))
        async with at(app) as url, Client(url, mode="legacy") as one, Client(url, mode="legacy") as other:
            seen = [(await client.call_tool("whoami")).structured_content for client in (one, one, other)]
        first, again, elsewhere = seen
        assert first["session"] == again["session"] != elsewhere["session"]
        assert "" not in {first["session"], elsewhere["session"]}
        assert first["call"] != again["call"]
        assert first["who"] == "me"

    asyncio.run(run())


def test_over_stdio_the_connection_is_the_session() -> None:
    async def run() -> None:
        async with over_stdio("legacy") as client:
            one = (await client.call_tool("whoami")).structured_content
            two = (await client.call_tool("whoami")).structured_content
        assert one["session"] == two["session"] != ""

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_cancelled_call_is_cancelled_at_the_tool(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        monkeypatch.setattr(shop, "RUNNING", asyncio.Event())
        monkeypatch.setattr(shop, "CANCELLED", asyncio.Event())
        async with over_http(mode) as client:
            call = asyncio.create_task(client.call_tool("forever"))
            await asyncio.wait_for(shop.RUNNING.wait(), 20)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await asyncio.wait_for(shop.CANCELLED.wait(), 20)
            assert text_of(await client.call_tool("numbers")) == "[1, 2]"

    asyncio.run(run())


def test_a_call_takes_no_longer_than_it_may() -> None:
    async def run() -> None:
        async with over_http("auto", call_timeout_s=0.05) as client:
            result = await client.call_tool("forever")
            assert (result.is_error, "0.05 s" in text_of(result)) == (True, True)

    asyncio.run(run())


def test_tools_of_sources_are_served_under_their_public_names() -> None:
    server = mcp_server([replace(Tool(raw_name="run", source=s), call=_call) for s in ("a", "b")])

    async def run() -> None:
        async with Client(server) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["a__run", "b__run"]
            assert text_of(await client.call_tool("b__run")) == "ran"

    asyncio.run(run())


def test_what_cannot_be_served_is_refused() -> None:
    with pytest.raises(DefinitionError, match="cannot be served"):
        mcp_server([Tool(raw_name="add")])
    with pytest.raises(DuplicateToolError):
        mcp_server([shop.add, shop.add])


async def _call(arguments: dict[str, Any], context: Any) -> str:
    return "ran"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_list_comes_in_pages_where_that_is_wanted(mode: str) -> None:
    async def run() -> None:
        async with over_http(mode, page_size=3) as client:
            names: list[str] = []
            cursor = None
            while True:
                page = await client.list_tools(cursor=cursor)
                assert 1 <= len(page.tools) <= 3
                names += [tool.name for tool in page.tools]
                cursor = page.next_cursor
                if cursor is None:
                    break
            assert names == [tool.name for tool in shop.TOOLS]
            with pytest.raises(MCPError, match="of another list"):
                await client.list_tools(cursor="no-such-tool")

    asyncio.run(run())
    with pytest.raises(ValueError, match="page_size"):
        mcp_server(shop.TOOLS, page_size=0)


def test_clients_are_told_of_other_tools_which_are_served_from_then_on() -> None:
    told: list[str] = []

    async def noted(message: Any) -> None:
        told.append(type(message).__name__)

    async def run() -> None:
        server = mcp_server(shop.TOOLS[:2])
        async with at(http_app(server)) as url, Client(url, mode="legacy", message_handler=noted) as client:
            assert client.server_capabilities.tools == types.ToolsCapability(list_changed=True)
            first = [tool.name for tool in (await client.list_tools()).tools]
            assert first == [tool.name for tool in shop.TOOLS[:2]]
            await server.change(shop.TOOLS[1:3])
            async with asyncio.timeout(20):
                while "ToolListChangedNotification" not in told:
                    await asyncio.sleep(0.01)
            assert [tool.name for tool in (await client.list_tools()).tools] == [
                tool.name for tool in shop.TOOLS[1:3]
            ]
            with pytest.raises(MCPError, match="There is no tool"):
                await client.call_tool(first[0], {})
            with pytest.raises(DuplicateToolError):
                await server.change([*shop.TOOLS[:1], *shop.TOOLS[:1]])
            assert len((await client.list_tools()).tools) == 2

    asyncio.run(run())
