"""One request to an OpenAI-compatible ``/v1/embeddings`` endpoint, tried again while the service is busy."""

from __future__ import annotations

import base64
import json
import os
import random as random_module
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.retries import RetryPolicy
from toolsearch.embedders.text import short_digest
from toolsearch.exceptions import EmbedderUnavailableError, EmbeddingError, RequestTooLargeError

API_KEY_VARIABLE = "TOOLSEARCH_EMBEDDER_API_KEY"

_RETRIED = frozenset({408, 425, 429})
_SIZE_WORDS = re.compile(
    r"too (?:long|large|many)|length|exceed|maximum|limit|less than|at most", re.IGNORECASE
)
# llama.cpp answers 500 where others answer 400.
_SIZE_WORDS_OF_500 = re.compile(r"too (?:long|large)", re.IGNORECASE)
_EXCERPT_CHARACTERS = 300


class EmbeddingEndpoint:
    """Where embeddings are asked for, and how. Safe to share between threads.

    The key is sent as a bearer token and appears in no message. It is `api_key`, or the environment
    variable ``TOOLSEARCH_EMBEDDER_API_KEY``, or, for api.openai.com alone, ``OPENAI_API_KEY``.

    Attributes:
        id: The base URL without user, password and query, ``#`` and the model; then, for parameters,
            ``@`` and a digest of them.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        """Sends nothing yet.

        Args:
            base_url: Such as ``https://api.openai.com/v1``.
            model: The model's name there.
            api_key: None takes it from the environment.
            parameters: More members of each request, such as ``{"dimensions": 256}``.
            transport, sleep, clock, random: The world outside, for tests.

        Raises:
            ValueError: `base_url` is no http or https URL.
        """
        try:
            url = httpx.URL(base_url)
        except httpx.InvalidURL as exc:
            raise ValueError(f"The endpoint's URL is invalid: {exc}") from exc
        path = url.path.rstrip("/").removesuffix("/embeddings")
        self._shown_url = str(url.copy_with(userinfo=b"", query=None, fragment=None, path=path))
        if url.scheme not in {"http", "https"} or not url.host:
            raise ValueError(f"{self._shown_url!r} is no http or https URL.")
        self.parameters = dict(parameters or {})
        self.id = f"{self._shown_url}#{model}"
        if self.parameters:
            self.id += f"@{short_digest(json.dumps(self.parameters, sort_keys=True))}"
        self._model = model
        self._sleep, self._clock, self._random = sleep, clock, random
        self._api_key = api_key or _key_from_environment(url.host) or ""
        self._url = url.copy_with(userinfo=b"", fragment=None, path=f"{path}/embeddings")
        self._client = httpx.Client(
            auth=(url.username, url.password) if url.username else None,
            headers={"Authorization": f"Bearer {self._api_key}"} if self._api_key else {},
            transport=transport,
        )

    def __repr__(self) -> str:
        return f"EmbeddingEndpoint({self._shown_url!r}, {self._model!r})"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def embed(self, texts: Sequence[str], *, retries: RetryPolicy, timeout_s: float) -> NDArray[np.float32]:
        """The rows (n, d) that the service answers, in the order of `texts`, as they are.

        Raises:
            RequestTooLargeError: the service refuses so many or so long texts.
            EmbedderUnavailableError: it cannot be reached, stays busy, or refuses the key or the model.
            EmbeddingError: it refuses the request otherwise, or answers no embeddings.
        """
        body = {"model": self._model, "input": list(texts), "encoding_format": "float", **self.parameters}
        failures = 0
        while True:
            cause: httpx.TransportError | None = None
            retry_after: str | None = None
            try:
                response = self._client.post(self._url, json=body, timeout=timeout_s)
            except httpx.TransportError as exc:
                cause, problem = exc, f"cannot be reached ({type(exc).__name__}: {exc})"
            else:
                if response.is_success:
                    return self._rows(response, len(texts))
                problem = f"answered {response.status_code}: {self._excerpt(response)}"
                if not _may_recover(response):
                    raise self._refusal(response, problem)
                retry_after = response.headers.get("Retry-After")
            failures += 1
            if failures >= retries.attempts:
                raise EmbedderUnavailableError(self._message(f"{problem} (attempt {failures})")) from cause
            self._sleep(retries.wait_s(failures, retry_after, now=self._clock(), random=self._random()))

    def _rows(self, response: httpx.Response, n: int) -> NDArray[np.float32]:
        try:
            items = response.json()["data"]
            rows = {_index(item, position): item["embedding"] for position, item in enumerate(items)}
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise EmbeddingError(self._message(f"answered no embeddings: {self._excerpt(response)}")) from exc
        missing = [position for position in range(n) if rows.get(position) is None]
        if missing:
            raise EmbeddingError(
                self._message(f"answered no vector for {len(missing)} of {n} texts (first: {missing[0]})")
            )
        if len(items) != n:
            raise EmbeddingError(self._message(f"answered {len(items)} vectors for {n} texts"))
        try:
            return np.stack([_vector(rows[position]) for position in range(n)])
        except (ValueError, TypeError) as exc:
            raise EmbeddingError(self._message(f"answered something that is no vector: {exc}")) from exc

    def _refusal(self, response: httpx.Response, problem: str) -> EmbeddingError:
        match response.status_code:
            case _ if _is_about_size(response):
                return RequestTooLargeError(self._message(problem))
            case 401 | 403:
                remedy = f"Check the key: the argument api_key, or the variable {API_KEY_VARIABLE}."
            case 404 | 405 | 410 | 429 | 300 | 301 | 302 | 303 | 307 | 308:
                remedy = "Check the URL, the model's name and your plan."
            case _:
                return EmbeddingError(self._message(problem))
        return EmbedderUnavailableError(f"{self._message(problem)} {remedy}")

    def _message(self, what: str) -> str:
        return f"The embedding service {self._shown_url!r} with model {self._model!r} {what}."

    def _excerpt(self, response: httpx.Response) -> str:
        """The beginning of the answer, without the key that some services repeat."""
        text = " ".join(response.text.split()) or response.headers.get("Location", "nothing")
        if self._api_key:
            text = text.replace(self._api_key, "***")
        return text if len(text) <= _EXCERPT_CHARACTERS else f"{text[:_EXCERPT_CHARACTERS]}..."


def _may_recover(response: httpx.Response) -> bool:
    if _is_about_size(response) or "insufficient_quota" in response.text:
        return False
    return response.status_code in _RETRIED or response.is_server_error


def _is_about_size(response: httpx.Response) -> bool:
    match response.status_code:
        case 413:
            return True
        case 400 | 422:
            return _SIZE_WORDS.search(response.text) is not None
        case 500:
            return _SIZE_WORDS_OF_500.search(response.text) is not None
        case _:
            return False


def _index(item: Mapping[str, Any], position: int) -> int:
    """The text that this item answers: its own word, or for services without one its place."""
    index = item.get("index")
    return index if isinstance(index, int) else position


def _vector(embedding: Any) -> NDArray[np.float32]:
    """A vector that came as JSON numbers or as base64 of little-endian float32."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    vector = np.asarray(embedding, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"an embedding of shape {vector.shape}")
    # A number beyond float32 becomes infinite, which the caller refuses.
    with np.errstate(over="ignore"):
        return vector.astype(np.float32)


def _key_from_environment(host: str) -> str | None:
    """The key meant for this host: OpenAI's own goes to OpenAI alone."""
    openai = os.environ.get("OPENAI_API_KEY") if host == "api.openai.com" else None
    return os.environ.get(API_KEY_VARIABLE) or openai
