"""What a provider's failure means."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from toolsearch.exceptions import (
    AuthenticationError,
    BadRequestError,
    ChatModelError,
    ContextTooLongError,
    ModelUnreachableError,
    OverloadedError,
    RateLimitedError,
)
from toolsearch.http.secrets import Redaction
from toolsearch.tools import JsonObject

_BY_STATUS: Mapping[int, type[ChatModelError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: AuthenticationError,
    404: BadRequestError,
    408: OverloadedError,
    409: OverloadedError,
    413: ContextTooLongError,
    422: BadRequestError,
    425: OverloadedError,
    429: RateLimitedError,
}
_BY_CODE: Mapping[str, type[ChatModelError]] = {
    "api_error": OverloadedError,
    "authentication_error": AuthenticationError,
    "context_length_exceeded": ContextTooLongError,
    "exceed_context_size_error": ContextTooLongError,
    "invalid_api_key": AuthenticationError,
    "invalid_request_error": BadRequestError,
    "not_found_error": BadRequestError,
    "overloaded_error": OverloadedError,
    "permission_error": AuthenticationError,
    "rate_limit_error": RateLimitedError,
    "rate_limit_exceeded": RateLimitedError,
    "request_too_large": ContextTooLongError,
    "server_error": OverloadedError,
    "timeout_error": OverloadedError,
}
"""Types and codes of OpenAI, Anthropic and llama.cpp: all that says what went wrong within a stream."""

_CONTEXT_WORDS = re.compile(
    r"prompt is too long|maximum context length|context (?:window|length|size)|too many (?:input )?tokens",
    re.IGNORECASE,
)
_SHOWN_CHARACTERS = 500
BODY_CHARACTERS = 1 << 14
"""Only so much of a body is kept in an error."""


def error_in(data: Any) -> JsonObject | None:
    """The error that an answer, or an event of a stream, holds in the place of what it should; else None."""
    if not isinstance(data, dict):
        return None
    held = data.get("error")
    if not held and isinstance(data.get("response"), dict):
        held = data["response"].get("error")
    if not held and data.get("type") == "error":
        held = {key: value for key, value in data.items() if key not in {"type", "sequence_number"}}
    if not held:
        return None
    return held if isinstance(held, dict) else {"message": str(held)}


def model_error(
    provider: str,
    *,
    status: int | None = None,
    body: str = "",
    retry_after_s: float | None = None,
    hide: Redaction,
) -> ChatModelError:
    """The error for a failure that `provider` told with this status and body; a stream has no status.

    What it says is without the secrets that `hide` knows.
    """
    error = error_in(_parsed(body)) or {}
    message = str(error.get("message") or body).strip() or "no reason given"
    code = str(error.get("code") or "")
    kind = _kind(status, code, str(error.get("type") or ""), message)
    return kind(
        provider,
        hide.beginning(message, _SHOWN_CHARACTERS),
        status=status,
        body=hide.beginning(body, BODY_CHARACTERS),
        retry_after_s=retry_after_s,
    )


def is_passing(error: ChatModelError) -> bool:
    """Whether the same request may succeed in a moment."""
    # An account without credit is told by 429 as well, and does not fill up by waiting.
    if "insufficient_quota" in error.body:
        return False
    return isinstance(error, RateLimitedError | OverloadedError | ModelUnreachableError)


def _kind(status: int | None, code: str, type_: str, message: str) -> type[ChatModelError]:
    # Gateways put the status of the model behind them where others have a name.
    told = status is not None and status >= 400
    if not told and code.isdecimal():
        status = int(code)
    named = _BY_CODE.get(code) or _BY_CODE.get(type_)
    if status is None or status < 400:
        kind = named or ChatModelError
    elif status >= 500:
        kind = OverloadedError
    else:
        kind = _BY_STATUS.get(status, ChatModelError)
    if named is ContextTooLongError or (kind is BadRequestError and _CONTEXT_WORDS.search(message)):
        return ContextTooLongError
    return kind


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
