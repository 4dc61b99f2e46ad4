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

from toolsearch.embedders.text import short_digest
from toolsearch.exceptions import EmbedderUnavailableError, EmbeddingError, RequestTooLargeError
from toolsearch.http.address import QuietURL, hidden_proxies, http_url, sendable
from toolsearch.http.answer import Answer, ask
from toolsearch.http.retries import RetryPolicy, asked_wait_s
from toolsearch.http.secrets import Redaction, words_of

API_KEY_VARIABLE = "TOOLSEARCH_EMBEDDER_API_KEY"

_RETRIED = frozenset({408, 425, 429})
_SIZE_WORDS = re.compile(
    r"too (?:long|large|many)|length|exceed|maximum|limit|less than|at most", re.IGNORECASE
)
# llama.cpp answers 500 where others answer 400.
_SIZE_WORDS_OF_500 = re.compile(r"too (?:long|large)", re.IGNORECASE)
_EXCERPT_CHARACTERS = 300

MAX_ANSWER_BYTES = 1 << 20
MAX_ANSWER_BYTES_PER_TEXT = 1 << 18
"""No longer answer is read: 8,000 dimensions at 32 bytes each are as much as any model gives."""


class EmbeddingEndpoint:
    """Where embeddings are asked for, and how. Safe to share between threads.

    The key is sent as a bearer token. It is `api_key`, or the environment variable
    ``TOOLSEARCH_EMBEDDER_API_KEY``, or, for api.openai.com alone, ``OPENAI_API_KEY``. Neither it nor user and
    password of the URL appear in any message, in whatever spelling the service repeats them.

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
        monotonic: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        """Sends nothing yet.

        Args:
            base_url: Such as ``https://api.openai.com/v1``.
            model: The model's name there.
            api_key: None takes it from the environment.
            parameters: More members of each request, such as ``{"dimensions": 256}``.
            transport, sleep, clock, monotonic, random: The world outside, for tests.

        Raises:
            ValueError: `base_url` is no http or https URL, the key cannot be sent, or the proxy that the
                environment names cannot be used.
        """
        url = http_url(base_url)
        path = url.path.rstrip("/").removesuffix("/embeddings")
        self._shown_url = str(url.copy_with(userinfo=b"", query=None, fragment=None, path=path))
        self.parameters = dict(parameters or {})
        self.id = f"{self._shown_url}#{model}"
        if self.parameters:
            self.id += f"@{short_digest(json.dumps(self.parameters, sort_keys=True))}"
        self._model = model
        self._sleep, self._clock, self._monotonic, self._random = sleep, clock, monotonic, random
        key = sendable(
            api_key or _key_from_environment(url.host) or "",
            what="The key",
            remedy=f"Check the argument api_key, or the variable {API_KEY_VARIABLE}.",
        )
        self._redacted = Redaction(
            [key, *words_of(url.params.values())], user=url.username, password=url.password
        )
        whole = url.copy_with(userinfo=b"", fragment=None, path=f"{path}/embeddings")
        self._url = QuietURL(whole, f"{self._shown_url}/embeddings")
        with hidden_proxies():
            self._client = httpx.Client(
                auth=(url.username, url.password) if url.username or url.password else None,
                headers={"Authorization": f"Bearer {key}"} if key else {},
                transport=transport,
            )

    def __repr__(self) -> str:
        return f"EmbeddingEndpoint({self._shown_url!r}, {self._model!r})"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def embed(self, texts: Sequence[str], *, retries: RetryPolicy, timeout_s: float) -> NDArray[np.float32]:
        """The rows (n, d) that the service answers, in the order of `texts`, as they are.

        One attempt takes `timeout_s`, to the last byte of the answer.

        Raises:
            RequestTooLargeError: the service refuses so many or so long texts.
            EmbedderUnavailableError: it cannot be reached, stays busy, or refuses the key or the model.
            EmbeddingError: it refuses the request otherwise, or answers no embeddings.
        """
        body = {"model": self._model, "input": list(texts), "encoding_format": "float", **self.parameters}
        failures = 0
        while True:
            asked_for_s: float | None = None
            answer = self._ask(body, len(texts), timeout_s)
            if isinstance(answer, Answer):
                if answer.is_success:
                    return self._rows(answer, len(texts))
                problem = f"answered {answer.status}: {self._excerpt(answer)}"
                if not _may_recover(answer):
                    raise self._refusal(answer, problem)
                asked_for_s = asked_wait_s(answer.headers, now=self._clock())
            else:
                problem = f"cannot be reached ({answer})"
            failures += 1
            if failures >= retries.attempts:
                raise EmbedderUnavailableError(self._message(f"{problem} (attempt {failures})"))
            self._sleep(retries.wait_s(failures, asked_for_s, random=self._random()))

    def _ask(self, body: Mapping[str, Any], n: int, timeout_s: float) -> Answer | str:
        """What the service answers, or why it cannot be reached now."""
        try:
            return ask(
                self._client,
                self._url,
                body,
                timeout_s=timeout_s,
                max_bytes=MAX_ANSWER_BYTES + n * MAX_ANSWER_BYTES_PER_TEXT,
                monotonic=self._monotonic,
            )
        except httpx.DecodingError as exc:
            kind, problem = EmbeddingError, f"answered what cannot be decoded ({exc})"
        except httpx.RequestError as exc:
            return self._redacted(f"{type(exc).__name__}: {exc}")
        except (httpx.InvalidURL, UnicodeError) as exc:
            kind, problem = EmbedderUnavailableError, f"has an address that cannot be used ({exc})"
        # Not from the error itself, which may repeat a secret.
        raise kind(self._message(self._redacted(problem)))

    def _rows(self, answer: Answer, n: int) -> NDArray[np.float32]:
        if not answer.is_whole:
            raise self._nonsense(f"answered more than {len(answer.content)} bytes for {n} texts")
        try:
            items = json.loads(answer.content)["data"]
            rows = {_index(item, position): item["embedding"] for position, item in enumerate(items)}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            rows = None
        if rows is None:
            raise self._nonsense(f"answered no embeddings: {self._excerpt(answer)}")
        missing = [position for position in range(n) if rows.get(position) is None]
        if missing:
            raise self._nonsense(f"answered no vector for {len(missing)} of {n} texts (first: {missing[0]})")
        if len(items) != n:
            raise self._nonsense(f"answered {len(items)} vectors for {n} texts")
        try:
            return np.stack([_vector(rows[position]) for position in range(n)])
        except (ValueError, TypeError, OverflowError, RecursionError) as exc:
            problem = self._redacted(f"answered something that is no vector: {exc}")
        raise self._nonsense(problem)

    def _nonsense(self, problem: str) -> EmbeddingError:
        return EmbeddingError(self._message(problem))

    def _refusal(self, answer: Answer, problem: str) -> EmbeddingError:
        match answer.status:
            case _ if _is_about_size(answer):
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

    def _excerpt(self, answer: Answer) -> str:
        """The beginning of the answer, without the secrets that some services repeat."""
        text = " ".join(answer.text.split()) or answer.headers.get("Location", "nothing")
        return self._redacted.beginning(text, _EXCERPT_CHARACTERS)


def _may_recover(answer: Answer) -> bool:
    if _is_about_size(answer) or "insufficient_quota" in answer.text:
        return False
    return answer.status in _RETRIED or answer.status >= 500


def _is_about_size(answer: Answer) -> bool:
    match answer.status:
        case 413:
            return True
        case 400 | 422:
            return _SIZE_WORDS.search(answer.text) is not None
        case 500:
            return _SIZE_WORDS_OF_500.search(answer.text) is not None
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
    if vector.ndim != 1 or not vector.size:
        raise ValueError(f"an embedding of shape {vector.shape}")
    # A number beyond float32 becomes infinite, which the caller refuses.
    with np.errstate(over="ignore"):
        return vector.astype(np.float32)


def _key_from_environment(host: str) -> str | None:
    """The key meant for this host: OpenAI's own goes to OpenAI alone."""
    openai = os.environ.get("OPENAI_API_KEY") if host == "api.openai.com" else None
    return os.environ.get(API_KEY_VARIABLE) or openai
