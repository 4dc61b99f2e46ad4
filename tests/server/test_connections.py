"""Clients that send or read too slowly, over real sockets and each protocol that uvicorn may choose."""

import asyncio
import json
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from uvicorn.protocols.http.h11_impl import H11Protocol

from tests.server.support import Served, StuckEmbedder, service, until
from toolsearch.tools import Tool

PROTOCOLS: list[type[asyncio.Protocol]] = [H11Protocol]
try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError:
    pass
else:
    PROTOCOLS.append(HttpToolsProtocol)

HEAD_S = 0.3
BEGUN = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Some"
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SEARCH = (
    b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%s"
)


@pytest.fixture(params=PROTOCOLS, ids=lambda protocol: protocol.__name__)
def protocol(request: pytest.FixtureRequest) -> type[asyncio.Protocol]:
    chosen: type[asyncio.Protocol] = request.param
    return chosen


@pytest.fixture
def served(protocol: type[asyncio.Protocol]) -> Iterator[Served]:
    with service(header_timeout_s=HEAD_S, http=protocol, max_body_bytes=1024) as served:
        yield served


def connected(served: Served, *, takes: int | None = None) -> socket.socket:
    """A connection; with `takes` about so many bytes of an answer wait on this side of it."""
    address = urlsplit(served.url)
    client = socket.socket()
    if takes is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, takes)
    client.settimeout(20)
    client.connect((address.hostname, address.port))
    return client


def rest(client: socket.socket) -> bytes:
    """What comes until the service closes the connection."""
    received = bytearray()
    try:
        while chunk := client.recv(65536):
            received += chunk
    except ConnectionError:
        pass  # it was closed with something of ours unread
    return bytes(received)


def drip(client: socket.socket, byte: bytes) -> None:
    """Send it again and again, sooner than any limit, until nobody takes it."""
    for _ in range(400):
        try:
            client.sendall(byte)
        except ConnectionError:
            return
        time.sleep(HEAD_S / 6)
    raise AssertionError("the connection is still open")


def answer_of(client: socket.socket) -> bytes:
    """The head of one answer and its body, which comes with it."""
    received = client.recv(65536)
    while b"\r\n\r\n" not in received:
        received += client.recv(65536)
    return received


def test_headers_that_do_not_come_to_an_end_are_answered_with_408(served: Served) -> None:
    with closing(connected(served)) as client:
        client.sendall(BEGUN)
        head, _, body = rest(client).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"Connection: close" in head
    told = json.loads(body)
    assert (told["status"], told["type"]) == (408, "urn:toolsearch:problem:request-timeout")
    assert told["detail"] == "The headers of the request did not come in time."


def test_headers_that_drip_have_no_more_time_than_others(served: Served) -> None:
    with closing(connected(served)) as client:
        client.sendall(BEGUN)
        drip(client, b"x")


def test_a_connection_that_says_nothing_is_closed_without_an_answer(served: Served) -> None:
    with closing(connected(served)) as client:
        assert rest(client) == b""


def test_the_headers_of_a_second_request_have_the_same_limit(served: Served) -> None:
    with closing(connected(served)) as client:
        client.sendall(WHOLE)
        assert answer_of(client).startswith(b"HTTP/1.1 200 ")
        client.sendall(BEGUN)
        drip(client, b"x")


def test_headers_in_pieces_are_answered_and_so_is_what_follows_on_the_connection(served: Served) -> None:
    with closing(connected(served)) as client:
        for _ in range(3):
            client.sendall(WHOLE[:20])
            client.sendall(WHOLE[20:])
            assert answer_of(client).startswith(b"HTTP/1.1 200 ")


def test_neither_a_long_search_nor_a_slow_body_is_taken_for_slow_headers(
    protocol: type[asyncio.Protocol],
) -> None:
    embedder = StuckEmbedder("slow query")
    with (
        service(header_timeout_s=HEAD_S, http=protocol, embedder=embedder) as served,
        closing(connected(served)) as client,
    ):
        body = b'{"queries": "slow query"}'
        whole = SEARCH % (len(body), body)
        client.sendall(whole[:-4])
        time.sleep(HEAD_S * 2)
        client.sendall(whole[-4:])
        assert embedder.entered.wait(20)
        time.sleep(HEAD_S * 2)
        embedder.release.set()
        assert answer_of(client).startswith(b"HTTP/1.1 200 ")


def test_the_rest_of_a_body_that_was_refused_is_not_taken_for_ever(served: Served) -> None:
    with closing(connected(served)) as client:
        client.sendall(SEARCH % (10**9, b"{"))
        assert answer_of(client).startswith(b"HTTP/1.1 413 ")
        drip(client, b"x")
        assert b"408" not in rest(client)


def test_headers_without_end_are_refused_before_they_fill_the_memory(
    protocol: type[asyncio.Protocol],
) -> None:
    with service(header_timeout_s=600, http=protocol) as served, closing(connected(served)) as client:
        client.sendall(BEGUN)
        drip(client, b"x" * 65536)


def test_a_service_stops_at_once_although_headers_are_still_coming(
    protocol: type[asyncio.Protocol],
) -> None:
    with service(header_timeout_s=600, shutdown_s=600, http=protocol) as served:
        client = connected(served)
        client.sendall(BEGUN)
        assert served.http.get("/healthz").status_code == 200
    with closing(client):
        assert rest(client) == b""


LARGE = tuple(
    Tool(raw_name=f"tool_{number}", source="large", description="word " * 60_000) for number in range(40)
)
"""More than sockets on both sides take."""
ALL = b"GET /v1/catalogs/default/tools HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def test_who_does_not_read_the_answer_holds_nobody_up_and_is_dropped(
    protocol: type[asyncio.Protocol], caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.INFO, "toolsearch.server"),
        service(LARGE, http=protocol, timeout_s=3, max_running=1, max_waiting=0) as served,
        closing(connected(served, takes=4096)) as client,
    ):
        client.sendall(ALL)
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")
        assert served.http.post("/v1/search", json={"queries": "word"}).status_code == 200
        until(lambda: "did not take its answer" in caplog.text)
        assert len(rest(client)) < len(LARGE) * 300_000


def test_who_reads_slowly_but_steadily_has_the_whole_answer(protocol: type[asyncio.Protocol]) -> None:
    with service(LARGE, http=protocol, timeout_s=1.5) as served:
        whole = served.http.get("/v1/catalogs/default/tools").content
        with closing(connected(served, takes=4096)) as client:
            client.sendall(ALL)
            received = bytearray()
            began = time.monotonic()
            while time.monotonic() - began < 5:
                received += client.recv(2048)
                time.sleep(0.05)
            received += rest(client)
        assert bytes(received).partition(b"\r\n\r\n")[2] == whole


def test_a_limit_that_is_read_again_counts_for_connections_that_are_open(
    protocol: type[asyncio.Protocol],
) -> None:
    with service(header_timeout_s=600, http=protocol) as served, closing(connected(served)) as client:
        client.sendall(BEGUN)
        current = served.app.state.service.current
        current.put(current.now.model_copy(update={"header_timeout_s": HEAD_S}))
        assert rest(client).startswith(b"HTTP/1.1 408 ")
