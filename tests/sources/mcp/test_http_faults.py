"""What goes wrong over HTTP: credentials, lost sessions, answers that break off, drip or never end."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.sources.mcp.support import call, served, servers, text_of, tools
from toolsearch.exceptions import McpCallError, McpError
from toolsearch.sources.mcp.servers import McpServers
from toolsearch.tools import JsonObject

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Gate:
    """A server over HTTP of a few lines; `mood` is what it does with calls.

    Attributes:
        n_calls: Calls that reached a tool.
        sessions: Those that it knows of.
        headers: Of the last request.
        issuer: Of tokens, which it gives out itself.
    """

    def __init__(self) -> None:
        self.mood = "fine"
        self.n_calls = 0
        self.sessions: list[str] = []
        self.headers: dict[str, str] = {}
        self.cancelled: list[Any] = []
        self.issuer = ""
        self.n_tokens = 0

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        self.headers = {key.decode(): value.decode() for key, value in scope["headers"]}
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        if scope["path"] != "/mcp":
            await self._authorize(scope["path"], body.decode(), send)
        elif scope["method"] == "GET":
            await _answer(send, 405)
        elif scope["method"] == "DELETE":
            await _answer(send, 200)
        else:
            await self._post(json.loads(body), send)

    async def _authorize(self, path: str, body: str, send: Send) -> None:
        """The parts of OAuth: what the resource needs, who gives tokens, and a token."""
        known: dict[str, Any] = {
            "/.well-known/oauth-protected-resource/mcp": {
                "resource": f"{self.issuer}/mcp",
                "authorization_servers": [self.issuer],
            },
            "/.well-known/oauth-authorization-server": {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "grant_types_supported": ["client_credentials"],
                "response_types_supported": ["code"],
            },
        }
        if path == "/token" and "grant_type=client_credentials" in body:
            secret = base64.b64encode(b"me:the-secret-of-the-client").decode()
            assert self.headers["authorization"] == f"Basic {secret}"
            self.n_tokens += 1
            token = {"access_token": "s3cret-token", "token_type": "Bearer", "expires_in": 3600}
            await _answer(send, 200, json.dumps(token).encode())
        elif path in known:
            await _answer(send, 200, json.dumps(known[path]).encode())
        else:
            await _answer(send, 404)

    async def _post(self, message: dict[str, Any], send: Send) -> None:
        method = message["method"]
        if "id" not in message:
            if method == "notifications/cancelled":
                self.cancelled.append(message["params"]["requestId"])
            await _answer(send, 202)
            return
        if self.mood == "401" or (
            self.mood == "bearer" and self.headers.get("authorization") != "Bearer s3cret-token"
        ):
            await _answer(send, 401)
            return
        if method == "initialize":
            self.sessions.append(f"s{len(self.sessions)}")
            result: Any = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "gate", "version": "1"},
            }
            await _answer(
                send, 200, _reply(message, result), [(b"mcp-session-id", self.sessions[-1].encode())]
            )
            return
        if self.headers.get("mcp-session-id") not in self.sessions:
            await _answer(send, 404)
        elif method == "tools/list" and self.mood.startswith("deep"):
            levels = int(self.mood.split()[1])
            schema = '{"properties": {"a": ' * levels + "{}" + "}}" * levels
            listed = json.dumps({"tools": [*tools("count"), {"name": "deep", "inputSchema": {}}]})
            body = (
                _reply(message, 0)[:-2]
                + listed.replace('"inputSchema": {}', f'"inputSchema": {schema}').encode()
            )
            if self.mood.endswith("events"):
                kind = [(b"content-type", b"text/event-stream")]
                await _answer(send, 200, b"event: message\ndata: " + body + b"}\n\n", kind)
            else:
                await _answer(send, 200, body + b"}")
        elif method == "tools/list":
            await _answer(send, 200, _reply(message, {"tools": tools("count")}))
        else:
            self.n_calls += 1
            await self._call(message, send)

    async def _call(self, message: dict[str, Any], send: Send) -> None:
        whole = _reply(message, {"content": [{"type": "text", "text": str(self.n_calls)}]})
        if self.mood == "500":
            await _answer(send, 500)
        elif self.mood == "drip":
            await _begin(send, 200)
            while True:
                await send({"type": "http.response.body", "body": b" ", "more_body": True})
                await asyncio.sleep(0.05)
        elif self.mood == "break":
            await _begin(send, 200, [(b"content-length", b"100000")])
            await send({"type": "http.response.body", "body": whole[:10], "more_body": True})
            raise ConnectionAbortedError
        elif self.mood == "huge":
            result = {"content": [{"type": "text", "text": "x" * 3_000_000}]}
            await _answer(send, 200, _reply(message, result))
        elif self.mood == "events":
            result = {"content": [{"type": "text", "text": "x" * 3_000_000}]}
            data = b"event: message\ndata: " + _reply(message, result) + b"\n\n"
            await _answer(send, 200, data, [(b"content-type", b"text/event-stream")])
        elif self.mood == "garbage":
            await _answer(send, 200, b'{"hunter2": "hunter2"}')
        elif self.mood == "html":
            await _answer(send, 200, b"<html>", [(b"content-type", b"text/html")])
        else:
            await _answer(send, 200, whole)


def _reply(message: dict[str, Any], result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()


async def _begin(send: Send, status: int, headers: Any = ()) -> None:
    given = list(headers)
    if not any(key == b"content-type" for key, _ in given):
        given.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": given})


async def _answer(send: Send, status: int, body: bytes = b"", headers: Any = ()) -> None:
    await _begin(send, status, headers)
    await send({"type": "http.response.body", "body": body})


@contextmanager
def gate(settings: Any = None, **entry: Any) -> Iterator[tuple[Gate, McpServers]]:
    app = Gate()
    app.mood = entry.pop("mood", "fine")
    with served(app) as url:
        given = {"url": f"{url}/mcp", "type": "http", "toolsearch": settings or {}, **entry}
        with servers(a=given) as source:
            yield app, source


def test_credentials_that_are_refused_in_the_middle_name_the_server() -> None:
    with gate() as (app, source):
        assert text_of(call(source, "a", "count")) == "1"
        app.mood = "401"
        with pytest.raises(McpCallError, match="'a' answered 401: it needs credentials") as told:
            call(source, "a", "count")
        assert not told.value.may_have_run
        app.mood = "fine"
        assert text_of(call(source, "a", "count")) == "2"


def test_a_server_that_wants_credentials_from_the_start_says_so() -> None:
    with gate(mood="401") as (_, source):
        (issue,) = source.issues
        assert "'a': error: answered 401" in str(issue)


def test_a_token_comes_from_the_environment_and_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATE_TOKEN", "s3cret-token")
    headers = {"Authorization": "Bearer ${GATE_TOKEN}"}
    with gate(mood="bearer", headers=headers) as (_, source):
        assert text_of(call(source, "a", "count")) == "1"
        assert "s3cret" not in repr(source.servers["a"].config)
        assert "s3cret" not in repr(source.statuses)


def test_no_secret_of_a_configuration_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """E168: not where a server fails to start, refuses what it is given or cannot be reached, by any log."""

    async def refuses(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    dies = "import os, sys; sys.exit('no: ' + os.environ['TOKEN'])"
    credentials = {"client_id": "me", "client_secret": "s3cr3t-cccc", "issuer": "http://127.0.0.1:9"}
    with caplog.at_level(logging.DEBUG), served(refuses, lifespan="off") as url:
        entries: dict[str, JsonObject] = {
            "a": {"command": sys.executable, "args": ["-c", dies], "env": {"TOKEN": "s3cr3t-aaaa"}},
            "b": {"url": f"{url}/mcp", "headers": {"Authorization": "Bearer s3cr3t-bbbb"}},
            "c": {"url": "http://x:s3cr3t-dddd@127.0.0.1:9/mcp", "toolsearch": {"oauth": credentials}},
        }
        with servers(**entries) as source:
            assert [status.state for status in source.statuses] == ["failed"] * 3
            errors = []
            for server in source.servers.values():
                with pytest.raises(McpError) as raised:
                    asyncio.run(server.list_prompts())
                errors.append(str(raised.value))
            shown = [repr(source.statuses), str(source.issues), *errors]
            shown += [repr(server.config) for server in source.servers.values()]
    records = [f"{record.getMessage()} {record.args} {record.exc_text}" for record in caplog.records]
    assert not [text for text in (*shown, *records) if "s3cr3t" in text]


def test_a_session_that_is_lost_is_begun_anew_as_nothing_has_run() -> None:
    with gate() as (app, source):
        assert text_of(call(source, "a", "count")) == "1"
        app.sessions.clear()
        assert text_of(call(source, "a", "count")) == "2"


@pytest.mark.parametrize(
    ("mood", "told"),
    [
        ("500", "'a' answered HTTP status 500"),
        ("break", "'a' broke the connection off"),
        ("html", "'a' answered with a content type"),
        ("drip", "'a' gave no answer to tools/call within 2 s"),
    ],
)
def test_a_call_that_reached_the_server_is_not_repeated(mood: str, told: str) -> None:
    with gate({"timeout_s": 2}) as (app, source):
        app.mood = mood
        with pytest.raises(McpCallError, match=told) as error:
            call(source, "a", "count")
        assert error.value.may_have_run
        assert app.n_calls == 1
        app.mood = "fine"
        assert text_of(call(source, "a", "count")) == "2"


@pytest.mark.parametrize("mood", ["huge", "events"])
def test_a_large_answer_is_cut_or_refused(mood: str) -> None:
    with gate() as (app, source):
        app.mood = mood
        assert text_of(call(source, "a", "count")).endswith("[2,950,000 characters more were cut off.]")
    with gate({"max_message_bytes": 100_000}) as (app, source):
        app.mood = mood
        with pytest.raises(McpCallError, match="'a'"):
            call(source, "a", "count")
        app.mood = "fine"
        assert text_of(call(source, "a", "count")) == "2"


@pytest.mark.parametrize("form", ["", " events"])
@pytest.mark.parametrize("levels", [90, 110, 240, 500, 5_000])
def test_a_schema_without_end_hides_no_other_tool(levels: int, form: str) -> None:
    with gate(mood=f"deep {levels}{form}") as (_, source):
        assert [tool.raw_name for tool in source.catalog.values()] == ["count"]
        assert [(issue.tool, issue.severity) for issue in source.issues] == [("deep", "error")]


def test_a_server_that_has_gone_is_told_without_a_doubt_that_nothing_ran() -> None:
    with served(Gate()) as url:
        source = servers(a={"url": f"{url}/mcp", "type": "http"}).open()
        assert text_of(call(source, "a", "count")) == "1"
    try:
        with pytest.raises(McpCallError, match=r"'a' cannot be reached.*Nothing was run"):
            call(source, "a", "count")
    finally:
        source.close()


def test_a_certificate_that_nobody_trusts_is_named(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(tmp_path))

    async def refuse(reader: Any, writer: Any) -> None:
        writer.close()

    async def told() -> str:
        server = await asyncio.start_server(refuse, "127.0.0.1", 0, ssl=context)
        async with server:
            port = server.sockets[0].getsockname()[1]
            source = servers(a={"url": f"https://127.0.0.1:{port}/mcp", "type": "http"})
            try:
                await source.start()
                return str(source.issues[0])
            finally:
                await source.aclose()

    assert "'a': error: has a certificate that is not trusted" in asyncio.run(told())


def _certificate(folder: Path) -> Path:
    """A file with a key and a certificate that it has signed itself."""
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = folder / "own.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def test_what_a_server_answered_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with gate() as (app, source):
        app.mood = "garbage"
        with pytest.raises(McpCallError, match="'a' answered with something that is no JSON-RPC message"):
            call(source, "a", "count")
    assert "hunter2" not in caplog.text


def test_a_token_is_got_with_client_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OAUTH_SECRET", "the-secret-of-the-client")
    app = Gate()
    app.mood = "bearer"
    with served(app) as url:
        oauth = {"client_id": "me", "client_secret": "${OAUTH_SECRET}", "issuer": url}
        entry = {"url": f"{url}/mcp", "type": "http", "toolsearch": {"oauth": oauth}}
        app.issuer = url
        with servers(a=entry) as source:
            assert source.issues == ()
            assert text_of(call(source, "a", "count")) == "1"
    assert app.n_tokens == 1
