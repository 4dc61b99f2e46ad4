"""An embedding model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np

from toolsearch.embedders.base import Progress, Vectors, as_unit_rows
from toolsearch.embedders.endpoint import EmbeddingEndpoint
from toolsearch.embedders.text import latin_share, short_digest, without_surrogates
from toolsearch.exceptions import (
    DimensionMismatchError,
    EmbedderUnavailableError,
    EmbeddingError,
    RequestTooLargeError,
)
from toolsearch.http.retries import RetryPolicy

MAX_TEXT_CHARACTERS = 32_000
"""Only so much of a text is sent: about the 8,000 tokens that hosted models read."""
DOCUMENT_RETRIES = RetryPolicy()
QUERY_RETRIES = RetryPolicy(attempts=2, max_wait_s=1.0)
"""Somebody is waiting, and a search can go on without vectors."""

# A text that is refused is halved until it is no longer than this.
_SHORTEST_CHARACTERS = 200


class HttpEmbedder:
    """Embeds by ``POST {base_url}/embeddings``, as OpenAI, vLLM, TEI, Ollama, LM Studio and others serve it.

    Texts go out in batches, shortest first. A batch that the service refuses as too large is halved, and
    so is a single text. Busy services (408, 425, 429, 5xx) and broken connections are tried again, after
    as long as a ``Retry-After`` asks for. Blank texts are not sent and give zero rows.
    """

    def __init__(
        self,
        endpoint: EmbeddingEndpoint,
        *,
        dim: int | None = None,
        document_prefix: str = "",
        query_prefix: str = "",
        latin_only: bool = False,
        max_texts: int = 64,
        max_characters: int = 100_000,
        timeout_s: float = 60.0,
        query_timeout_s: float = 5.0,
        retries: RetryPolicy = DOCUMENT_RETRIES,
        query_retries: RetryPolicy = QUERY_RETRIES,
    ) -> None:
        """Sends nothing yet.

        Args:
            endpoint: Where the model is served.
            dim: Length of its vectors. None takes the endpoint's ``dimensions``, or asks the service
                for a vector when the length is first needed.
            document_prefix, query_prefix: What the model wants in front of a text, such as ``"query: "``.
            latin_only: The model was trained on Latin script alone; see `reads`.
            max_texts, max_characters: The most in one request.
            timeout_s, query_timeout_s: For one request of documents or queries.
            retries, query_retries: For one request of documents or queries.
        """
        if min(max_texts, max_characters) < 1:
            raise ValueError("max_texts and max_characters must be at least 1.")
        self._endpoint = endpoint
        self._dim: int | None = dim or endpoint.parameters.get("dimensions")
        self._document_prefix, self._query_prefix = document_prefix, query_prefix
        self._latin_only = latin_only
        self._max_texts, self._max_characters = max_texts, max_characters
        self._timeout_s, self._query_timeout_s = timeout_s, query_timeout_s
        self._retries, self._query_retries = retries, query_retries
        self._probing = threading.Lock()
        self.id = endpoint.id
        if document_prefix or query_prefix:
            self.id += f"@{short_digest(repr((document_prefix, query_prefix)))}"

    def __repr__(self) -> str:
        return f"HttpEmbedder(id={self.id!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    @property
    def dim(self) -> int:
        """Length of each vector; where nobody said it, one request finds out.

        Raises:
            EmbeddingError: that request failed.
        """
        with self._probing:
            if self._dim is None:
                rows = self._endpoint.embed(
                    ["dimension"], retries=self._query_retries, timeout_s=self._query_timeout_s
                )
                self._dim = rows.shape[1]
            return self._dim

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`.

        A batch that fails does not keep the others from being asked for, unless the service cannot be
        reached at all or answers another dimension.

        Raises:
            EmbedderUnavailableError: the service cannot be reached, stays busy, or refuses the key or model.
            DimensionMismatchError: it answers vectors of another length than `dim`.
            EmbeddingError: it fails for some texts. Each error's `embedded` holds the rows of the others.
        """
        return self._embed(
            texts, self._document_prefix, retries=self._retries, timeout_s=self._timeout_s, progress=progress
        )

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`; gives up sooner than for documents."""
        return self._embed(
            texts, self._query_prefix, retries=self._query_retries, timeout_s=self._query_timeout_s
        )

    def reads(self, text: str) -> float:
        """1.0, or for a `latin_only` model the share of the text's letters that are Latin."""
        return latin_share(text[:MAX_TEXT_CHARACTERS]) if self._latin_only else 1.0

    def _embed(
        self,
        texts: Sequence[str],
        prefix: str,
        *,
        retries: RetryPolicy,
        timeout_s: float,
        progress: Progress | None = None,
    ) -> Vectors:
        dim = self.dim
        rows = np.zeros((len(texts), dim), dtype=np.float32)
        presentable = map(_presentable, texts)
        sent = {i: prefix + text for i, text in enumerate(presentable) if text}
        waiting = sorted(sent, key=lambda i: len(sent[i]))
        failed: set[int] = set()
        failure: EmbeddingError | None = None
        max_texts = self._max_texts
        while waiting:
            if progress is not None:
                progress(len(texts) - len(waiting), len(texts))
            batch = self._first_batch(waiting, sent, max_texts)
            try:
                answer = self._endpoint.embed([sent[i] for i in batch], retries=retries, timeout_s=timeout_s)
                rows[batch] = as_unit_rows(answer, n=len(batch), dim=dim, embedder_id=self.id)
            except RequestTooLargeError as exc:
                if len(batch) > 1:
                    max_texts = len(batch) // 2
                    continue
                text = sent[batch[0]]
                if len(text) > _SHORTEST_CHARACTERS:
                    sent[batch[0]] = text[: len(text) // 2]
                    continue
                failure = exc
                failed |= set(batch)
            except (EmbedderUnavailableError, DimensionMismatchError) as exc:
                exc.embedded = {i: rows[i] for i in range(len(texts)) if i not in failed | set(waiting)}
                raise
            except EmbeddingError as exc:
                failure = exc
                failed |= set(batch)
            waiting = waiting[len(batch) :]
        if failure is not None:
            raise EmbeddingError(
                f"{len(failed)} of {len(texts)} texts could not be embedded: {failure}",
                embedded={i: rows[i] for i in range(len(texts)) if i not in failed},
            ) from failure
        if progress is not None:
            progress(len(texts), len(texts))
        return rows

    def _first_batch(self, waiting: Sequence[int], sent: dict[int, str], max_texts: int) -> list[int]:
        batch: list[int] = []
        characters = 0
        for i in waiting[:max_texts]:
            characters += len(sent[i])
            if batch and characters > self._max_characters:
                break
            batch.append(i)
        return batch


def _presentable(text: str) -> str:
    """What of the text can be sent: no lone surrogates, no NUL, not too much; empty for a blank text."""
    text = without_surrogates(text[:MAX_TEXT_CHARACTERS]).replace("\x00", "")
    return text if text.strip() else ""
