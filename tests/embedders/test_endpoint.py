"""An embedding service of bad faith or in bad shape: named errors, bounded time and memory, no secrets."""

import gzip
import json
import logging
from collections.abc import Callable, Iterator
from urllib.parse import quote

import httpx
import pytest

from tests.clock import Clock
from tests.embedders.test_http import DIM, KEY, URL, Service, chain, error, good
from toolsearch.embedders import endpoint as endpoint_module
from toolsearch.embedders.endpoint import EmbeddingEndpoint
from toolsearch.embedders.http import HttpEmbedder
from toolsearch.embedders.load import load_embedder
from toolsearch.exceptions import EmbedderUnavailableError, EmbeddingError

QUERY = "hidden-token-2"
USER, PASSWORD = "ada", "pass/word 1"
BASIC = "YWRhOnBhc3Mvd29yZCAx"


@pytest.mark.parametrize(
    "reply",
    [
        httpx.DecodingError("Error -3"),
        httpx.Response(200, content=b'{"data":' + b"[" * 200_000),
        httpx.Response(200, content=b'{"data":[{"embedding":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}"),
        httpx.Response(200, json={"data": [{"embedding": [10**400]}]}),
        httpx.Response(200, json={"data": [{"embedding": []}]}),
        httpx.Response(200, content=b"\xff\xfe\x00"),
    ],
)
def test_an_answer_that_makes_no_sense_is_an_embedding_error(
    reply: httpx.Response | httpx.DecodingError,
) -> None:
    service = Service(otherwise=reply)
    with pytest.raises(EmbeddingError, match="'model-a' answered"):
        HttpEmbedder(service.endpoint()).embed_queries(["a"])
    assert service.waits_s == []


def test_a_body_that_is_not_encoded_as_it_says_is_an_embedding_error() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        del request
        stream = httpx.ByteStream(b"no gzip")
        return httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=stream)

    embedder = HttpEmbedder(EmbeddingEndpoint(URL, "m", transport=httpx.MockTransport(answer)), dim=DIM)
    with pytest.raises(EmbeddingError, match="cannot be decoded"):
        embedder.embed_queries(["a"])


@pytest.mark.parametrize(
    "failure",
    [
        httpx.TooManyRedirects("many"),
        httpx.UnsupportedProtocol("odd"),
        httpx.ProxyError("proxy"),
        httpx.InvalidURL("odd"),
        UnicodeError("label too long"),
    ],
)
def test_whatever_keeps_a_request_from_being_answered_is_an_embedder_error(failure: Exception) -> None:
    with pytest.raises(EmbedderUnavailableError):
        Service(otherwise=failure).embedder().embed_queries(["a"])


@pytest.mark.parametrize(
    "address", ["http://a..b/v1", f"http://{'a' * 70}.test/v1", "http://host:70000/v1", "http://host:x/v1"]
)
def test_an_address_that_no_host_can_have_is_refused(address: str) -> None:
    with pytest.raises(EmbedderUnavailableError, match="no http or https URL"):
        load_embedder(f"{address}#m")


class Drip(httpx.SyncByteStream):
    """Sends a byte a second."""

    def __init__(self, content: bytes, clock: Clock) -> None:
        self.content, self.clock, self.sent, self.closed = content, clock, 0, False

    def __iter__(self) -> Iterator[bytes]:
        for octet in self.content:
            self.clock.now_s += 1
            self.sent += 1
            yield bytes([octet])

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_an_answer_that_drips_is_given_up_in_time(encoding: str) -> None:
    """Even where the decoder makes nothing of the bytes: the name of a file in gzip has no end (E128)."""
    clock = Clock()
    drips: list[Drip] = []

    def answer(texts: list[str]) -> httpx.Response:
        content = good(texts).content
        if encoding == "gzip":
            packed = gzip.compress(content)
            content = packed[:3] + b"\x08" + packed[4:10] + b"name" * 100 + b"\x00" + packed[10:]
        drips.append(Drip(content, clock))
        return httpx.Response(200, headers={"Content-Encoding": encoding}, stream=drips[-1])

    service = Service(otherwise=answer)
    embedder = HttpEmbedder(service.endpoint(monotonic=clock), dim=DIM)
    with pytest.raises(EmbedderUnavailableError, match="not complete after 5 s"):
        embedder.embed_queries(["a"])
    assert [drip.sent for drip in drips] == [6, 6]
    assert all(drip.closed for drip in drips)
    assert clock.now_s + sum(service.waits_s) < 15


class Flood(httpx.SyncByteStream):
    """Sends spaces for as long as somebody reads them."""

    def __init__(self) -> None:
        self.sent = 0

    def __iter__(self) -> Iterator[bytes]:
        while self.sent < 1 << 30:
            self.sent += 1 << 16
            yield b" " * (1 << 16)


