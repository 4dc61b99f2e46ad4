"""Requests to a chat model's endpoint, tried again while it is busy."""

from __future__ import annotations

import asyncio
import json
import logging
import random as random_module
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypedDict
from weakref import WeakKeyDictionary

import httpx

from toolsearch.chat.arguments import is_complete
from toolsearch.chat.errors import BODY_CHARACTERS, error_in, is_passing, model_error
from toolsearch.chat.sse import StreamMeter, read_events
from toolsearch.checks import check_number
from toolsearch.embedders.text import without_surrogates
from toolsearch.exceptions import (
    BadRequestError,
    ChatModelError,
    MalformedAnswerError,
    ModelUnreachableError,
)
from toolsearch.http.address import QuietURL, hidden_proxies
from toolsearch.http.answer import Answer, read, within
from toolsearch.http.retries import RetryPolicy, asked_wait_s
from toolsearch.http.secrets import Redaction, words_of
from toolsearch.tools import JsonObject

RETRIES = RetryPolicy(attempts=4, base_wait_s=0.5, max_wait_s=30.0)
CONNECT_TIMEOUT_S = 10.0
MAX_ANSWER_BYTES = 1 << 25
"""No longer answer is read, nor a longer event of a stream: some pictures fit in, and any text does."""
MAX_STREAM_BYTES = 1 << 28
"""Of a whole stream, in which each word of an answer costs some hundred bytes."""
DONE: JsonObject = {}
"""Stands among the events of a stream for the ``[DONE]`` that closes it."""

_LOG = logging.getLogger(__name__)
_INCOMPLETE = "the answer was not complete"
_REASON_CHARACTERS = 500
_FAILURES = (httpx.RequestError, httpx.InvalidURL, UnicodeError)


class EndpointSettings(TypedDict, total=False):
    """What every chat model takes of `ChatEndpoint`'s arguments."""

    retries: RetryPolicy
    timeout_s: float
    transport: httpx.AsyncBaseTransport | None
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]
    random: Callable[[], float]


