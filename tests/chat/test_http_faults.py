"""A provider of bad faith or in bad shape: typed errors, bounded time and memory, no secrets."""

import asyncio
import base64
import gzip
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.chat.conftest import MODELS, no_sleep
from tests.chat.test_http import BEGUN, REQUEST, ask, sse, until_error
from tests.clock import Clock, run_by
from toolsearch.chat import http as http_module
from toolsearch.chat.base import ChatEvent, TextDelta
from toolsearch.chat.model import HttpChatModel
from toolsearch.exceptions import (
    BadRequestError,
    ChatModelError,
    MalformedAnswerError,
    ModelUnreachableError,
)
from toolsearch.http.retries import RetryPolicy

URL = "https://models.test/v1"
KEY, HEADER, QUERY = "sk-ab/c+d=ef 9", "team-token-1", "hidden-token-2"
USER, PASSWORD = "ada", 'pass/word "1'
SECRETS = [KEY, HEADER, QUERY, PASSWORD, f"{USER}:{PASSWORD}"]
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": lambda secret: quote(secret, safe=""),
    "JSON": lambda secret: json.dumps(secret)[1:-1],
    "JSON, all escaped": lambda secret: "".join(f"\\u{ord(c):04x}" for c in secret),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode().rstrip("="),
}
Respond = Callable[[httpx.Request], httpx.Response]


def model_of(form: str, respond: Respond, **settings: Any) -> HttpChatModel:
    defaults: dict[str, Any] = {
        "base_url": URL,
        "api_key": KEY,
        "transport": httpx.MockTransport(respond),
        "sleep": no_sleep,
        "retries": RetryPolicy(attempts=1),
    }
    return MODELS[form]("fake-1", **{**defaults, **settings})


def failure_of(model: HttpChatModel, *, streamed: bool) -> ChatModelError:
    with pytest.raises(ChatModelError) as caught:
        ask(model, streamed=streamed)
    return caught.value


class Endless(httpx.AsyncByteStream):
    """Sends the same bytes for as long as somebody reads them, or falls silent after them."""

    def __init__(self, piece: bytes, *, silent: bool = False) -> None:
        self.piece, self.silent = piece, silent
        self.sent, self.is_closed = 0, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.sent < 1 << 28:
            self.sent += len(self.piece)
            yield self.piece
            if self.silent:
                await asyncio.Event().wait()

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", ["html", "json", "cut", "deep", "bytes"])
def test_a_body_that_is_no_answer_names_the_endpoint(form: str, kind: str, streamed: bool) -> None:
    """Pages of gateways, values that are no object, answers that were cut, nesting without end."""
    content, media_type = {
        "html": (b"<html>gateway</html>", "text/html"),
        "json": (b'["busy"]', "application/json"),
        "cut": (b'{"id": "1", "choices": [{"mess', "application/json"),
        "deep": (b'{"choices":' + b"[" * 100_000, "application/json"),
        "bytes": (b"\xff\xfe\x00", "application/octet-stream"),
    }[kind]

    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=content, headers={"content-type": f"{media_type}; charset=utf-8"})

    failure = failure_of(model_of(form, respond), streamed=streamed)
    assert type(failure) is MalformedAnswerError
    assert failure.status == 200
    assert failure.provider == "models.test:fake-1"
    assert "the answer of https://models.test/" in failure.reason
    assert failure.body.startswith(content.decode("utf-8", "replace")[:10])
    assert len(failure.body) < 20_000
    what = "stream of events" if streamed else "JSON object"
    assert failure.reason.endswith(f"is no {what}, but {media_type}")


def test_an_error_in_one_piece_where_a_stream_was_asked_for_is_that_error(form: str) -> None:
    body = {"error": {"message": "no such field", "type": "invalid_request_error"}}
    failure = failure_of(model_of(form, lambda _: httpx.Response(200, json=body)), streamed=True)
    assert type(failure) is BadRequestError
    assert failure.reason == "no such field"


