"""Requests to a chat model's endpoint, tried again while it is busy."""

from __future__ import annotations

import asyncio
import json
import logging
import random as random_module
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, TypedDict
from weakref import WeakKeyDictionary

import httpx

from toolsearch.chat.errors import error_in, is_passing, model_error
from toolsearch.chat.sse import read_events
from toolsearch.embedders.retries import RetryPolicy, parse_retry_after
from toolsearch.embedders.text import without_surrogates
from toolsearch.exceptions import ChatModelError, MalformedAnswerError, ModelUnreachableError
from toolsearch.tools import JsonObject

RETRIES = RetryPolicy(attempts=4, base_wait_s=0.5, max_wait_s=30.0)
CONNECT_TIMEOUT_S = 10.0

_LOG = logging.getLogger(__name__)
_SHORTEST_SECRET = 8


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

    Its secrets appear in no message, error or log.

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
            timeout_s: The longest silence of the provider, between two pieces of a stream too.
            transport, sleep, clock, random: The world outside, for tests.
        """
        self._auth = (url.username, url.password) if url.username else None
        self.url = url.copy_with(userinfo=b"", fragment=None)
        self.provider = provider
        self._headers = dict(headers)
        self._secrets = [s for s in (*secrets, url.password) if len(s) >= _SHORTEST_SECRET]
        self._retries = retries
        self._timeout = httpx.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S)
        self._transport = transport
        self._sleep, self._clock, self._random = sleep, clock, random
        # A connection belongs to the event loop that opened it.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"ChatEndpoint({self.url.copy_with(query=None)!s})"

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
        """The events of the answer as JSON objects, in order, without the closing ``[DONE]``; one attempt.

        Raises:
            ChatModelError: as for `post`; also in the middle, for an error that comes as an event.
        """
        try:
            async with self._client().stream("POST", self.url, content=_encode(body)) as response:
                if not response.is_success:
                    await response.aread()
                    raise self._refusal(response)
                async with aclosing(read_events(response.aiter_bytes())) as events:
                    async for data in events:
                        if data.strip() == "[DONE]":
                            # Read on to the end: a connection that was read out can be used again.
                            continue
                        yield self._parse(data, status=None)
        except httpx.TransportError as exc:
            raise self._unreachable(exc) from exc

    async def wait_or_raise(self, error: ChatModelError, failures: int) -> None:
        """Wait until the next attempt after so many failures, or raise `error` where there is to be none."""
        if failures >= self._retries.attempts or not is_passing(error):
            raise error
        asked_for = None if error.retry_after_s is None else str(error.retry_after_s)
        wait_s = self._retries.wait_s(failures, asked_for, now=self._clock(), random=self._random())
        _LOG.debug("%s; again in %.1f s", type(error).__name__, wait_s)
        await self._sleep(wait_s)

    async def _post(self, body: JsonObject) -> JsonObject:
        try:
            response = await self._client().post(self.url, content=_encode(body))
        except httpx.TransportError as exc:
            raise self._unreachable(exc) from exc
        if not response.is_success:
            raise self._refusal(response)
        answer = self._parse(response.text, status=response.status_code)
        if b"\\u" in response.content:
            answer = _mended(answer)
        return answer

    def _parse(self, text: str, *, status: int | None) -> JsonObject:
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            body = self._redacted(text)
            raise MalformedAnswerError(
                self.provider, "the answer is no JSON object", status=status, body=body
            )
        if error_in(answer) is not None:
            raise model_error(self.provider, status=status, body=self._redacted(text))
        return answer

    def _refusal(self, response: httpx.Response) -> ChatModelError:
        return model_error(
            self.provider,
            status=response.status_code,
            body=self._redacted(response.text),
            retry_after_s=parse_retry_after(response.headers.get("retry-after"), now=self._clock()),
        )

    def _unreachable(self, error: httpx.TransportError) -> ModelUnreachableError:
        reason = self._redacted(str(error)) or "no answer"
        return ModelUnreachableError(self.provider, f"{type(error).__name__}: {reason}")

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = httpx.AsyncClient(
                auth=self._auth,
                headers={"Content-Type": "application/json", **self._headers},
                timeout=self._timeout,
                transport=self._transport,
            )
        return client


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
