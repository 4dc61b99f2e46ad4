"""One line of a stdio server as a message, as far as anything can be made of it."""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as types
from mcp.shared.message import SessionMessage

from toolsearch.exceptions import CatalogFileError
from toolsearch.sources.json_text import JsonReader
from toolsearch.sources.mcp.depth import shallow
from toolsearch.sources.mcp.lines import LongLine

_ID = re.compile(rb'"id"\s*:\s*(\d+|"[^"\\]{0,100}")')
_MAX_LEVELS = 190
"""Of JSON; the parser of the SDK ends a little above."""
_RESULT = re.compile(rb'"(?:result|error)"\s*:')


def message_of(line: bytes | LongLine) -> SessionMessage | None:
    """The message in a line; None where it holds none, such as a line of a log.

    An answer that cannot be read becomes an error answer to the same request, where it says which that is:
    who waits for it is told at once, and not by a timeout.
    """
    if isinstance(line, LongLine):
        return _too_long(line)
    text = line.strip()
    if not text.startswith(b"{"):
        return None
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError:
        return _mended(text)


def _mended(text: bytes) -> SessionMessage | None:
    """A message that strict readers refuse: NaN, lone surrogates, bytes that are no UTF-8, too deep nesting.

    What is nested too deeply is an empty object, so that it costs no more than what it is part of.
    """
    try:
        value = _value(text.decode("utf-8", "replace"))
        plain = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError, CatalogFileError):
        return None
    if not isinstance(plain, dict) or "jsonrpc" not in plain:
        return None
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_python(plain, by_name=False))
    except ValueError:
        return _refused(plain.get("id"), "answered with something that is no JSON-RPC message")


def readable(text: bytes) -> bytes:
    """A message over HTTP as the SDK can read it: itself, or mended as one of a stdio server is.

    What nothing can be made of stays as it is.
    """
    try:
        types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        try:
            value = shallow(_value(text.decode("utf-8", "replace")), _MAX_LEVELS)
            return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        except (ValueError, RecursionError, CatalogFileError):
            return text
    return text


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        return JsonReader("message").parse(text).value


def _too_long(line: LongLine) -> SessionMessage | None:
    """An error answer to the request that the line answers; its id stands at one of the ends."""
    if not _RESULT.search(line.beginning):
        return None
    found = _ID.search(line.beginning) or _ID.search(line.end)
    if found is None:
        return None
    return _refused(json.loads(found[1]), f"{TOO_LONG} ({line.n_bytes:,} bytes)")


def _refused(request_id: Any, reason: str) -> SessionMessage | None:
    if not isinstance(request_id, str | int) or isinstance(request_id, bool):
        return None
    error = types.ErrorData(code=types.PARSE_ERROR, message=reason)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


TOO_LONG = "answered with a larger message than max_message_bytes allows"
