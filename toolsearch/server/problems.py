"""From any error to the problem document that a client gets: the one place that knows statuses."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from toolsearch.api.problem import PREFIX, PROBLEM_TYPE, Problem
from toolsearch.exceptions import (
    AccessDeniedError,
    AddressRefusedError,
    BodyTooLargeError,
    CatalogChangedError,
    CatalogFileError,
    DatabaseError,
    DatabaseUnreachableError,
    DefinitionError,
    DuplicateToolError,
    EmbeddingError,
    ForeignRequestError,
    IdempotencyError,
    IndexLockedError,
    InvalidRequestError,
    MediaTypeError,
    NoSuchPathError,
    NotCallableError,
    NotJsonError,
    NotReadyError,
    PreconditionError,
    RequestRefusedError,
    RerankerError,
    SearchRequestError,
    SlowRequestError,
    StoreError,
    TooBusyError,
    TookTooLongError,
    ToolIndexError,
    ToolLimitError,
    ToolSearchError,
    UnknownResourceError,
    UnknownToolError,
    UploadRefusedError,
    UpstreamError,
    WrongMethodError,
)
from toolsearch.exceptions.places import place_of

_log = logging.getLogger(__name__)

_STATUSES: tuple[tuple[type[ToolSearchError], int, str, str], ...] = (
    # The first that fits counts, so an error stands before what it derives from.
    (AccessDeniedError, 401, "access-denied", "Access denied"),
    (ForeignRequestError, 403, "foreign-request", "Foreign request"),
    (NoSuchPathError, 404, "not-found", "Not found"),
    (WrongMethodError, 405, "method-not-allowed", "Method not allowed"),
    (MediaTypeError, 415, "unsupported-media-type", "Unsupported media type"),
    (NotJsonError, 400, "not-json", "Not JSON"),
    (InvalidRequestError, 422, "invalid-request", "Invalid request"),
    (BodyTooLargeError, 413, "body-too-large", "Body too large"),
    (SlowRequestError, 408, "slow-request", "Slow request"),
    (UnknownResourceError, 404, "unknown", "Unknown"),
    (UnknownToolError, 404, "unknown-tool", "Unknown tool"),
    (NotCallableError, 409, "not-callable", "Tool cannot be called"),
    (PreconditionError, 412, "precondition-failed", "Precondition failed"),
    (UploadRefusedError, 422, "upload", "Unusable upload"),
    (IdempotencyError, 422, "idempotency-key", "Idempotency key used before"),
    (TooBusyError, 429, "too-busy", "Too busy"),
    (TookTooLongError, 504, "took-too-long", "Took too long"),
    (NotReadyError, 503, "not-ready", "Not ready"),
    (UpstreamError, 502, "upstream", "Provider gave no answer"),
    (RequestRefusedError, 400, "refused", "Refused"),
    (SearchRequestError, 422, "search-request", "Not searchable"),
    (DuplicateToolError, 409, "duplicate-tool", "Duplicate tool"),
    (DefinitionError, 422, "definition", "Unusable definition"),
    (CatalogFileError, 422, "catalog", "Unusable catalog"),
    (ToolLimitError, 422, "tool-limit", "Too many tools"),
    (AddressRefusedError, 422, "address-refused", "Address refused"),
    (IndexLockedError, 503, "index-locked", "Index is being written"),
    (ToolIndexError, 503, "index", "Index cannot be used"),
    (EmbeddingError, 503, "embedder", "Embedder failed"),
    (RerankerError, 503, "reranker", "Reranker failed"),
    (StoreError, 503, "store", "Store cannot be used"),
    (DatabaseUnreachableError, 503, "database", "Database does not answer"),
    (DatabaseError, 503, "store", "Store cannot be used"),
    (CatalogChangedError, 503, "catalog-changed", "Catalog changed meanwhile"),
    (ToolSearchError, 500, "internal", "Internal error"),
)

_ISSUES = 50
"""Told of what is wrong with a request; what is in the text says how many there are."""

_UNTOLD = "{}. The log of the service says more."
_NEUTRAL = frozenset({"index", "index-locked", "embedder", "reranker", "store", "database"})
"""Their messages name paths and addresses of the machine, which are for its operator alone."""


def problem_of(error: Exception, *, request_id: str = "") -> tuple[Problem, dict[str, str]]:
    """What a client is told of `error`, and headers that go with it."""
    headers: dict[str, str] = {}
    if isinstance(error, ToolSearchError):
        problem, headers = _known(error)
    elif isinstance(error, sqlite3.Error):
        problem = _problem(503, "store", "Store cannot be used", _UNTOLD.format("Store cannot be used"))
    elif isinstance(error, HTTPException):
        headers = dict(error.headers or {})
        title = HTTPStatus(error.status_code).phrase
        kind = title.lower().replace(" ", "-")
        problem = _problem(error.status_code, kind, title, f"{error.detail}.")
    else:
        problem = _problem(500, "internal", "Internal error", "The service failed. Its log says more.")
    return problem.model_copy(update={"request_id": request_id}), headers


def problem_response(error: Exception, *, request_id: str = "") -> Response:
    """The response to a request that ended with `error`, which is logged where it is the service's fault."""
    problem, headers = problem_of(error, request_id=request_id)
    if problem.status >= 500 and not isinstance(error, RequestRefusedError):
        log_failure(error, request_id=request_id)
    body = problem.model_dump_json(exclude_none=True)
    return Response(body, problem.status, {**headers, "Cache-Control": "no-store"}, media_type=PROBLEM_TYPE)


