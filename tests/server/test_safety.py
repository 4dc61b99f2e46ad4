"""What docs/security.md says of the service, as far as no other test shows it."""

import asyncio
import hashlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import Served, StuckEmbedder, service
from toolsearch.api.keys import NewKey
from toolsearch.api.scopes import KeyScope
from toolsearch.server.keys import StoredKey, make_key
from toolsearch.tools import JsonObject, Tool, ToolContext

TOOLS = (
    Tool(raw_name="send_email", source="mail", description="Send an email message."),
    Tool(raw_name="search_mail", source="mail", description="Find emails by text."),
    Tool(raw_name="raise_wages", source="finance", description="Raise the wages of somebody."),
    Tool(raw_name="cut_wages", source="finance", description="Cut the wages of somebody."),
)
PERMITTED = TOOLS[:2]


@pytest.fixture
def served() -> Iterator[Served]:
    with service(TOOLS) as served:
        yield served


def test_of_a_key_only_its_hash_is_written_down(tmp_path: Path) -> None:
    file = tmp_path / "service.db"
    with service(TOOLS, database=file) as served:
        made = served.http.post("/v1/keys", json={"name": "x", "scopes": ["admin"]}).json()
        assert served.as_key(made["secret"]).get("/v1/keys").is_success
        written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    random = made["secret"].split("_", 2)[2]
    assert len(random) == 43
    assert random.encode() not in written
    assert hashlib.sha256(made["secret"].encode()).digest() in written


def test_what_any_store_of_keys_is_given_holds_no_secret() -> None:
    stored, made = make_key(NewKey(name="x"), now=0.0)
    assert isinstance(stored, StoredKey)
    assert stored.digest == hashlib.sha256(made.secret.encode()).digest()
    assert made.secret.split("_", 2)[2] not in repr(stored)


def _stuck() -> Tool:
    async def run(arguments: JsonObject, context: ToolContext) -> str:
        del arguments, context
        await asyncio.Event().wait()
        return "never"

    return Tool(raw_name="send_email", source="mail", call=run)


def _sends() -> Tool:
    async def run(arguments: JsonObject, context: ToolContext) -> str:
        del arguments, context
        return "sent"

    return Tool(raw_name="send_email", source="mail", call=run)


CALL: Any = {"name": "mail__send_email", "arguments": {}}


def test_each_scope_opens_what_it_is_for() -> None:
    """That it opens nothing else: `test_a_key_does_what_its_scope_says_and_nothing_else`."""
    opened: list[tuple[KeyScope, str, str, Any]] = [
        (KeyScope.SEARCH, "POST", "/v1/search", {"queries": "mail"}),
        (KeyScope.MANAGE, "PATCH", "/v1/tools/mail__send_email", {"title": "Send"}),
        (KeyScope.CALL, "POST", "/v1/calls", CALL),
        (KeyScope.ADMIN, "GET", "/metrics", None),
        (KeyScope.ADMIN, "GET", "/v1/keys", None),
    ]
    with service(TOOLS, callable_tools=(_sends(),)) as served:
        for scope, method, path, body in opened:
            assert served.as_key(served.key(scope)).request(method, path, json=body).is_success, (scope, path)
            everything = served.as_key(served.key(KeyScope.ADMIN))
            assert everything.request(method, path, json=body).is_success, path
            others = served.as_key(served.key(*set(KeyScope) - {scope, KeyScope.ADMIN}))
            assert others.request(method, path, json=body).status_code == 403, (scope, path)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs a network of loopback addresses")
def test_by_default_it_listens_on_one_address_of_this_machine(served: Served) -> None:
    address = urlsplit(served.url)
    assert (address.hostname, served.app.state.service.settings.host) == ("127.0.0.1", "127.0.0.1")
    for other in ("127.0.0.2", "::1"):
        family = socket.AF_INET6 if ":" in other else socket.AF_INET
        with socket.socket(family) as client, pytest.raises(OSError, match=r"."):
            client.connect((other, address.port))


def test_tools_that_a_key_may_not_know_of_take_no_place_among_the_best(served: Served) -> None:
    part = served.as_key(served.key(sources=("mail",)))
    with service(PERMITTED) as alone:
        for query in ("raise the wages of somebody", "cut wages", "send an email message"):
            body = {"queries": query, "k": 2, "near": 5}
            assert served.http.post("/v1/search", json=body).status_code == 401
            found, expected = (client.post("/v1/search", json=body).json() for client in (part, alone.http))
            assert {hit["name"] for hit in found["hits"]} == {tool.name for tool in PERMITTED}
            assert found["returned_tokens"] == expected["returned_tokens"]
            assert found["spared_tokens"] == expected["spared_tokens"]
        used, expected = (client.get("/v1/usage").json()["total"] for client in (part, alone.http))
        assert used == expected