@pytest.mark.parametrize(("status", "reason"), [(200, "more than"), (400, "answered 400"), (503, "503")])
def test_an_answer_without_end_is_not_read_to_the_end(status: int, reason: str) -> None:
    floods: list[Flood] = []

    def answer(texts: list[str]) -> httpx.Response:
        del texts
        floods.append(Flood())
        return httpx.Response(status, stream=floods[-1])

    with pytest.raises(EmbeddingError, match=reason):
        Service(otherwise=answer).embedder().embed_queries(["a"])
    limit = endpoint_module.MAX_ANSWER_BYTES + endpoint_module.MAX_ANSWER_BYTES_PER_TEXT
    assert all(flood.sent <= limit + (1 << 16) for flood in floods)


def test_an_answer_of_long_vectors_is_read_whole() -> None:
    def answer(texts: list[str]) -> httpx.Response:
        return httpx.Response(
            200, json={"data": [{"embedding": [-0.0123456789012345] * 8192} for _ in texts]}
        )

    embedder = HttpEmbedder(Service(otherwise=answer).endpoint(), dim=8192, max_texts=8)
    assert embedder.embed_documents([f"text {i}" for i in range(8)]).all()


@pytest.mark.parametrize("key", ["sk-secret-123\n", " sk-secret-123\r\n", "\tsk-secret-123"])
def test_blanks_around_a_key_are_not_sent(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("TOOLSEARCH_EMBEDDER_API_KEY", key)
    service = Service()
    HttpEmbedder(service.endpoint(api_key=None), dim=DIM).embed_queries(["a"])
    assert service.requests[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", ["sk-secret\n-123", "sk-secret-\u00e9", "sk-secret\x7f1"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("TOOLSEARCH_EMBEDDER_API_KEY", key)
    with pytest.raises(EmbedderUnavailableError, match="TOOLSEARCH_EMBEDDER_API_KEY") as caught:
        load_embedder(f"{URL}#m")
    assert not any("sk-secret" in f"{exc!r} {exc} {vars(exc)}" for exc in chain(caught.value))


@pytest.mark.parametrize(
    "address",
    [
        "http://ada:pass/word@host.test/v1#m",
        "http://ada:password@host.test:x/v1#m",
        "htp://ada:password@host.test/v1#m",
        "http://ada:password@host.test/v1",
        "http://ada:password@/v1#m",
    ],
)
def test_an_address_that_is_refused_is_not_shown_with_its_password(address: str) -> None:
    with pytest.raises(EmbedderUnavailableError) as caught:
        load_embedder(address)
    assert not any("pass" in f"{exc!r} {exc}" for exc in chain(caught.value))


def echoes(secret: str) -> list[Callable[[], httpx.Response | Exception]]:
    location = {"Location": f"https://{secret}@elsewhere.test/v1"}
    return [
        lambda: error(401, f"bad credentials: {secret}"),
        lambda: error(400, secret),
        lambda: error(503, secret),
        lambda: httpx.Response(302, headers=location),
        lambda: httpx.Response(200, text=f"<html>{secret}</html>"),
        lambda: httpx.Response(200, json={"data": [{"embedding": [secret]}]}),
        lambda: httpx.RemoteProtocolError(f"illegal status line: bytearray(b'{secret}')"),
        lambda: httpx.LocalProtocolError(f"Illegal header value b'Bearer {secret}'"),
        lambda: httpx.DecodingError(secret),
        lambda: httpx.InvalidURL(secret),
    ]


@pytest.mark.parametrize(
    "secret", [KEY, QUERY, PASSWORD, quote(PASSWORD, safe=""), BASIC, json.dumps(PASSWORD)]
)
@pytest.mark.parametrize("case", range(len(echoes(""))))
def test_no_error_shows_a_secret_that_the_service_or_the_library_repeats(
    secret: str, case: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does a log, that of `httpx` included."""
    caplog.set_level(logging.DEBUG)

    def answer(texts: list[str]) -> httpx.Response:
        del texts
        made = echoes(secret)[case]()
        if isinstance(made, Exception):
            raise made
        return made

    address = f"http://{USER}:{quote(PASSWORD, safe='')}@embeddings.test/v1?api-key={QUERY}"
    embedder = HttpEmbedder(Service(otherwise=answer).endpoint(address), dim=DIM)
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed_queries(["a"])
    seen = [f"{exc!r} {exc} {vars(exc)}" for exc in chain(caught.value)] + [caplog.text, repr(embedder)]
    assert "***" in str(caught.value)
    assert not any(secret in text for text in seen)


def test_a_proxy_that_cannot_be_used_is_an_error_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://ada:proxy-pass@host.test:port")
    with pytest.raises(EmbedderUnavailableError, match="HTTP_PROXY") as caught:
        load_embedder(f"{URL}#m")
    assert "proxy-pass" not in str(caught.value)
