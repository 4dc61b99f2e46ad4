"""Our own source of MCP servers, connected to our own server."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from tests.serving import shop
from toolsearch.messages import ImagePart
from toolsearch.sources.mcp.servers import McpServers
from toolsearch.trust import TrustFile, TrustGuard, TrustPolicy

ROOT = Path(__file__).parents[2]


def opened(trust: Path, policy: Any = "hold") -> McpServers:
    """The shop as a process of its own, behind a trust file."""
    entry = {
        "command": sys.executable,
        "args": ["-m", "toolsearch", "mcp", "serve", "tests.serving.shop:TOOLS"],
        "cwd": str(ROOT),
        "env": {"PYTHONPATH": str(ROOT)},
    }
    return McpServers.from_config({"mcpServers": {"shop": entry}}, admit=TrustGuard(trust, policy))


def test_what_we_serve_comes_back_as_it_was(tmp_path: Path) -> None:
    with opened(tmp_path / "trust.json") as source:
        tools = {tool.raw_name: tool for tool in source.catalog.values()}
        assert tools.keys() == {tool.name for tool in shop.TOOLS}
        assert (tools["add"].description, tools["add"].read_only) == (shop.add.description, True)
        assert tools["add"].input_schema == shop.add.input_schema
        result = tools["add"].call_sync({"a": 2})
        assert (result.structured, result.is_error) == ({"sum": 3}, False)
        assert tools["fail"].call_sync({"how": "said"}).is_error
        pictures = [part for part in tools["picture"].call_sync({}).content if isinstance(part, ImagePart)]
        assert pictures == [ImagePart.of(shop.PIXEL)]


def test_a_server_behind_a_guard_offers_what_is_approved(tmp_path: Path) -> None:
    """(E161)"""
    trust = tmp_path / "trust.json"
    with opened(trust, TrustPolicy(first="hold")) as source:
        assert not source.catalog
    TrustFile(trust).update(lambda record: (record.approved("shop", ["add"]), None))
    with opened(trust) as source:
        assert list(source.catalog) == ["shop__add"]
