"""Errors of searches: embedders, indexes, tokenizers, evaluation, tuning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolsearch.exceptions.base import ToolSearchError


class SearchRequestError(ToolSearchError, ValueError):
    """A search that cannot be answered as asked."""


class EmbeddingError(ToolSearchError):
    """An embedder failed, or answered something that is no embedding.

    `embedded` holds the rows of the texts that succeeded all the same, by position in the call.
    """

    def __init__(self, message: str, *, embedded: Mapping[int, Any] | None = None) -> None:
        self.embedded = dict(embedded or {})
        super().__init__(message)


class EmbedderUnavailableError(EmbeddingError):
    """An embedder that cannot be loaded or reached."""


class RerankerError(ToolSearchError):
    """A reranker that cannot be loaded, failed, or answered something that is no score."""


class RequestTooLargeError(EmbeddingError):
    """An embedding service refuses so much text at once."""


class DimensionMismatchError(EmbeddingError):
    """Vectors of another length than expected."""

    def __init__(self, *, expected: int, got: int, embedder_id: str | None = None) -> None:
        self.expected = expected
        self.got = got
        self.embedder_id = embedder_id
        answered = "Got" if embedder_id is None else f"Embedder {embedder_id!r} answered"
        super().__init__(
            f"{answered} vectors of {got} dimensions where {expected} were expected. "
            "Use the embedder that the index was built with, or rebuild the index."
        )


class EmbeddingCacheError(EmbeddingError):
    """The vectors kept on disk cannot be used; `path` names the file."""

    def __init__(self, path: Path | str, reason: str, *, remedy: str) -> None:
        self.path = path
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"Embedding cache {str(path)!r} {reason}. {remedy}")


class ToolIndexError(ToolSearchError):
    """An index folder that cannot be used; `path` names it."""

    def __init__(self, path: Path | str, reason: str, *, remedy: str | None = None) -> None:
        self.path = path
        self.reason = reason
        self.remedy = remedy or f"Rebuild it: toolsearch index build CATALOG -o {path}"
        super().__init__(f"Index {str(path)!r} {reason}. {self.remedy}")


class IndexNotFoundError(ToolIndexError):
    """There is no index at that path; `is_catalog` says whether a catalog is in its place."""

    def __init__(self, path: Path | str, *, is_catalog: bool = False, inner: Path | None = None) -> None:
        """`inner` is an index within the folder `path`."""
        self.is_catalog = is_catalog
        if inner is not None:
            super().__init__(path, "holds no index itself", remedy=f"Did you mean {str(inner)!r}?")
            return
        if is_catalog:
            super().__init__(
                path,
                "is a catalog, and no index",
                remedy=f"Build an index elsewhere, and give that: toolsearch index build {path} -o INDEX",
            )
            return
        reason = "is a folder without an index" if Path(path).is_dir() else "does not exist"
        super().__init__(path, reason, remedy=f"Build it: toolsearch index build CATALOG -o {path}")


class IndexDamagedError(ToolIndexError):
    """A file of the index is missing, truncated or altered; `file` names it."""

    def __init__(self, path: Path | str, file: str, reason: str) -> None:
        self.file = file
        super().__init__(path, f"is damaged: {file} {reason}")


class IndexMismatchError(ToolIndexError):
    """The index was built by another embedder than the one it is loaded with."""

    def __init__(
        self,
        path: Path | str,
        *,
        built_with: str,
        built_dim: int,
        loaded_with: str,
        loaded_dim: int,
        remedy: str = "",
    ) -> None:
        self.built_with = built_with
        self.loaded_with = loaded_with
        super().__init__(
            path,
            f"was built with {built_with!r} ({built_dim} dimensions), not {loaded_with!r} ({loaded_dim})",
            remedy=remedy
            or f"Rebuild it, or load it with {built_with!r}: toolsearch index build CATALOG -o {path}",
        )


class IndexFormatError(ToolIndexError):
    """The index was written in a format version that this release does not read."""


class IndexLockedError(ToolIndexError):
    """Another writer is busy with the index."""

    def __init__(self, path: Path | str, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        super().__init__(
            path,
            f"is being written by another process or thread, for more than {timeout_s:g} s",
            remedy="Try again when that is done.",
        )


class TokenizerError(ToolSearchError):
    """A tokenizer that is unknown, or whose vocabulary is missing or altered; `encoding` names it."""

    def __init__(self, encoding: str, reason: str) -> None:
        self.encoding = encoding
        self.reason = reason
        super().__init__(f"Tokenizer {encoding!r} {reason}")


class EvaluationError(ToolSearchError, ValueError):
    """Queries, relevance judgments or a run that cannot be scored.

    Attributes:
        path, line: Where, for what was read from a file.
        ids: The queries or tools in question, as far as it is about some.
    """

    def __init__(
        self,
        reason: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        ids: tuple[str, ...] = (),
    ) -> None:
        self.reason = reason
        self.path = path
        self.line = line
        self.ids = ids
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(f"{where}{reason}")


class TuningError(ToolSearchError, ValueError):
    """An encoder that cannot be tuned as asked, or a tuned one that is no good."""