class ChatEndpoint:
    """Where a chat model is served. Safe to share between tasks, threads and event loops.

    Its secrets appear in no message, error or log, in whatever spelling the provider repeats them. Redirects
    are not followed: they would carry the key elsewhere.

    Attributes:
        url: Where requests are posted to, without user and password.
        provider: The model's id.
    """

    def __init__(
        self,
        url: httpx.URL,
        *,
        provider: str,
        headers: Mapping[str, str],
        secrets: Iterable[str] = (),
        retries: RetryPolicy = RETRIES,
        timeout_s: float = 600.0,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.time,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        """Sends nothing yet.

        Args:
            url: Where requests are posted to.
            provider: The model's id, for errors.
            headers: Sent with each request.
            secrets: The key and the like, wherever in URL and headers they stand.
            retries: For requests that may succeed in a moment.
            timeout_s: In which an answer must be there to its last byte; of a stream the first event, and
                each further one after the one before.
            transport, sleep, clock, random: The world outside, for tests.

        Raises:
            TypeError, ValueError: `timeout_s` is no number above 0.
        """
        check_number("timeout_s", timeout_s)
        self._auth = (url.username, url.password) if url.username or url.password else None
        self.url = url.copy_with(userinfo=b"", fragment=None)
        self.provider = provider
        self._headers = dict(headers)
        self._hide = Redaction(
            [*secrets, *words_of(url.params.values())], user=url.username, password=url.password
        )
        self._shown_url = self._hide(str(self.url.copy_with(query=None)))
        self._retries = retries
        self._timeout_s = timeout_s
        self._transport = transport
        self._sleep, self._clock, self._random = sleep, clock, random
        # A connection belongs to the event loop that opened it.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"ChatEndpoint({self._shown_url})"

    def sends(self, header: str) -> bool:
        """Whether each request has that header."""
        return header.casefold() in map(str.casefold, self._headers)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def post(self, body: JsonObject) -> JsonObject:
        """The JSON object that the endpoint answers.

        Raises:
            ChatModelError: it refused, failed or stayed busy.
        """
        failures = 0
        while True:
            try:
                return await self._post(body)
            except ChatModelError as exc:
                failures += 1
                await self.wait_or_raise(exc, failures)

    async def stream(self, body: JsonObject) -> AsyncGenerator[JsonObject, None]:
        """The events of the answer as JSON objects, in order, a closing ``[DONE]`` as `DONE`; one attempt.

        An event at the end that was cut off is left out.

        Raises:
            ChatModelError: as for `post`; also in the middle, for an error that comes as an event.
        """
        failure = None
        try:
            async with self._answering(body) as response:
                if not response.is_success:
                    async with within(self._timeout_s, _INCOMPLETE):
                        refusal = await read(response, max_bytes=MAX_ANSWER_BYTES)
                    raise self._refusal(refusal)
                meter = StreamMeter()
                async with aclosing(read_events(self._metered(response, meter))) as events:
                    while True:
                        async with within(self._timeout_s, "no event came"):
                            data = await anext(events, None)
                        if data is None:
                            break
                        meter.end_event()
                        # Read on to the end: a connection that was read out can be used again.
                        if data.strip() == "[DONE]":
                            yield DONE
                        elif not meter.has_ended or is_complete(data):
                            yield self._parsed(data, None, "has an event that is no JSON object")
                if meter.is_no_stream:
                    text = meter.beginning.decode("utf-8", "replace")
                    problem = f"is no stream of events{_but(response.headers)}"
                    self._parsed(text, response.status_code, problem)
                    raise self.malformed(problem, text, response.status_code)
        except _FAILURES as exc:
            failure = self._failure(exc)
        if failure is not None:
            raise failure

    async def wait_or_raise(self, error: ChatModelError, failures: int) -> None:
        """Wait until the next attempt after so many failures, or raise `error` where there is to be none."""
        if failures >= self._retries.attempts or not is_passing(error):
            raise error
        wait_s = self._retries.wait_s(failures, error.retry_after_s, random=self._random())
        _LOG.debug("%s; again in %.1f s", type(error).__name__, wait_s)
        await self._sleep(wait_s)

    def malformed(self, problem: str, body: str = "", status: int | None = None) -> MalformedAnswerError:
        """The error for an answer whose `problem` is told after its URL; secrets are hidden."""
        reason = self._hide.beginning(f"the answer of {self._shown_url} {problem}", _REASON_CHARACTERS)
        return MalformedAnswerError(
            self.provider, reason, status=status, body=self._hide.beginning(body, BODY_CHARACTERS)
        )

    async def _post(self, body: JsonObject) -> JsonObject:
        failure = None
        try:
            async with within(self._timeout_s, _INCOMPLETE), self._answering(body) as response:
                answer = await read(response, max_bytes=MAX_ANSWER_BYTES)
        except _FAILURES as exc:
            failure = self._failure(exc)
        if failure is not None:
            raise failure
        if not answer.is_success:
            raise self._refusal(answer)
        if not answer.is_whole:
            raise self.malformed(f"has more than {len(answer.content)} bytes", status=answer.status)
        return self._parsed(answer.text, answer.status, f"is no JSON object{_but(answer.headers)}")

    @asynccontextmanager
    async def _answering(self, body: JsonObject) -> AsyncIterator[httpx.Response]:
        client = self._client()
        request = client.build_request("POST", self.url, content=_encode(body))
        request.url = QuietURL(self.url, self._shown_url)
        async with within(self._timeout_s, "no answer came"):
            response = await client.send(request, stream=True)
        async with aclosing(response):
            yield response

    async def _metered(self, response: httpx.Response, meter: StreamMeter) -> AsyncIterator[bytes]:
        async for chunk in response.aiter_bytes():
            meter.take(chunk)
            if meter.since_event > MAX_ANSWER_BYTES:
                raise self.malformed(f"has an event of more than {MAX_ANSWER_BYTES} bytes")
            if meter.n_bytes > MAX_STREAM_BYTES:
                raise self.malformed(f"is a stream of more than {MAX_STREAM_BYTES} bytes")
            yield chunk
        meter.has_ended = True

    def _parsed(self, text: str, status: int | None, problem: str) -> JsonObject:
        try:
            answer = json.loads(text)
            # Of an event the other half may come with the next one.
            if status is not None and "\\u" in text:
                answer = _mended(answer)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise self.malformed(problem, text, status)
        if error_in(answer) is not None:
            raise model_error(self.provider, status=status, body=text, hide=self._hide)
        return answer

    def _refusal(self, answer: Answer) -> ChatModelError:
        if 300 <= answer.status < 400:
            where = answer.headers.get("Location", "nowhere")
            reason = f"{self._shown_url} redirects to {where}, which is not followed. Check the base URL"
            reason = self._hide.beginning(reason, _REASON_CHARACTERS)
            return BadRequestError(self.provider, reason, status=answer.status)
        return model_error(
            self.provider,
            status=answer.status,
            body=answer.text,
            retry_after_s=asked_wait_s(answer.headers, now=self._clock()),
            hide=self._hide,
        )

    def _failure(self, error: Exception) -> ChatModelError:
        """The error to raise for one of `_FAILURES`; not from that, which may show a secret."""
        problem = self._hide.beginning(
            f"{type(error).__name__}: {error}".removesuffix(": "), _REASON_CHARACTERS
        )
        match error:
            case httpx.DecodingError():
                return self.malformed(f"cannot be decoded ({problem})")
            case httpx.TransportError():
                reason = f"{self._shown_url} gave no answer ({problem})"
                return ModelUnreachableError(self.provider, reason)
            case _:
                return ChatModelError(self.provider, f"{self._shown_url} cannot be asked ({problem})")

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            try:
                with hidden_proxies():
                    client = self._clients[loop] = httpx.AsyncClient(
                        auth=self._auth,
                        headers={"Content-Type": "application/json", **self._headers},
                        timeout=httpx.Timeout(self._timeout_s, connect=CONNECT_TIMEOUT_S),
                        transport=self._transport,
                    )
            except ValueError as exc:
                raise ChatModelError(self.provider, str(exc)) from exc
        return client


def _but(headers: httpx.Headers) -> str:
    """What an answer says that it is, for the end of a problem; empty where that would explain nothing."""
    media_type = headers.get("Content-Type", "").partition(";")[0].strip()
    return f", but {media_type}" if media_type else ""


def _encode(body: JsonObject) -> bytes:
    """The body as JSON in UTF-8: the same bytes for the same body, keys in their order."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return without_surrogates(text).encode()


def _mended(value: Any) -> Any:
    """`value` with lone surrogates replaced: JSON may hold them escaped, text that is sent on may not."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {key: _mended(item) for key, item in value.items()}
    return value
