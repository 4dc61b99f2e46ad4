"""`GuardedTransport`: what was checked is what is connected to."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from toolsearch.exceptions import AddressRefusedError
from toolsearch.http.guard import AddressRules
from toolsearch.http.guarded import GuardedTransport, system_addresses


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


class Resolver:
    """Answers each question for a name with the next of its answers, the last one from then on."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextlib.asynccontextmanager
async def served(
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[tuple[int, list[str]]]:
    """A server on this machine: its port, and the heads of the requests that reach it."""
    heads: list[str] = []

    tasks: list[asyncio.Task[None] | None] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
                writer.write(answer)
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1], heads
    finally:
        server.close()
        await asyncio.gather(*filter(None, tasks))


@pytest.fixture
def no_connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was connected to; nothing can be."""
    tried: list[object] = []

    def connect(self: socket.socket, address: object) -> None:
        tried.append(address)
        raise OSError("no connections in this test")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket.socket, "connect_ex", connect)
    return tried


async def get(transport: GuardedTransport, url: str, **more: object) -> httpx.Response:
    async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
        return await client.get(url, **more)  # type: ignore[arg-type]


@in_a_loop
async def test_the_address_that_was_checked_is_asked_under_the_name() -> None:
    resolver = Resolver(["127.0.0.1"])
    async with served() as (port, heads):
        rules = AddressRules((), private=[f"api.test:{port}"])
        answer = await get(GuardedTransport(rules, resolve=resolver), f"http://api.test:{port}/a?b=c")
    assert answer.text == "ok"
    assert resolver.asked == [("api.test", port)]
    assert heads[0].startswith("GET /a?b=c HTTP/1.1\r\n")
    assert f"Host: api.test:{port}\r\n" in heads[0]


@in_a_loop
async def test_a_second_answer_of_the_resolver_leads_nowhere_else(no_connections: list[object]) -> None:
    """The name is public when it is checked, and this machine when it would be connected to."""
    resolver = Resolver(["93.184.216.34"], ["127.0.0.1"])
    transport = GuardedTransport(AddressRules(None), resolve=resolver)
    with pytest.raises(httpx.ConnectError):
        await get(transport, "http://rebinding.test:8000/")
    assert no_connections == [("93.184.216.34", 8000)]
    with pytest.raises(AddressRefusedError, match=r"127\.0\.0\.1 is not public"):
        await get(transport, "http://rebinding.test:8000/")
    assert len(no_connections) == 1


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest/", "http://internal.test/", "http://[::1]:22/", "http://0x7f.1/"]
)
@in_a_loop
async def test_nothing_is_connected_to_where_an_address_is_refused(
    url: str, no_connections: list[object]
) -> None:
    """(E165)"""
    transport = GuardedTransport(AddressRules(None), resolve=Resolver(["10.0.0.5"]))
    with pytest.raises(AddressRefusedError):
        await get(transport, url)
    assert no_connections == []


@in_a_loop
async def test_a_redirect_is_checked_like_a_request() -> None:
    async with served(b"HTTP/1.1 302 Found\r\nLocation: http://inner.test/\r\nContent-Length: 0\r\n\r\n") as (
        port,
        heads,
    ):
        rules = AddressRules((), private=[f"api.test:{port}"])
        transport = GuardedTransport(rules, resolve=Resolver(["127.0.0.1"]))
        with pytest.raises(AddressRefusedError, match=r"inner\.test"):
            await get(transport, f"http://api.test:{port}/", follow_redirects=True)
    assert len(heads) == 1


@in_a_loop
async def test_the_next_address_is_tried_where_one_cannot_be_connected_to() -> None:
    async with served() as (port, _):
        resolver = Resolver(["::1", "127.0.0.1"])
        rules = AddressRules((), private=[f"api.test:{port}"])
        assert (await get(GuardedTransport(rules, resolve=resolver), f"http://api.test:{port}/")).text == "ok"


@in_a_loop
async def test_names_at_one_address_have_connections_of_their_own() -> None:
    async with served() as (port, heads):
        rules = AddressRules((), private=[f"a.test:{port}", f"b.test:{port}"])
        transport = GuardedTransport(rules, resolve=Resolver(["127.0.0.1"]))
        async with httpx.AsyncClient(transport=transport) as client:
            for name in ("a", "b", "a"):
                await client.get(f"http://{name}.test:{port}/")
            assert len(transport._transports) == 2
    assert [head.partition("Host: ")[2][0] for head in heads] == ["a", "b", "a"]


@in_a_loop
async def test_a_name_without_address_is_no_connection() -> None:
    async def nobody(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    with pytest.raises(httpx.ConnectError, match=r"'no\.test' cannot be resolved"):
        await get(GuardedTransport(AddressRules(None), resolve=nobody), "http://no.test/")


@in_a_loop
async def test_what_is_asked_instead_of_the_network_is_guarded_by_host() -> None:
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(204)

    transport = GuardedTransport(AddressRules(["api.test"]), instead=httpx.MockTransport(answer))
    assert (await get(transport, "https://api.test/x")).status_code == 204
    with pytest.raises(AddressRefusedError):
        await get(transport, "https://other.test/x")
    assert asked == [httpx.URL("https://api.test/x")]


@in_a_loop
async def test_the_system_resolves_numbers_without_asking_anybody() -> None:
    assert await system_addresses("127.1", 80) == ["127.0.0.1"]


def certificate(name: str, folder: Path) -> Path:
    """A file with a key and a certificate of its own for `name`."""
    x509 = pytest.importorskip(
        "cryptography.x509", reason="cryptography, which makes certificates, is not installed"
    )
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    path = folder / f"{name}.pem"
    path.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(pem)
    )
    return path


@in_a_loop
async def test_certificates_are_checked_for_the_name_and_not_for_the_address(tmp_path: Path) -> None:
    path = certificate("api.test", tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(path)
    verify = ssl.create_default_context(cafile=str(path))
    async with served(tls=tls) as (port, _):
        rules = AddressRules((), private=[f"*.test:{port}"])
        transport = GuardedTransport(rules, resolve=Resolver(["127.0.0.1"]), verify=verify)
        async with httpx.AsyncClient(transport=transport) as client:
            assert (await client.get(f"https://api.test:{port}/")).text == "ok"
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                await client.get(f"https://other.test:{port}/")