def test_a_stream_of_comments_that_breaks_off_is_tried_again(form: str) -> None:
    """It is a stream, though one without events; not an answer in another form."""
    calls: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return httpx.Response(200, content=b": waiting\n\n: waiting\n\n")

    failure = failure_of(model_of(form, respond, retries=RetryPolicy(attempts=2)), streamed=True)
    assert type(failure) is ModelUnreachableError
    assert len(calls) == 2


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("status", [200, 400])
def test_a_body_that_is_not_encoded_as_it_says_is_malformed(form: str, status: int, streamed: bool) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        stream = httpx.ByteStream(b"no gzip")
        return httpx.Response(status, headers={"content-encoding": "gzip"}, stream=stream)

    failure = failure_of(model_of(form, respond), streamed=streamed)
    assert type(failure) is MalformedAnswerError
    assert "cannot be decoded" in failure.reason


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_in_gzip_is_read(form: str, streamed: bool) -> None:
    """So that the test above fails for the right reason."""
    body = gzip.compress(b'{"error": {"message": "packed", "code": "invalid_api_key"}}')
    headers = {"content-encoding": "gzip"}
    failure = failure_of(
        model_of(form, lambda _: httpx.Response(200, headers=headers, content=body)), streamed=streamed
    )
    assert failure.reason == "packed"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.TooManyRedirects("many"), ChatModelError),
        (httpx.InvalidURL("odd"), ChatModelError),
        (UnicodeError("label too long"), ChatModelError),
        (httpx.DecodingError("Error -3"), MalformedAnswerError),
        (httpx.UnsupportedProtocol("odd"), ModelUnreachableError),
        (httpx.ProxyError("proxy"), ModelUnreachableError),
        (httpx.RemoteProtocolError("peer closed connection without sending"), ModelUnreachableError),
    ],
)
def test_whatever_keeps_a_request_from_being_answered_has_a_type(
    form: str, error: Exception, kind: type[ChatModelError], streamed: bool
) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        raise error

    failure = failure_of(model_of(form, respond), streamed=streamed)
    assert type(failure) is kind
    assert "https://models.test/v1" in failure.reason
    assert str(error) in failure.reason


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("status", [200, 503])
def test_an_answer_that_falls_silent_is_given_up(form: str, status: int, streamed: bool) -> None:
    streams: list[Endless] = []

    def respond(request: httpx.Request) -> httpx.Response:
        streams.append(Endless(b": waiting\n\n", silent=True))
        return httpx.Response(status, stream=streams[-1])

    failure = failure_of(model_of(form, respond, timeout_s=0.01), streamed=streamed)
    assert type(failure) is ModelUnreachableError
    assert "ReadTimeout" in failure.reason
    assert "after 0.01 s" in failure.reason
    assert [stream.is_closed for stream in streams] == [True]


class Drip(httpx.AsyncByteStream):
    """Sends a piece a second."""

    def __init__(self, pieces: Iterable[bytes], clock: Clock) -> None:
        self.pieces, self.clock = pieces, clock
        self.n_sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            self.clock.now_s += 1
            await asyncio.sleep(0)
            self.n_sent += 1
            yield piece


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_an_answer_that_drips_is_given_up_in_time(form: str, encoding: str, streamed: bool) -> None:
    """Even where nothing comes of the bytes: comments in a stream, the endless name of a file in gzip."""
    clock = Clock()
    packed = gzip.compress(b"")
    head = [packed[:3] + b"\x08" + packed[4:10]] if encoding == "gzip" else []
    stream = Drip([*head, *[b":a\n"] * 100], clock)

    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-encoding": encoding}, stream=stream)

    async def main() -> None:
        model = model_of(form, respond, timeout_s=5.5)
        with pytest.raises(ModelUnreachableError, match=r"after 5\.5 s"):
            await (until_error(model, []) if streamed else model.complete(REQUEST))

    run_by(clock, main())
    assert stream.n_sent <= 6


def test_silence_within_a_stream_is_measured_from_event_to_event(form: str) -> None:
    """A stream may take much longer than `timeout_s`, as long as events keep coming."""
    clock = Clock()
    events: list[ChatEvent] = []
    response = httpx.Response(200, stream=Drip([sse(BEGUN[form])] * 100, clock))

    async def main() -> None:
        with pytest.raises(ModelUnreachableError, match="broke off"):
            await until_error(model_of(form, lambda _: response, timeout_s=5.5), events)

    run_by(clock, main())
    assert events == [TextDelta("Hel")] * 100


@pytest.mark.parametrize("kind", ["answer", "refusal", "event", "comments", "stream"])
def test_an_answer_without_end_is_not_read_to_the_end(
    form: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_module, "MAX_ANSWER_BYTES", 1 << 16)
    monkeypatch.setattr(http_module, "MAX_STREAM_BYTES", 1 << 18)
    pieces = {
        "answer": b" " * 4096,
        "refusal": b" " * 4096,
        "event": b"data: " + b"x" * 4096,
        "comments": b": waiting\n\n" * 400,
        "stream": sse(BEGUN[form]) * 20,
    }
    stream = Endless(pieces[kind])

    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(503 if kind == "refusal" else 200, stream=stream)

    failure = failure_of(model_of(form, respond), streamed=kind not in {"answer", "refusal"})
    limit = 1 << 18 if kind == "stream" else 1 << 16
    assert limit < stream.sent <= limit + 2 * len(pieces[kind])
    assert stream.is_closed
    if kind == "refusal":
        assert failure.status == 503
    else:
        assert type(failure) is MalformedAnswerError
        assert f"more than {limit} bytes" in failure.reason