def log_failure(error: Exception, *, request_id: str) -> None:
    """Tell the operator of `error`: what and where, but no message of an unexpected one.

    Such a message may repeat arguments of tools, or what a tool gave back.
    """
    message = f"; {error}" if isinstance(error, ToolSearchError) else ""
    _log.error("Request %s failed: %s%s", request_id, place_of(error), message)


def _known(error: ToolSearchError) -> tuple[Problem, dict[str, str]]:
    _, status, kind, title = next(known for known in _STATUSES if isinstance(error, known[0]))
    headers: dict[str, str] = {}
    facts: dict[str, Any] = {}
    if isinstance(error, AccessDeniedError):
        if error.is_known:
            status = 403
        else:
            headers["WWW-Authenticate"] = "Bearer"
    elif isinstance(error, IdempotencyError) and error.is_running:
        status = 409
    elif isinstance(error, UpstreamError):
        status = 504 if error.is_late else status
        headers = {"X-Should-Retry": "false"} if error.is_final else {}
    elif isinstance(error, TooBusyError):
        headers["Retry-After"] = str(max(1, round(error.retry_after_s)))
    elif isinstance(error, NotReadyError | DatabaseUnreachableError | CatalogChangedError):
        headers["Retry-After"] = "1"
    elif isinstance(error, UnknownToolError):
        facts = {"name": error.name, "near": list(error.near)}
    elif isinstance(error, DefinitionError):
        facts = {"tool": error.tool}
    elif isinstance(error, InvalidRequestError):
        told = error.faults[:_ISSUES]
        facts = {"errors": [{"at": at, "problem": fault} for at, fault in told]}
    elif isinstance(error, WrongMethodError):
        headers["Allow"] = ", ".join(error.allowed)
    elif isinstance(error, UploadRefusedError):
        facts = {"issues": list(error.issues[:_ISSUES])}
    neutral = status == 500 or kind in _NEUTRAL
    detail = _UNTOLD.format(title) if neutral else str(error)
    return _problem(status, kind, title, detail, facts), headers


def _problem(
    status: int, kind: str, title: str, detail: str, facts: Mapping[str, Any] | None = None
) -> Problem:
    # A lone surrogate of a name could not be sent.
    safe = detail.encode("utf-8", "replace").decode()
    return Problem.model_validate(
        {**(facts or {}), "type": PREFIX + kind, "title": title, "status": status, "detail": safe}
    )