def test_every_refusal_has_the_headers_that_keep_browsers_from_guessing() -> None:
    embedder = StuckEmbedder("stuck query")
    with service(
        TOOLS, embedder=embedder, timeout_s=0.5, max_running=1, max_waiting=0, max_body_bytes=2000
    ) as served:
        key, search = served.as_key(served.key()), {"queries": "mail"}
        answers = {
            401: served.http.get("/v1/tools"),
            403: key.delete("/v1/tools/mail__send_email"),
            404: key.get("/v1/tools/none"),
            405: key.delete("/v1/search"),
            413: key.post("/v1/search", json={"queries": "a " * 2000}),
            422: key.post("/v1/search", json={}),
            504: key.post("/v1/search", json={"queries": "stuck query"}),
            429: key.post("/v1/search", json=search),
        }
        embedder.release.set()
        for status, answer in answers.items():
            assert answer.status_code == status
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["content-security-policy"].startswith("default-src 'none'")
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "no-referrer"


def test_a_called_tool_has_its_time() -> None:
    with service(TOOLS, callable_tools=(_stuck(),), call_timeout_s=0.2) as served:
        told = served.http.post("/v1/calls", json=CALL).json()
    assert told["is_error"]
    assert "never" not in told["text"]


def test_as_many_names_and_hits_as_fit_may_be_asked_for_and_no_more(served: Served) -> None:
    http = served.http
    names = [f"tool_{number}" for number in range(1001)]
    for body in (
        {"queries": "mail", "k": 1001},
        {"queries": "mail", "near": 1001},
        {"queries": "mail", "allow": names},
        {"queries": "mail", "exclude": names},
        {"queries": ["mail"] * 17},
        {"queries": "a" * 100_001},
        {"queries": "mail", "allow": ["a" * 201]},
    ):
        assert http.post("/v1/search", json=body).status_code == 422, body.keys()
    assert http.post("/v1/sessions/s/load", json={"names": names}).status_code == 422
    assert http.get("/v1/tools", params={"limit": 501}).status_code == 422


def test_globs_of_a_caller_are_fast_whatever_they_look_like() -> None:
    """They become regular expressions, which could otherwise be made to try all ways to fit."""
    long = Tool(raw_name="a" * 5000, description="A tool with a long name.")
    with service((*TOOLS, long)) as served:
        globs = ["*a" * 99 + "*b", "a*" * 99 + "b", "*" * 199 + "b", "[a" * 60, "[!" * 60, "?*" * 99 + "b"]
        began = time.monotonic()
        for glob in globs:
            for rule in ("allow", "deny"):
                body = {"queries": "mail", rule: [glob] * 20}
                assert served.http.post("/v1/search", json=body).status_code == 200
        assert time.monotonic() - began < 20
        key = served.as_key(served.key(deny=tuple(globs)))
        assert key.get("/v1/tools").json()["total"] == len(TOOLS) + 1
    assert time.monotonic() - began < 30


PIECES = (
    " ",
    "\n",
    "a",
    "A",
    "aA",
    "1.",
    "中",
    "_",
    "a-",
    "a ",
    ". ",
    ", ",
    "(",
    "[",
    "<a",
    "<!--",
    '"',
    "](",
    "- ",
)


@pytest.mark.parametrize("piece", PIECES)
def test_no_text_of_a_caller_holds_up_a_regular_expression(served: Served, piece: str) -> None:
    """Which could not be interrupted, and would hold up every other request."""
    text = piece * (40_000 // len(piece)) + "!"
    tool = {"name": "x", "server": "mail", "description": f"You must always call {text}"}
    asked: list[tuple[str, str, Any]] = [
        ("POST", "/v1/search", {"queries": [f"mail {text}", f"{text} and then send"]}),
        ("POST", "/v1/sessions/s/search", {"arguments": {"queries": [f"x {text}"]}}),
        ("PUT", "/v1/tools/mail__x", tool),
        ("GET", "/v1/catalogs/default/lint", None),
        ("GET", "/v1/catalogs/default/tools?form=anthropic", None),
    ]
    for method, path, body in asked:
        began = time.monotonic()
        assert served.http.request(method, path, json=body).status_code < 300, path
        assert time.monotonic() - began < 8, path