@pytest.mark.parametrize("streamed", [False, True])
def test_a_redirect_is_not_followed_and_the_key_goes_nowhere_else(form: str, streamed: bool) -> None:
    asked: list[httpx.URL] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(307, headers={"location": "https://elsewhere.test/v1"})

    failure = failure_of(model_of(form, respond), streamed=streamed)
    assert {url.host for url in asked} == {"models.test"}
    assert len(asked) == 1
    assert type(failure) is BadRequestError
    assert "redirects to https://elsewhere.test/v1, which is not followed" in failure.reason


def echoes(said: str) -> list[Callable[[], httpx.Response | Exception]]:
    event = b"data: " + said.encode() + b"\n\n"
    return [
        lambda: httpx.Response(401, json={"error": {"message": f"bad credentials: {said}"}}),
        lambda: httpx.Response(400, text=said),
        lambda: httpx.Response(503, text=f"debug: {said}"),
        lambda: httpx.Response(302, headers={"location": f"https://elsewhere.test/?k={said}"}),
        lambda: httpx.Response(200, text=f"<html>{said}</html>"),
        lambda: httpx.Response(200, json={"choices": said, "output": said, "content": [said]}),
        lambda: httpx.Response(200, content=event),
        lambda: httpx.Response(200, headers={"content-type": f"x/{said}"}, text="none"),
        lambda: httpx.RemoteProtocolError(f"illegal status line: bytearray(b'{said}')"),
        lambda: httpx.LocalProtocolError(f"Illegal header value b'Bearer {said}'"),
        lambda: httpx.DecodingError(said),
        lambda: httpx.InvalidURL(said),
    ]


def chain(error: BaseException) -> list[BaseException]:
    found = [error]
    for each in found:
        found += [next_ for next_ in (each.__cause__, each.__context__) if next_ is not None]
    return found


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("secret", SECRETS)
def test_no_error_or_log_shows_a_secret_in_any_spelling(
    form: str, secret: str, spell: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    """Key, header, query, user and password of the URL: wherever the provider or the library repeats them.

    The library logs the URL of each request that is answered.
    """
    caplog.set_level(logging.DEBUG)
    said = spell(secret)
    for case in range(len(echoes(""))):
        for streamed in (False, True):
            made = echoes(said)[case]()

            def respond(request: httpx.Request, made: httpx.Response | Exception = made) -> httpx.Response:
                assert request.url.params["token"] == QUERY
                if isinstance(made, Exception):
                    raise made
                return made

            model = model_of(
                form,
                respond,
                base_url=f"https://{USER}:{quote(PASSWORD, safe='')}@models.test/v1?token={QUERY}",
                headers={"x-team": HEADER},
                retries=RetryPolicy(attempts=2),
            )
            failure = failure_of(model, streamed=streamed)
            told = [f"{exc!r} {exc} {exc.__dict__}" for exc in chain(failure)]
            told += [caplog.text, repr(model), repr(vars(model))]
            assert not any(said in text or secret in text for text in told)


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ({"api_key": "sk-secret\n-123"}, "The key"),
        ({"api_key": "sk-secret-\u00e9"}, "TOOLSEARCH_CHAT_API_KEY"),
        ({"headers": {"x-team": "sk-secret\r\nx-more: 1"}}, "'x-team'"),
    ],
)
def test_what_no_header_can_carry_is_refused_unseen(form: str, setting: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named) as caught:
        MODELS[form]("fake-1", **setting)
    assert not any("secret" in f"{exc!r} {vars(exc)}" for exc in chain(caught.value))


@pytest.mark.parametrize(
    "address",
    ["http://ada:pass/word@host.test/v1", "http://ada:password@host.test:x/v1", "htp://ada:password@host/v1"],
)
def test_an_address_that_is_refused_is_not_shown_with_its_password(form: str, address: str) -> None:
    with pytest.raises(ValueError, match="base URL is no http or https URL") as caught:
        MODELS[form]("fake-1", base_url=address)
    assert not any("pass" in f"{exc!r} {vars(exc)}" for exc in chain(caught.value))


@pytest.mark.parametrize("streamed", [False, True])
def test_a_proxy_that_cannot_be_used_is_an_error_without_its_password(
    form: str, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://ada:proxy-pass@host.test:port")
    model = MODELS[form]("fake-1", base_url="http://models.test/v1", api_key=KEY, sleep=no_sleep)
    failure = failure_of(model, streamed=streamed)
    assert "HTTP_PROXY" in failure.reason
    assert not any("proxy-pass" in f"{exc!r} {vars(exc)}" for exc in chain(failure))


def test_a_dummy_key_leaves_errors_readable(form: str) -> None:
    """Local servers are given any word for a key."""
    model = model_of(form, lambda _: httpx.Response(400, text="context exceeded"), api_key="x")
    assert failure_of(model, streamed=False).reason == "context exceeded"
