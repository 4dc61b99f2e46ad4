"""The configuration that the README prints, as a client starts it, with servers of this repository."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.gateway.support import names_of, text_of, two_servers
from tests.sources.mcp.support import ROOT
from toolsearch.gateway.client_files import client_file
from toolsearch.gateway.install import plan_install
from toolsearch.sources.mcp.config import read_mcp_config

README = (ROOT / "README.md").read_text(encoding="utf-8")


def printed(marker: str) -> str:
    found = re.search(rf"<!-- {marker} -->\n```json\n(.+?)\n```", README, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.skipif(
    not Path(sys.executable).with_name("toolsearch").exists(), reason="the command is not installed"
)
def test_one_entry_puts_all_servers_behind_the_search(tmp_path: Path) -> None:
    servers = json.loads(printed("servers"))["mcpServers"]
    # In place of the servers that it names, which would be downloaded, and with folders that a test may fill.
    mine = tmp_path / "mcp.json"
    mine.write_text(json.dumps({"mcpServers": dict(zip(servers, two_servers().values(), strict=True))}))
    (entry,) = json.loads(printed("client entry").replace("/home/me/mcp.json", str(mine)))[
        "mcpServers"
    ].values()
    folders = {
        "TOOLSEARCH_CACHE_DIR": str(tmp_path / "cache"),
        "TOOLSEARCH_CONFIG_DIR": str(tmp_path / "config"),
    }
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    started = StdioServerParameters(**entry, env={"PATH": path, **folders})

    async def used() -> None:
        with (tmp_path / "log").open("w") as log:
            async with Client(stdio_client(started, errlog=log)) as client:
                listed = await client.list_tools()
                assert names_of(listed) == ["tool_search", "describe_tool", "call_tool"]
                assert f"Servers: {', '.join(sorted(servers))}." in str(listed.tools[0].description)
                found = text_of(
                    await client.call_tool("tool_search", {"queries": ["give money back"], "limit": 1})
                )
                name = f"{next(iter(servers))}__refund_order"
                assert f"- {name}" in found
                refund = {"name": name, "arguments": {"order": "A-17"}}
                assert text_of(await client.call_tool("call_tool", refund)) == "refunded 0 of A-17"

    asyncio.run(used())


def test_what_the_installer_makes_of_these_servers_is_what_is_printed(tmp_path: Path) -> None:
    client = client_file("cursor", home=tmp_path)
    client.path.parent.mkdir()
    client.path.write_text(printed("servers"))
    plan = plan_install(client, tmp_path / "mcp.json", take_over=True)
    for change in plan.changes:
        change.apply()
    assert json.loads((tmp_path / "mcp.json").read_text()) == json.loads(printed("servers"))
    (entry,) = json.loads(client.path.read_text())["mcpServers"].values()
    assert entry["args"][-2:] == ["gateway", str(tmp_path / "mcp.json")]
    assert {each.name for each in read_mcp_config(tmp_path / "mcp.json")} == {"time", "git"}
