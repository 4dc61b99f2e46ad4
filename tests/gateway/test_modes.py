"""Dynamic and all: what clients with sessions of their own are offered, and how they are told of changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.gateway.support import connected, gateway_of, names_of, served, text_of, until
from tests.sources.mcp.support import a_tool, scripted, tools


class Told:
    """The notifications that a client was sent, and what its requests show.

    Attributes:
        session: Its session id.
        listening: Set once the stream is open that carries what answers no request.
    """

    def __init__(self) -> None:
        self.methods: list[str] = []
        self.session = ""
        self.listening = asyncio.Event()

    async def __call__(self, message: Any) -> None:
        if not isinstance(message, Exception):
            self.methods.append(message.method)

    @property
    def n_changes(self) -> int:
        return self.methods.count("notifications/tools/list_changed")

    async def answered(self, response: httpx2.Response) -> None:
        self.session = response.request.headers.get("mcp-session-id", self.session)
        if response.request.method == "GET":
            self.listening.set()


@asynccontextmanager
async def client_of(url: str, told: Told) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(timeout=None, event_hooks={"response": [told.answered]}) as http,
        Client(streamable_http_client(url, http_client=http), mode="legacy", message_handler=told) as client,
    ):
        yield client


def test_each_client_is_offered_what_it_has_found_and_nothing_of_others(tmp_path: Path) -> None:
    async def used() -> None:
        one, two = Told(), Told()
        async with (
            served(gateway_of(tmp_path, mode="dynamic")) as url,
            client_of(url, one) as first,
            client_of(url, two) as second,
        ):
            assert names_of(await first.list_tools()) == ["tool_search"]
            found = await first.call_tool("tool_search", {"queries": ["refund an order"], "limit": 1})
            assert text_of(found).startswith("Loaded 1 tool. Call it directly:\n- shop__refund_order")
            assert (one.n_changes, two.n_changes) == (1, 0)
            assert names_of(await first.list_tools()) == ["tool_search", "shop__refund_order"]
            assert names_of(await second.list_tools()) == ["tool_search"]

            refunded = await first.call_tool("shop__refund_order", {"order": "A", "amount": 1})
            assert text_of(refunded) == "refunded 1 of A"
            refused = await second.call_tool("shop__refund_order", {"order": "A", "amount": 1})
            assert refused.is_error
            assert text_of(refused).startswith("Unknown tool 'shop__refund_order'.")

            await second.call_tool("tool_search", {"queries": ["send a letter"], "limit": 1})
            assert names_of(await second.list_tools()) == ["tool_search", "post__send_letter"]
            assert names_of(await first.list_tools()) == ["tool_search", "shop__refund_order"]
            assert (one.n_changes, two.n_changes) == (1, 1)

    asyncio.run(used())


def test_over_stdio_what_is_found_is_added_too(tmp_path: Path) -> None:
    async def used() -> None:
        told = Told()
        async with connected("stdio", tmp_path, mode="dynamic", message_handler=told) as client:
            await client.call_tool("tool_search", {"queries": ["send a letter"], "limit": 1})
            assert told.n_changes == 1
            assert names_of(await client.list_tools()) == ["tool_search", "post__send_letter"]
            assert text_of(await client.call_tool("post__send_letter", {"to": "Ann"})) == '{"to": "Ann"}'

    asyncio.run(used())


def test_a_client_that_listens_over_stdio_is_told_as_well(tmp_path: Path) -> None:
    async def used() -> None:
        async with connected("stdio", tmp_path, mode="dynamic", protocol="auto") as client:
            async with client.listen(tools_list_changed=True) as changes:
                await client.call_tool("tool_search", {"queries": ["send a letter"], "limit": 1})
                async with asyncio.timeout(20):
                    await anext(aiter(changes))
            assert names_of(await client.list_tools()) == ["tool_search", "post__send_letter"]

    asyncio.run(used())


def test_a_client_without_a_session_is_served_by_the_bridge(tmp_path: Path) -> None:
    async def used() -> None:
        async with connected("http", tmp_path, mode="dynamic", protocol="auto") as client:
            assert names_of(await client.list_tools()) == ["tool_search", "describe_tool", "call_tool"]
            found = await client.call_tool("tool_search", {"queries": ["send a letter"], "limit": 1})
            assert "Run it with call_tool" in text_of(found)

    asyncio.run(used())


def test_a_made_up_session_shows_nothing_of_another(tmp_path: Path) -> None:
    """Without sessions a header may say anything: it must not lead to what another client has found."""

    async def used() -> None:
        told = Told()
        async with served(gateway_of(tmp_path, mode="dynamic")) as url, client_of(url, told) as first:
            await first.call_tool("tool_search", {"queries": ["refund an order"], "limit": 1})
            assert told.session
            async with (
                httpx2.AsyncClient(headers={"mcp-session-id": told.session}) as http,
                Client(streamable_http_client(url, http_client=http)) as other,
            ):
                assert "shop__refund_order" not in names_of(await other.list_tools())

    asyncio.run(used())


def test_a_found_tool_that_changes_or_goes_is_told_to_who_found_it(tmp_path: Path) -> None:
    entries = {"post": scripted([*tools("change"), a_tool("burn", "Burn a letter")])}

    async def used() -> None:
        one, two = Told(), Told()
        async with (
            served(gateway_of(tmp_path, entries, mode="dynamic")) as url,
            client_of(url, one) as first,
            client_of(url, two) as second,
        ):
            await first.call_tool("tool_search", {"queries": ["select:post__burn,post__change"]})
            await second.call_tool("tool_search", {"queries": ["select:post__change"]})
            assert (one.n_changes, two.n_changes) == (1, 1)
            await one.listening.wait()
            await second.call_tool("post__change", {"tools": tools("change")})
            await until(lambda: one.n_changes == 2)
            assert names_of(await first.list_tools()) == ["tool_search", "post__change"]
            gone = await first.call_tool("post__burn", {})
            assert gone.is_error
            assert two.n_changes == 1

    asyncio.run(used())


def test_all_lists_every_tool_and_tells_of_changes(tmp_path: Path) -> None:
    entries = {"post": scripted(tools("change", "burn")), "zoo": scripted(tools("feed"))}

    async def used() -> None:
        told = Told()
        async with served(gateway_of(tmp_path, entries, mode="all")) as url, client_of(url, told) as client:
            listed = await client.list_tools()
            assert names_of(listed) == ["post__burn", "post__change", "zoo__feed"]
            assert client.session.server_capabilities.tools.list_changed  # type: ignore[union-attr]
            await told.listening.wait()
            await client.call_tool("post__change", {"tools": tools("change", "read")})
            await until(lambda: told.n_changes)
            assert names_of(await client.list_tools()) == ["post__change", "post__read", "zoo__feed"]
            with pytest.raises(MCPError, match="There is no tool 'tool_search'"):
                await client.call_tool("tool_search", {"queries": ["x"]})

    asyncio.run(used())


def test_all_lists_tools_as_their_servers_do(tmp_path: Path) -> None:
    whole = a_tool("read", "Read a letter", title="Read", annotations={"readOnlyHint": True})
    whole["outputSchema"] = {"type": "object", "properties": {"text": {"type": "string"}}}

    async def listed() -> types.Tool:
        async with connected("http", tmp_path, {"post": scripted([whole])}, mode="all") as client:
            return (await client.list_tools()).tools[0]

    tool = asyncio.run(listed())
    assert (tool.name, tool.title, tool.description) == ("post__read", "Read", "Read a letter")
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is True
    assert tool.output_schema == whole["outputSchema"]
