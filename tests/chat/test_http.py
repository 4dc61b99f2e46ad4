"""A busy provider is asked again; a failure has a type, its status and body, and no secrets."""

import asyncio
import json
import logging
import math
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import httpx
import pytest

from tests.chat.conftest import MODELS
from tests.fake_provider import Answer, Failure, FakeProvider
from toolsearch.chat.base import ChatEvent, ChatRequest, RoundFinished, TextDelta
from toolsearch.chat.http import RETRIES
from toolsearch.chat.model import HttpChatModel
from toolsearch.exceptions import (
    AuthenticationError,
    BadRequestError,
    ChatModelError,
    ContextTooLongError,
    MalformedAnswerError,
    ModelUnreachableError,
    OverloadedError,
    RateLimitedError,
)
from toolsearch.http.retries import RetryPolicy
from toolsearch.messages import UserMessage

Connect = Callable[..., tuple[HttpChatModel, FakeProvider]]
REQUEST = ChatRequest((UserMessage.of("hello"),))
NOW = 1_800_000_000.0
KEY = "secret-key-1"


def ask(model: HttpChatModel, *, streamed: bool = False) -> str:
    async def stream() -> str:
        events = [event async for event in model.stream(REQUEST)]
        assert isinstance(events[-1], RoundFinished)
        return events[-1].response.text

    async def complete() -> str:
        return (await model.complete(REQUEST)).text

    return asyncio.run(stream() if streamed else complete())


def failing(form: str, respond: Callable[[httpx.Request], httpx.Response], **settings: Any) -> HttpChatModel:
    return MODELS[form](
        "fake-1", api_key=KEY, transport=httpx.MockTransport(respond), **{"sleep": no_wait, **settings}
    )


async def no_wait(seconds: float) -> None:
    del seconds


