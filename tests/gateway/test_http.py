"""Who gets into a gateway over HTTP, and what the command takes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import httpx2

from tests.cli.conftest import Run, catalog, run  # noqa: F401 - fixtures
from tests.gateway.support import gateway_of, served
from tests.serving.test_mcp_transports import HELLO, JSON


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Authorization": "Bearer secret"}, 200),
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer secret", "Host": "evil.example.org"}, 421),
        ({"Authorization": "Bearer secret", "Origin": "https://evil.example.org"}, 403),
    ],
)
def test_only_this_machine_with_the_token_gets_in(
    headers: dict[str, str], expected: int, tmp_path: Path
) -> None:
    async def status() -> int:
        sent = {**JSON, "Accept": "application/json, text/event-stream", **headers}
        async with served(gateway_of(tmp_path), token="secret") as url, httpx2.AsyncClient() as client:
            return (await client.post(url, content=json.dumps(HELLO), headers=sent)).status_code

    assert asyncio.run(status()) == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--http", "0.0.0.0:8000"), "a token is needed"),
        (("--http", "8000"), "HOST:PORT"),
        ((), "give a file with mcpServers or an OpenAPI document"),
        (("serve",), "give a file with mcpServers or an OpenAPI document"),
        (("nowhere.json",), "nowhere.json"),
    ],
)
def test_the_command_refuses_what_cannot_be_served(
    run: Run,  # noqa: F811
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOOLSEARCH_CONFIG_DIR", str(tmp_path))
    done = run("gateway", *arguments)
    assert done.code == 2
    assert said in " ".join(done.err.replace("│", " ").split())


def test_definitions_without_what_calls_them_are_refused(run: Run, catalog: Path) -> None:  # noqa: F811
    done = run("gateway", catalog)
    assert done.code == 2
    assert str(catalog) in done.err
