"""Resources and prompts of the servers behind a gateway."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("mcp", reason="needs the extra mcp")

import mcp_types as types
from mcp.shared.exceptions import MCPError

from tests.gateway.support import connected
from tests.sources.mcp.support import scripted, sdk_server, tools
from toolsearch.gateway.uris import gateway_uri, upstream_uri

SHOPS = {"shop": sdk_server("papers"), "other shop": sdk_server("papers"), "post": scripted(tools("send"))}


@settings(deadline=None)
@given(
    server=st.text(min_size=1),
    uri=st.text(min_size=1),
    other=st.tuples(st.text(min_size=1), st.text(min_size=1)),
)
def test_an_address_leads_back_to_one_server_and_its_own_address(
    server: str, uri: str, other: tuple[str, str]
) -> None:
    try:
        server.encode()
        other[0].encode()
    except UnicodeEncodeError:
        return
    assert upstream_uri(gateway_uri(server, uri)) == (server, uri)
    assert (gateway_uri(server, uri) == gateway_uri(*other)) is ((server, uri) == other)


@pytest.mark.parametrize("uri", ["shop://terms", "toolsearch://", "toolsearch://shop", "toolsearch://shop/"])
def test_other_addresses_lead_nowhere(uri: str) -> None:
    assert upstream_uri(uri) is None


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_resources_and_prompts_of_all_servers_are_listed_and_read(
    transport: Literal["stdio", "http"], tmp_path: Path
) -> None:
    async def used() -> None:
        async with connected(transport, tmp_path, SHOPS) as client:
            resources = (await client.list_resources()).resources
            assert [each.uri for each in resources] == [
                "toolsearch://shop/shop://terms",
                "toolsearch://other%20shop/shop://terms",
            ]
            for each in resources:
                read = (await client.read_resource(each.uri)).contents[0]
                assert isinstance(read, types.TextResourceContents)
                assert (read.uri, read.text) == (each.uri, "No refunds after 30 days.")
            templates = (await client.list_resource_templates()).resource_templates
            assert [each.uri_template for each in templates] == [
                "toolsearch://shop/shop://orders/{number}",
                "toolsearch://other%20shop/shop://orders/{number}",
            ]
            order = (await client.read_resource("toolsearch://shop/shop://orders/7")).contents[0]
            assert isinstance(order, types.TextResourceContents)
            assert order.text == "order 7"

            prompts = (await client.list_prompts()).prompts
            assert [each.name.partition("__")[0] for each in prompts] == ["shop", "other_shop"]
            for prompt in prompts:
                told = await client.get_prompt(prompt.name, {"customer": "Ann"})
                assert told.messages[0].content.text == "Apologise to Ann."  # type: ignore[union-attr]

    asyncio.run(used())


def test_arguments_are_completed_by_the_server_that_has_them(tmp_path: Path) -> None:
    async def used() -> tuple[list[str], list[str]]:
        async with connected("http", tmp_path, SHOPS) as client:
            prompt = types.PromptReference(name="shop__apology")
            template = types.ResourceTemplateReference(uri="toolsearch://shop/shop://orders/{number}")
            names = await client.complete(prompt, {"name": "customer", "value": "A"})
            numbers = await client.complete(template, {"name": "number", "value": "1"})
            return names.completion.values, numbers.completion.values

    assert asyncio.run(used()) == (["Ann", "Amir"], ["17", "18"])


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("shop://terms", "There is no resource 'shop://terms'."),
        ("toolsearch://bank/shop://terms", "There is no resource 'toolsearch://bank/shop://terms'."),
        ("toolsearch://shop/shop://nothing", "MCP server 'shop' refused the request: "),
        ("toolsearch://gone/x://y", "MCP server 'gone' is down"),
    ],
)
def test_a_resource_that_cannot_be_read_is_an_error_that_names_its_server(
    uri: str, said: str, tmp_path: Path
) -> None:
    async def used() -> str:
        entries = {**SHOPS, "gone": {"command": "no-such-command-at-all"}}
        async with connected("http", tmp_path, entries) as client:
            with pytest.raises(MCPError) as raised:
                await client.read_resource(uri)
            return str(raised.value)

    assert said in asyncio.run(used())


def test_an_unknown_prompt_is_answered_with_near_ones(tmp_path: Path) -> None:
    async def used() -> str:
        async with connected("http", tmp_path, SHOPS) as client:
            with pytest.raises(MCPError) as raised:
                await client.get_prompt("shop__apologie")
            return str(raised.value)

    assert "There is no prompt 'shop__apologie'. Did you mean shop__apology" in asyncio.run(used())


def test_a_dead_server_takes_nothing_from_the_lists_of_others(tmp_path: Path) -> None:
    async def used() -> list[str]:
        entries = {"gone": {"command": "no-such-command-at-all"}, "shop": SHOPS["shop"]}
        async with connected("http", tmp_path, entries) as client:
            return [each.name for each in (await client.list_prompts()).prompts]

    assert asyncio.run(used()) == ["shop__apology"]


def test_what_is_known_of_a_server_is_listed_without_starting_it(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    entry: dict[str, Any] = sdk_server("papers", env={"STARTED": str(mark)})

    async def used() -> tuple[list[str], list[str]]:
        async with connected("http", tmp_path, {"shop": entry}) as client:
            resources = [each.uri for each in (await client.list_resources()).resources]
            return resources, [each.name for each in (await client.list_prompts()).prompts]

    first = asyncio.run(used())
    assert mark.read_text() == "1"
    assert asyncio.run(used()) == first
    assert mark.read_text() == "1"
