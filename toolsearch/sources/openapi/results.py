"""What a service answered, as the result of a tool."""

from __future__ import annotations

import base64
import json
from http import HTTPStatus
from typing import Any

from toolsearch.http.answer import Answer
from toolsearch.http.secrets import Redaction
from toolsearch.messages import ImagePart, ToolResult
from toolsearch.sources.openapi.media import bare, is_json, is_text

_IMAGES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})


def to_tool_result(answer: Answer, shown: str, hide: Redaction) -> ToolResult:
    """The result for an answer to the request that messages call `shown`, without the secrets of the request.

    Text, and what is text by its looks, comes as it is, JSON also as `ToolResult.structured`, a picture as a
    picture, anything else as a ``data:`` URL. Where not all was read, a notice at the end says so. An answer
    that is no success is an error result.
    """
    media_type = bare(answer.headers.get("Content-Type", ""))
    if not answer.is_success:
        return ToolResult.error(_refusal(answer, shown, hide))
    if not answer.content:
        return ToolResult.text(f"Done ({_status(answer.status)}).")
    if media_type in _IMAGES and answer.is_whole:
        return ToolResult((ImagePart.of(answer.content, media_type),))
    text = _text(answer, media_type)
    if text is None:
        return _file(answer, media_type)
    text = hide(text)
    if not answer.is_whole:
        return ToolResult.text(f"{text}\n{_notice(answer)}")
    if not (is_json(media_type) or not media_type):
        return ToolResult.text(text)
    return ToolResult.text(text, structured=_json(text))


def _refusal(answer: Answer, shown: str, hide: Redaction) -> str:
    problem = f"{shown} answered {_status(answer.status)}"
    if 300 <= answer.status < 400:
        return f"{problem}, a redirect that was not followed."
    text = _text(answer, bare(answer.headers.get("Content-Type", "")))
    told = hide(text).strip() if text else ""
    wait = answer.headers.get("Retry-After", "")
    asked = (
        f" It asks to wait: Retry-After {hide(wait)[:40]}." if wait and answer.status in {429, 503} else ""
    )
    if not told:
        return f"{problem}.{asked}"
    notice = "" if answer.is_whole else f"\n{_notice(answer)}"
    return f"{problem}.{asked}\n{told}{notice}"


def _file(answer: Answer, media_type: str) -> ToolResult:
    kind = media_type or "application/octet-stream"
    if not answer.is_whole:
        return ToolResult.text(
            f"The answer is a file of type {kind}, of which only {len(answer.content):,} bytes were read."
        )
    return ToolResult.text(f"data:{kind};base64,{base64.b64encode(answer.content).decode()}")


def _notice(answer: Answer) -> str:
    return (
        f"[The answer goes on; only its first {len(answer.content):,} bytes were read. "
        "Ask for less of it, with a filter or a smaller page.]"
    )


def _text(answer: Answer, media_type: str) -> str | None:
    """The answer as text; None where it is none."""
    charset = answer.headers.get("Content-Type", "").partition("charset=")[2].partition(";")[0].strip(' "')
    if (
        is_json(media_type)
        or is_text(media_type)
        or charset
        or media_type == "application/x-www-form-urlencoded"
    ):
        try:
            return answer.content.decode(charset or "utf-8", "replace")
        except LookupError:
            return answer.text
    if media_type in _IMAGES or b"\0" in answer.content:
        return None
    # The end of a beginning may be half of a character.
    whole = answer.content if answer.is_whole else answer.content[:-4]
    try:
        return whole.decode()
    except UnicodeDecodeError:
        return None


def _json(text: str) -> Any:
    """The JSON value that the text is; None where it is none after all."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
