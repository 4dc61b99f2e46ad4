"""Tools of MCP servers: listed, searched and called over real transports."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sources.mcp.support import (
    call,
    raw_names,
    scripted,
    sdk_server,
    served,
    servers,
    text_of,
    tools,
)
from toolsearch import Catalog, SearchRequest, ToolContext, ToolRouter, ToolSearcher, build_index
from toolsearch.sources.base import ToolSource
from toolsearch.sources.mcp.servers import McpServers
from toolsearch.testing import HashingEmbedder, ScriptedChatModel, tool_call


def shop() -> Any:
    return importlib.reload(importlib.import_module("tests.sources.mcp.servers.shop")).server


@pytest.fixture(params=["stdio", "http", "sse"])
def source(request: pytest.FixtureRequest) -> Iterator[McpServers]:
    """The shop over each transport."""
    if request.param == "stdio":
        with servers(shop=sdk_server()) as opened:
            yield opened
        return
    app = shop().streamable_http_app() if request.param == "http" else shop().sse_app()
    path = "/mcp" if request.param == "http" else "/sse"
    with served(app) as url, servers(shop={"url": f"{url}{path}", "type": request.param}) as opened:
        yield opened


def test_tools_are_listed_and_called_over_every_transport(source: McpServers) -> None:
    assert source.issues == ()
    assert raw_names(source) == ["count_slowly", "fail", "orders.find", "refund_order", "what_is_told"]
    refunded = call(source, "shop", "refund_order", {"order": "A-17", "amount": 2})
    assert text_of(refunded) == "refunded 2 of A-17"
    assert text_of(call(source, "shop", "count_slowly", {"steps": 3})) == "counted to 3"
    failed = call(source, "shop", "fail", {"reason": "why"})
    assert failed.is_error
    assert text_of(failed) == "Error executing tool fail"


def test_resources_and_prompts_pass_through(source: McpServers) -> None:
    async def passed() -> tuple[str, str, str | None]:
        server = source.servers["shop"]
        read = await server.read_resource("shop://terms")
        prompt = await server.get_prompt("apology", {"customer": "Ann"})
        _, _, instructions = await server.connect()
        assert [each.name for each in (await server.list_resources()).resources] == ["terms"]
        assert [each.name for each in (await server.list_prompts()).prompts] == ["apology"]
        assert (await server.list_resource_templates()).resource_templates == []
        return read.contents[0].text, prompt.messages[0].content.text, instructions  # type: ignore[union-attr]

    assert asyncio.run(passed()) == (
        "No refunds after 30 days.",
        "Apologise to Ann.",
        "Ask for orders first.",
    )


def test_an_older_server_is_found_without_being_named_as_one() -> None:
    with served(shop().sse_app()) as url, servers(shop={"url": f"{url}/sse"}) as source:
        assert source.issues == ()
        assert text_of(call(source, "shop", "refund_order", {"order": "B"})) == "refunded 0 of B"


def test_a_router_searches_and_calls_the_tools_of_a_server() -> None:
    with servers(shop=scripted(tools("refund_order", "send_letter", "book_flight"))) as source:
        model = ScriptedChatModel(
            [
                tool_call("tool_search", {"queries": ["refund order"]}),
                tool_call("shop__refund_order", {"order": "7"}),
                "Done.",
            ]
        )
        router = ToolRouter(model, source.catalog, embedder=HashingEmbedder(), whole_below_tokens=0)
        assert router.run_sync("Refund order 7.").text == "Done."
        told = [message for message in model.requests[-1].messages if message.role == "tool"]
        assert told[-1].text == '{"order": "7"}'


def test_the_servers_are_a_tool_source() -> None:
    source = servers(shop=scripted(tools("refund_order")))
    try:
        assert isinstance(source, ToolSource)
        assert [tool.raw_name for tool in source.list_tools()] == ["refund_order"]
        assert source.name == "MCP servers shop"
    finally:
        source.close()


def test_tools_of_a_saved_index_are_given_what_calls_them() -> None:
    with servers(shop=scripted(tools("refund_order"))) as source:
        index = build_index(source.catalog, HashingEmbedder())
        (found,) = (
            ToolSearcher(index, HashingEmbedder()).search(SearchRequest(queries=("refund_order",))).hits
        )
        bare = index.catalog[found.name]
        again = source.with_calls([bare])[found.name]
        assert again.call is not None
        assert text_of(again.call_sync({"order": 1})) == '{"order": 1}'


def test_the_same_servers_serve_several_event_loops() -> None:
    with servers(shop=scripted(tools("echo"))) as source:
        tool = source.catalog["shop__echo"]
        assert tool.call is not None
        for number in range(3):
            assert text_of(asyncio.run(_called(tool.call, {"n": number}))) == f'{{"n": {number}}}'


async def _called(run: Any, arguments: dict[str, Any]) -> Any:
    return await run(arguments, ToolContext())


@pytest.mark.parametrize("over", ["stdio", "http"])
def test_the_protocol_without_a_handshake_is_spoken_too(over: str) -> None:
    settings = {"protocol": "discover"}
    if over == "stdio":
        with servers(shop=sdk_server(toolsearch=settings)) as source:
            assert text_of(call(source, "shop", "refund_order", {"order": "A"})) == "refunded 0 of A"
        return
    entry = {"type": "http", "toolsearch": settings}
    with served(shop().streamable_http_app()) as url, servers(shop={"url": f"{url}/mcp", **entry}) as source:
        assert source.issues == ()
        assert text_of(call(source, "shop", "refund_order", {"order": "A"})) == "refunded 0 of A"
        assert text_of(call(source, "shop", "count_slowly", {"steps": 2})) == "counted to 2"


def test_a_router_that_follows_embeds_only_what_has_changed() -> None:
    embedder = HashingEmbedder()
    with servers(a=scripted(tools("change", "alpha", "gamma"))) as source:
        router = ToolRouter(ScriptedChatModel([]), source.catalog, embedder=embedder, lazy=False)
        before = len(embedder.embedded)
        has_followed = threading.Event()

        def follow(catalog: Catalog) -> None:
            router.catalog = catalog
            has_followed.set()

        source.on_change(follow)
        call(source, "a", "change", {"tools": tools("change", "beta", "gamma")})
        assert has_followed.wait(20)
        assert [name for name in router.catalog if name != "a__change"] == ["a__beta", "a__gamma"]
        fresh = embedder.embedded[before:]
        assert len([text for text in fresh if "beta" in text]) == 1
        assert not [text for text in fresh if "gamma" in text]
