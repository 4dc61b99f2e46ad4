"""Calls through a gateway: progress, cancellation, logs and errors, both ways."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from tests.gateway.support import connected, gateway_of, served, text_of, until
from tests.sources.mcp.support import a_tool, scripted, sdk_server, tools
from toolsearch.naming import public_name

TRANSPORTS = ["stdio", "http"]
Transport = Literal["stdio", "http"]


async def bridged(client: Client, name: str, arguments: Any = None, **options: Any) -> types.CallToolResult:
    return await client.call_tool("call_tool", {"name": name, "arguments": arguments or {}}, **options)


@pytest.mark.parametrize("protocol", ["legacy", "auto"])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_progress_comes_through(
    transport: Transport, protocol: Literal["legacy", "auto"], tmp_path: Path
) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def used() -> str:
        async with connected(transport, tmp_path, protocol=protocol) as client:
            counted = await bridged(client, "shop__count_slowly", {"steps": 3}, progress_callback=heard)
            return text_of(counted)

    assert asyncio.run(used()) == "counted to 3"
    assert told == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_call_that_is_cancelled_is_cancelled_at_its_server(transport: Transport, tmp_path: Path) -> None:
    entries = {"post": scripted(tools("hang", "cancelled"))}

    async def used() -> None:
        async with connected(transport, tmp_path, entries) as client:
            assert text_of(await bridged(client, "post__cancelled")) == "[]"
            call = asyncio.create_task(bridged(client, "post__hang"))
            async with asyncio.timeout(20):
                while text_of(await bridged(client, "post__cancelled")) == "[]":
                    # The first of these may still find the call on its way.
                    call.cancel()
                    await asyncio.sleep(0.01)
            with pytest.raises(asyncio.CancelledError):
                await call

    asyncio.run(used())


def test_a_dead_server_disturbs_no_other_and_its_calls_fail_with_its_name(tmp_path: Path) -> None:
    listed = [a_tool("die", "Die at once"), a_tool("send", "Send a letter")]
    entries = {
        "gone": {"command": "no-such-command-at-all"},
        "post": scripted(listed),
        "shop": sdk_server(),
    }

    async def used() -> None:
        async with connected("http", tmp_path, entries) as client:
            died = await bridged(client, "post__die")
            assert died.is_error
            assert "MCP server 'post'" in text_of(died)
            assert "may have taken effect" in text_of(died)
            refunded = await bridged(client, "shop__refund_order", {"order": "B"})
            assert text_of(refunded) == "refunded 0 of B"
            found = await client.call_tool("tool_search", {"queries": ["send a letter"], "limit": 1})
            assert "post__send" in text_of(found)
            assert text_of(await bridged(client, "post__send", {"to": "Ann"})) == '{"to": "Ann"}'

    asyncio.run(used())


def test_a_server_that_is_known_and_cannot_be_started_fails_by_its_name(tmp_path: Path) -> None:
    """Its tools were listed at an earlier time, so that they are found all the same."""
    entry = {**scripted(tools("send_letter")), "cwd": str(tmp_path / "home")}
    (tmp_path / "home").mkdir()

    async def used(*, is_there: bool) -> str:
        async with connected("http", tmp_path, {"post": entry}) as client:
            found = text_of(await client.call_tool("tool_search", {"queries": ["send a letter"]}))
            assert "post__send_letter" in found
            result = await bridged(client, "post__send_letter")
            assert result.is_error is not is_there
            return text_of(result)

    asyncio.run(used(is_there=True))
    (tmp_path / "home").rmdir()
    said = asyncio.run(used(is_there=False))
    assert said.startswith("'send_letter' failed: MCP server 'post' cannot be started")
    assert said.endswith("Nothing was run.")


def test_what_a_server_refuses_is_an_error_with_its_code_or_is_said_to_the_model(tmp_path: Path) -> None:
    entries = {"post": scripted(tools("error"))}
    refusal = {"code": -32042, "message": "sign in first"}

    async def directly() -> MCPError:
        async with connected("http", tmp_path, entries, mode="all") as client:
            with pytest.raises(MCPError) as raised:
                await client.call_tool("post__error", refusal)
            return raised.value

    async def over_the_bridge() -> types.CallToolResult:
        async with connected("http", tmp_path, entries) as client:
            return await bridged(client, "post__error", refusal)

    error, said = asyncio.run(directly()), asyncio.run(over_the_bridge())
    assert str(error) == "MCP server 'post' refused the request: sign in first"
    assert error.code == -32042
    assert said.is_error
    assert "MCP server 'post' refused the request: sign in first" in text_of(said)


def test_results_come_whole_with_addresses_that_can_be_read(tmp_path: Path) -> None:
    link = {"type": "resource_link", "name": "terms", "uri": "shop://terms"}
    result = {
        "content": [
            {"type": "text", "text": "see"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            link,
            {"type": "resource", "resource": {"uri": "shop://a b", "text": "t"}},
        ],
        "structuredContent": {"n": 1},
        "_meta": {"example.org/kept": 1},
    }

    async def used() -> types.CallToolResult:
        async with connected("http", tmp_path, {"my post": scripted(tools("raw"))}) as client:
            return await bridged(client, public_name("my post", "raw"), {"result": result})

    passed = asyncio.run(used())
    assert [block.type for block in passed.content] == ["text", "audio", "resource_link", "resource"]
    assert passed.content[2].uri == "toolsearch://my%20post/shop://terms"  # type: ignore[union-attr]
    assert passed.content[3].resource.uri == "toolsearch://my%20post/shop://a b"  # type: ignore[union-attr]
    assert passed.structured_content == {"n": 1}
    assert (passed.meta or {}).get("example.org/kept") == 1


def test_a_long_result_is_cut_with_a_notice(tmp_path: Path) -> None:
    entries = {"post": scripted(tools("big"), settings={"max_result_chars": 10})}

    async def used() -> str:
        async with connected("http", tmp_path, entries) as client:
            return text_of(await bridged(client, "post__big", {"unit": "ab", "times": 600}))

    assert asyncio.run(used()) == "ababababab\n[1,190 characters more were cut off.]"


@pytest.mark.parametrize(
    ("settings", "is_told"), [({}, False), ({"context": ["session_id"]}, True)], ids=["nothing", "session"]
)
def test_a_server_learns_the_session_of_a_client_only_where_it_is_configured(
    settings: dict[str, Any], is_told: bool, tmp_path: Path
) -> None:
    """(E159)"""
    entries = {"shop": sdk_server(toolsearch=settings)}

    async def used() -> str:
        async with connected("http", tmp_path, entries) as client:
            return text_of(await bridged(client, "shop__what_is_told", meta={"secret": "s"}))

    said = asyncio.run(used())
    assert ("session_id" in said) is is_told
    assert "secret" not in said


def test_what_a_server_logs_is_told_to_the_client_that_calls_it(tmp_path: Path) -> None:
    entries = {"post": scripted(tools("log", "level"), logging=True)}

    async def used() -> None:
        one: list[types.LoggingMessageNotificationParams] = []
        two: list[types.LoggingMessageNotificationParams] = []

        async def first_hears(params: types.LoggingMessageNotificationParams) -> None:
            one.append(params)

        async def second_hears(params: types.LoggingMessageNotificationParams) -> None:
            two.append(params)

        async with (
            served(gateway_of(tmp_path, entries)) as url,
            Client(streamable_http_client(url), mode="legacy", logging_callback=first_hears) as first,
            Client(streamable_http_client(url), mode="legacy", logging_callback=second_hears) as second,
        ):
            await bridged(second, "post__level")
            await bridged(first, "post__log", {"level": "info", "data": "sent", "logger": "mail"})
            await until(lambda: one)
            assert [(each.level, each.data, each.logger) for each in one] == [("info", "sent", "post/mail")]
            with pytest.warns(MCPDeprecationWarning, match="logging"):
                await first.set_logging_level("error")
            assert text_of(await bridged(first, "post__level")) == "error"
            await bridged(first, "post__log", {"level": "info", "data": "quiet"})
            await bridged(first, "post__log", {"level": "alert", "data": "loud"})
            await until(lambda: len(one) > 1)
            assert [each.data for each in one] == ["sent", "loud"]
            assert two == []

    asyncio.run(used())
