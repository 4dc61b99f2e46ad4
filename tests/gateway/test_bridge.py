"""Bridge: the official client searches, describes and calls through three tools, over both transports."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.gateway.support import (
    LETTERS,
    as_process,
    connected,
    gateway_of,
    names_of,
    served,
    text_of,
    two_servers,
)
from tests.sources.mcp.support import a_tool, scripted, tools

Transport = Literal["stdio", "http"]
Protocol = Literal["legacy", "auto"]
WAYS = [(transport, protocol) for transport in ("stdio", "http") for protocol in ("legacy", "auto")]


@pytest.mark.parametrize(("transport", "protocol"), WAYS)
def test_a_client_searches_describes_and_calls(
    transport: Transport, protocol: Protocol, tmp_path: Path
) -> None:
    async def used() -> None:
        async with connected(transport, tmp_path, protocol=protocol) as client:
            assert names_of(await client.list_tools()) == ["tool_search", "describe_tool", "call_tool"]
            found = text_of(
                await client.call_tool("tool_search", {"queries": ["refund an order"], "limit": 1})
            )
            assert found.startswith(
                "Found 1 tool. Run it with call_tool:\n- shop__refund_order: Pay money of"
            )
            assert '"required":["order"]' in found
            letters = text_of(
                await client.call_tool("tool_search", {"queries": ["letter"], "server": "post"})
            )
            assert "- post__send_letter: Send a letter by post" in letters
            described = text_of(await client.call_tool("describe_tool", {"names": ["shop__refund_order"]}))
            assert "server: shop" in described
            assert '"amount":{"default":0.0' in described
            refund = {"name": "shop__refund_order", "arguments": {"order": "A-17", "amount": 2}}
            refunded = await client.call_tool("call_tool", refund)
            assert (text_of(refunded), refunded.is_error) == ("refunded 2 of A-17", False)
            letter = {"name": "post__send_letter", "arguments": {"to": "Ann"}}
            assert text_of(await client.call_tool("call_tool", letter)) == '{"to": "Ann"}'

    asyncio.run(used())


def ask(tmp_path: Path, work: Callable[[Client], Awaitable[Any]], entries: Any = None, **options: Any) -> Any:
    """What `work` comes to with a client over HTTP."""

    async def asked() -> Any:
        async with connected("http", tmp_path, entries, **options) as client:
            return await work(client)

    return asyncio.run(asked())


def test_the_tools_of_a_bridge_never_change(tmp_path: Path) -> None:
    """Neither with what is behind it, nor with whether that is there (P35)."""

    async def listed(client: Client) -> str:
        return (await client.list_tools()).model_dump_json(exclude={"meta"})

    there = ask(tmp_path, listed)
    gone = {name: {"command": "no-such-command-at-all"} for name in reversed(two_servers())}
    assert ask(tmp_path, listed, gone) == there
    assert "Servers: post, shop." in there


def test_a_name_that_is_not_there_is_answered_with_near_ones(tmp_path: Path) -> None:
    async def called(client: Client) -> Any:
        return await client.call_tool("call_tool", {"name": "shop__refund_orders", "arguments": {}})

    result = ask(tmp_path, called)
    assert result.is_error
    assert text_of(result).startswith(
        "There is no tool 'shop__refund_orders'. Did you mean shop__refund_order"
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("call_tool", {"name": "shop__fail"}, "Error executing tool fail"),
        ("call_tool", {"tool": "shop__fail"}, 'call_tool takes {"name": NAME'),
        ("call_tool", {"name": "shop__fail", "arguments": "[1]"}, "JSON object"),
        ("describe_tool", {"names": []}, "'names' must be a list"),
        ("describe_tool", {"names": ["nothing"]}, "There is no tool 'nothing'"),
        ("tool_search", {"queries": []}, "'queries' must be a list"),
        (
            "tool_search",
            {"queries": ["x"], "server": "bank"},
            "There is no server 'bank'. There are post, shop.",
        ),
    ],
)
def test_what_is_asked_wrongly_is_said_to_the_model(
    tool: str, arguments: dict[str, Any], said: str, tmp_path: Path
) -> None:
    async def called(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    result = ask(tmp_path, called)
    assert result.is_error
    assert said in text_of(result)


def test_arguments_may_be_json_in_a_text(tmp_path: Path) -> None:
    async def called(client: Client) -> Any:
        return await client.call_tool("call_tool", {"name": "post__send_letter", "arguments": '{"to": "Bo"}'})

    assert text_of(ask(tmp_path, called)) == '{"to": "Bo"}'


@pytest.mark.parametrize(
    ("result", "told", "structured"),
    [
        ({"content": [], "structuredContent": {"balance": 42}}, '{"balance": 42}', {"balance": 42}),
        ({"content": [{"type": "text", "text": ""}], "structuredContent": {"a": 1}}, '{"a": 1}', {"a": 1}),
        ({"content": [], "structuredContent": [1, 2]}, "[1, 2]", None),
        ({"content": [{"type": "text", "text": "42"}], "structuredContent": {"b": 42}}, "42", {"b": 42}),
    ],
)
def test_structured_content_alone_is_text_too(
    result: Any, told: str, structured: Any, tmp_path: Path
) -> None:
    """E61"""
    arguments = {"name": "post__raw", "arguments": {"result": result}}
    answer = ask(
        tmp_path, lambda client: client.call_tool("call_tool", arguments), {"post": scripted(tools("raw"))}
    )
    assert (text_of(answer), answer.structured_content) == (told, structured)


def test_a_search_says_everything_again_to_another_conversation(tmp_path: Path) -> None:
    async def searched(client: Client) -> list[str]:
        return [
            text_of(await client.call_tool("tool_search", {"queries": ["send a letter"], "limit": 1}))
            for _ in range(4)
        ]

    first, *others = ask(tmp_path, searched)
    assert "- post__send_letter" in first
    assert others == [first] * 3


def test_a_change_at_a_server_is_searched_without_a_restart(tmp_path: Path) -> None:
    """(E142)"""
    entries = {"post": scripted([*tools("change"), a_tool("old", "Old things")])}

    async def changed(client: Client) -> str:
        newer = [*tools("change"), a_tool("fly_kite", "Fly a kite in the wind")]
        await client.call_tool("call_tool", {"name": "post__change", "arguments": {"tools": newer}})
        async with asyncio.timeout(20):
            while True:
                found = text_of(await client.call_tool("tool_search", {"queries": ["kite in the wind"]}))
                if "fly_kite" in found:
                    return text_of(
                        await client.call_tool("call_tool", {"name": "post__fly_kite", "arguments": {}})
                    )
                await asyncio.sleep(0.01)

    assert ask(tmp_path, changed, entries) == "{}"


def test_the_index_is_kept_and_only_what_changed_is_embedded(tmp_path: Path) -> None:
    from toolsearch.cli.embedding import CountingEmbedder
    from toolsearch.testing import HashingEmbedder

    async def searched(*listed: Any) -> int:
        embedder = CountingEmbedder(HashingEmbedder())
        gateway = gateway_of(tmp_path, {"post": scripted(listed)}, embedder=lambda: embedder)
        async with served(gateway) as url, Client(streamable_http_client(url)) as client:
            await client.call_tool("tool_search", {"queries": ["a letter"]})
        return embedder.n_texts

    three = [a_tool(name, f"{name} a letter") for name in ("send", "read", "burn")]
    assert asyncio.run(searched(*three)) >= 3
    kept = asyncio.run(searched(*three))
    assert kept == 0
    newer = asyncio.run(searched(*three[:2], a_tool("burn", "burn a house")))
    assert newer <= 1


def test_a_gateway_among_its_own_servers_is_left_out(tmp_path: Path) -> None:
    from toolsearch.gateway.sources import load_sources

    started = as_process(
        tmp_path, {"search": {"command": "toolsearch", "args": ["gateway", "mcp.json"]}, **two_servers()}
    )
    sources = load_sources([started.args[2]])
    assert [config.name for config in sources.servers] == ["shop", "post"]
    assert [str(issue) for issue in sources.issues] == [
        "MCP server 'search': error: it is a gateway itself, and left out."
    ]


def test_definitions_without_measure_are_shown_in_part_and_hold_up_nobody(tmp_path: Path) -> None:
    """E164"""
    entries = {"hostile": scripted(LETTERS, huge=True), "post": scripted(LETTERS)}

    async def used() -> tuple[str, str]:
        async with connected("http", tmp_path, entries) as client:
            long = await client.call_tool("tool_search", {"queries": ["select:hostile__long"], "limit": 20})
            other = await client.call_tool("tool_search", {"queries": ["send a letter"], "limit": 2})
            return text_of(long), text_of(other)

    found, other = asyncio.run(used())
    assert "post__send_letter" in other
    assert "hostile__send_letter" in other
    assert "hostile__long" in found
    assert len(found) < 100_000
    assert "…" in found