@pytest.mark.parametrize("wrong", ["60", True, math.nan, 0])
@pytest.mark.parametrize("setting", ["timeout_s", "max_tools"])
def test_a_setting_that_is_no_number_above_0_is_named(form: str, setting: str, wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{setting} is .*; it must be a (whole )?number"):
        MODELS[form]("fake-1", api_key=KEY, **{setting: wrong})
    with pytest.raises((TypeError, ValueError), match=r"max_tokens is .*; it must be a whole number"):
        replace(REQUEST, max_tokens=wrong)


class Waits:
    """Takes the place of sleeping, and keeps for how long."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_a_busy_provider_is_asked_again_after_growing_waits(
    connect: Connect, form: str, status: int, streamed: bool
) -> None:
    waits = Waits()
    steps = [Failure(status), Failure(status), Answer("yes")]
    model, provider = connect(form, steps, sleep=waits, random=lambda: 0.5)
    assert ask(model, streamed=streamed) == "yes"
    assert waits.seconds == [0.375, 0.75]
    assert provider.raw[0] == provider.raw[1] == provider.raw[2]


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [("7", 7.0), ("0.25", 0.25), (formatdate(NOW + 12, usegmt=True), 12.0), ("3600", RETRIES.max_wait_s)],
)
def test_the_provider_says_how_long_to_wait_up_to_a_limit(
    connect: Connect, form: str, header: str, wait_s: float
) -> None:
    waits = Waits()
    steps = [Failure(429, headers={"retry-after": header}), Answer("yes")]
    model, _ = connect(form, steps, sleep=waits, clock=lambda: NOW)
    assert ask(model) == "yes"
    assert waits.seconds == [wait_s]


def test_the_provider_may_say_it_in_milliseconds(connect: Connect, form: str) -> None:
    waits = Waits()
    steps = [Failure(429, headers={"retry-after-ms": "30", "retry-after": "1"}), Answer("yes")]
    model, _ = connect(form, steps, sleep=waits, clock=lambda: NOW)
    assert ask(model) == "yes"
    assert waits.seconds == [0.03]


def test_attempts_are_counted_and_the_last_failure_is_raised(connect: Connect, form: str) -> None:
    steps = [Failure(429, "{}", {"retry-after": "9"})] * 3
    model, provider = connect(form, steps, retries=RetryPolicy(attempts=3), clock=lambda: NOW)
    with pytest.raises(RateLimitedError) as failure:
        ask(model)
    assert len(provider.bodies) == 3
    assert (failure.value.status, failure.value.retry_after_s) == (429, 9.0)


def test_a_broken_connection_is_tried_again(form: str) -> None:
    seen = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(request.content)
        raise httpx.ConnectError("All connection attempts failed")

    with pytest.raises(ModelUnreachableError, match="All connection attempts failed") as failure:
        ask(failing(form, respond))
    assert len(seen) == RETRIES.attempts
    assert failure.value.status is None


def error(message: str, **more: object) -> str:
    return json.dumps({"type": "error", "error": {"message": message, **more}})


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, error("bad field", type="invalid_request_error"), BadRequestError),
        (404, error("no such model"), BadRequestError),
        (422, "unprocessable", BadRequestError),
        (401, error("bad key", code="invalid_api_key"), AuthenticationError),
        (403, error("not allowed"), AuthenticationError),
        (402, error("pay first"), ChatModelError),
        (400, error("too long", code="context_length_exceeded"), ContextTooLongError),
        (400, error("prompt is too long: 200001 tokens > 200000 maximum"), ContextTooLongError),
        (400, error("This model's maximum context length is 8192 tokens."), ContextTooLongError),
        (400, error("more than the context", type="exceed_context_size_error"), ContextTooLongError),
        (413, error("Request exceeds the maximum size", type="request_too_large"), ContextTooLongError),
        (429, error("no credit", code="insufficient_quota"), RateLimitedError),
    ],
)
def test_a_refusal_is_typed_and_not_tried_again(
    connect: Connect, form: str, status: int, body: str, kind: type[ChatModelError]
) -> None:
    for streamed in (False, True):
        model, provider = connect(form, [Failure(status, body)])
        with pytest.raises(ChatModelError) as failure:
            ask(model, streamed=streamed)
        assert type(failure.value) is kind
        assert (failure.value.status, failure.value.body) == (status, body)
        assert failure.value.provider == model.id
        assert len(provider.bodies) == 1
        assert str(failure.value).endswith(f"(HTTP {status})")


@pytest.mark.parametrize(
    "body", ["<html>gateway</html>", "[]", "", "{}", '{"choices": [], "content": 1, "output": [{}]}', "null"]
)
def test_what_is_no_answer_is_malformed(form: str, body: str) -> None:
    with pytest.raises(MalformedAnswerError) as failure:
        ask(failing(form, lambda request: httpx.Response(200, text=body)))
    assert failure.value.provider.endswith(":fake-1")


def test_an_error_under_status_200_is_an_error(form: str) -> None:
    """As gateways answer when the model behind them fails."""
    body = error("upstream is busy", code=503)
    with pytest.raises(OverloadedError, match="upstream is busy"):
        ask(failing(form, lambda request: httpx.Response(200, text=body), retries=RetryPolicy(attempts=1)))


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


BEGUN: dict[str, dict[str, Any]] = {
    "openai_chat": {"choices": [{"delta": {"content": "Hel"}}]},
    "openai_responses": {"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"},
    "anthropic": {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": "Hel"},
    },
}
OVERLOADED: dict[str, dict[str, Any]] = {
    "openai_chat": {"error": {"message": "busy", "code": 503}},
    "openai_responses": {
        "type": "response.failed",
        "response": {"error": {"code": "server_error", "message": "busy"}},
    },
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
}


async def until_error(model: HttpChatModel, into: list[ChatEvent]) -> None:
    async for event in model.stream(REQUEST):
        into.append(event)  # noqa: PERF401 - what came before the error counts


@pytest.mark.parametrize("end", ["error event", "cut connection", "early end"])
def test_a_stream_that_breaks_after_its_first_words_is_not_tried_again(form: str, end: str) -> None:
    calls = []

    async def cut(first: bytes) -> AsyncIterator[bytes]:
        yield first
        raise httpx.ReadError("connection reset")

    def respond(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        if end == "cut connection":
            return httpx.Response(200, content=cut(sse(BEGUN[form])))
        broken = [OVERLOADED[form]] if end == "error event" else []
        return httpx.Response(200, content=sse(BEGUN[form], *broken))

    events: list[ChatEvent] = []
    with pytest.raises(OverloadedError if end == "error event" else ModelUnreachableError):
        asyncio.run(until_error(failing(form, respond), events))
    assert events == [TextDelta("Hel")]
    assert len(calls) == 1


def test_a_stream_that_breaks_before_its_first_words_is_tried_again(form: str) -> None:
    """Providers tell of overload by an event of a stream that has begun, too."""
    answers: Iterator[bytes] = iter([sse(OVERLOADED[form]), b""])
    provider = FakeProvider([Answer("yes")])

    def respond(request: httpx.Request) -> httpx.Response:
        broken = next(answers, None)
        if broken is not None:
            return httpx.Response(200, content=broken)
        _, _, content = provider.respond(request.url.path, request.content, request.headers)
        return httpx.Response(200, content=content)

    assert ask(failing(form, respond), streamed=True) == "yes"
    assert next(answers, None) is None


def test_an_event_in_another_form_is_malformed(form: str) -> None:
    bad = sse(
        {"type": "content_block_delta", "index": 0, "choices": [[]]}, {"type": "response.output_text.delta"}
    )
    with pytest.raises((MalformedAnswerError, ModelUnreachableError)):
        ask(failing(form, lambda request: httpx.Response(200, content=bad)), streamed=True)


def test_no_secret_is_told(form: str, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the key, nor a header, nor a password in the URL, in texts, bodies or logs."""

    def respond(request: httpx.Request) -> httpx.Response:
        sent = [value for name, value in request.headers.items() if name != "host"]
        return httpx.Response(500, text=f"debug: {sent} {KEY}")

    model = MODELS[form](
        "fake-1",
        base_url="https://user:pass-word-1@models.example/v1?token=hidden",
        api_key=KEY,
        headers={"x-team": "team-token-1"},
        transport=httpx.MockTransport(respond),
        sleep=no_wait,
    )
    with caplog.at_level(logging.DEBUG, logger="toolsearch"), pytest.raises(OverloadedError) as failure:
        ask(model)
    told = [repr(model), repr(vars(model)), str(failure.value), repr(failure.value), failure.value.body]
    told += [record.getMessage() for record in caplog.records]
    for secret in (KEY, "team-token-1", "pass-word-1", "token=hidden"):
        assert secret not in "\n".join(told)
    assert "***" in failure.value.body


@pytest.mark.parametrize("base_url", ["ftp://models.example", "localhost:8000", "", "http://"])
def test_a_url_that_cannot_be_asked_is_refused(form: str, base_url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        MODELS[form]("fake-1", base_url=base_url)


def test_a_key_goes_to_its_own_host_alone(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, "own-key-12345")
    monkeypatch.delenv("TOOLSEARCH_CHAT_API_KEY", raising=False)

    def sent(**settings: Any) -> str:
        provider = FakeProvider([Answer("yes")])
        ask(MODELS[form]("fake-1", transport=provider.transport, **settings))
        headers = provider.headers[0]
        return str(headers.get("authorization") or headers.get("x-api-key") or "")

    assert sent().endswith("own-key-12345")
    assert sent(base_url="http://localhost:8000/v1") == ""
    assert sent(base_url="http://localhost:8000/v1", api_key="given-key").endswith("given-key")
    monkeypatch.setenv("TOOLSEARCH_CHAT_API_KEY", "other-key")
    assert sent(base_url="http://localhost:8000/v1").endswith("other-key")


def test_one_model_serves_several_event_loops_over_real_connections(form: str) -> None:
    """``asyncio.run`` in a loop is how scripts use it."""

    async def once() -> str:
        provider = FakeProvider([Answer("grün 🌿"), Answer("grün 🌿")])
        async with provider.serve(chunk=3) as url, MODELS[form]("fake-1", base_url=f"{url}/v1") as model:
            events = [event async for event in model.stream(REQUEST)]
            last = events[-1]
            assert isinstance(last, RoundFinished)
            assert (await model.complete(REQUEST)).text == last.response.text
            return last.response.text

    assert [asyncio.run(once()), asyncio.run(once())] == ["grün 🌿"] * 2


def test_the_same_instance_works_in_one_loop_after_another(connect: Connect, form: str) -> None:
    model, _ = connect(form, [Answer("a"), Answer("b")])
    assert [ask(model), ask(model)] == ["a", "b"]


def test_leaving_a_stream_early_closes_the_connection(form: str) -> None:
    closed = []

    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                yield sse(BEGUN[form])

        async def aclose(self) -> None:
            closed.append(True)

    async def leave() -> None:
        model = failing(form, lambda request: httpx.Response(200, stream=Endless()))
        events = model.stream(REQUEST)
        assert await anext(aiter(events)) == TextDelta("Hel")
        await events.aclose()  # type: ignore[attr-defined]

    asyncio.run(leave())
    assert closed == [True]
