import json

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from starlette.testclient import TestClient

from tests.cli.conftest import Run, run  # noqa: F401 - a fixture
from tests.serving import shop
from toolsearch import mcp_server
from toolsearch.serving.mcp_transports import http_app

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
HEADERS = {"Accept": "application/json, text/event-stream", "Host": "127.0.0.1:80"}


def status(headers: dict[str, str], **settings: object) -> int:
    app = http_app(mcp_server(shop.TOOLS), **settings)  # type: ignore[arg-type]
    with TestClient(app, base_url="http://127.0.0.1:80") as client:
        return client.post(
            "/mcp", content=json.dumps(HELLO), headers={**HEADERS, **JSON, **headers}
        ).status_code


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 200),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Host": "evil.example.org"}, 421),
        ({"Origin": "https://evil.example.org"}, 403),
    ],
)
def test_only_this_machine_and_what_is_allowed_gets_in(headers: dict[str, str], expected: int) -> None:
    assert status(headers) == expected


def test_other_names_can_be_allowed() -> None:
    assert status({"Host": "tools.example.org"}, hosts=["tools.example.org"]) == 200
    assert status({"Origin": "https://app.example.org"}, origins=["https://app.example.org"]) == 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer secre"}, 401),
        ({"Authorization": "secret"}, 401),
        ({"Authorization": "Bearer secret"}, 200),
    ],
)
def test_with_a_token_nobody_gets_in_without_it(headers: dict[str, str], expected: int) -> None:
    assert status(headers, token="secret") == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--http", "8000"), "HOST:PORT"),
        (("--http", "0.0.0.0:8000"), "a token is needed"),
        (("--http", "127.0.0.1:8000", "--token-env", "NO_SUCH_TOKEN"), "NO_SUCH_TOKEN is not set"),
    ],
)
def test_the_command_refuses_what_is_not_safe(run: Run, arguments: tuple[str, ...], said: str) -> None:  # noqa: F811
    done = run("mcp", "serve", "tests.serving.shop:TOOLS", *arguments)
    assert (done.code, said in done.err) == (2, True)
