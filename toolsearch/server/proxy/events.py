"""Server-sent events that are read without a byte of them being lost, and written.

Source: WHATWG HTML Living Standard, section 9.2.6, "Interpreting an event stream".
"""

from __future__ import annotations

import re

from toolsearch.adapters.wire import WireForm
from toolsearch.exceptions import UpstreamError
from toolsearch.server.proxy.said import Said, json_object, json_text
from toolsearch.tools import JsonObject

MAX_EVENT_BYTES = 1 << 25
"""No longer event is read: some pictures fit in, and any text does."""

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_DONE = b"[DONE]"


class EventReader:
    """Events out of bytes, however these are cut: those whose data is a JSON object read, others as bytes."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._searched = 0

    def feed(self, chunk: bytes) -> list[Said | bytes]:
        """The events that end with `chunk`.

        Raises:
            UpstreamError: one of more than `MAX_EVENT_BYTES`.
        """
        pending = self._pending
        pending += chunk
        events: list[Said | bytes] = []
        start, searched = 0, self._searched
        while (end := _EVENT_END.search(pending, searched)) is not None:
            events.append(_read(bytes(pending[start : end.end()])))
            start = searched = end.end()
        del pending[:start]
        # The first bytes of an end may be the last ones of what came.
        self._searched = max(len(pending) - 3, 0)
        if len(pending) > MAX_EVENT_BYTES:
            raise UpstreamError(f"The provider sent an event of more than {MAX_EVENT_BYTES} bytes.")
        return events

    def rest(self) -> list[Said | bytes]:
        """A last event that no empty line follows; not every server sends one."""
        return [_read(bytes(self._pending) + b"\n\n")] if self._pending.strip() else []


def written_event(said: Said | bytes) -> bytes:
    """The bytes of an event."""
    if isinstance(said, bytes):
        return said
    raw: bytes = said.raw
    if raw:
        return raw
    name = f"event: {said.event}\n".encode() if said.event else b""
    return b"%bdata: %b\n\n" % (name, said.written())


def is_done(said: Said | bytes) -> bool:
    """Whether it closes a stream of Chat Completions."""
    return isinstance(said, bytes) and _data_of(said)[1].startswith(_DONE)


def error_event(form: WireForm, error: JsonObject) -> bytes:
    """An error in the middle of a stream, as clients of the provider read it; `error` is its JSON."""
    held = error.get("error")
    told = held if isinstance(held, dict) else {"message": str(held or "The provider failed.")}
    match form:
        case "openai_chat":
            return b"data: %b\n\n" % json_text({"error": told})
        case "openai_responses":
            flat = {key: told.get(key) for key in ("code", "message", "param")}
            return b"event: error\ndata: %b\n\n" % json_text({"type": "error", **flat, "error": told})
        case "anthropic":
            return b"event: error\ndata: %b\n\n" % json_text({"type": "error", "error": told})


def _read(raw: bytes) -> Said | bytes:
    event, data = _data_of(raw)
    if not data.startswith(b"{"):
        return raw
    record = json_object(data)
    return raw if record is None else Said(record, raw=raw, event=event)


def _data_of(raw: bytes) -> tuple[str, bytes]:
    """Name and data of an event."""
    event, data = "", []
    for line in _LINE_END.split(raw.removeprefix(b"\xef\xbb\xbf")):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            event = value.removeprefix(b" ").decode("utf-8", "replace")
    return event, b"\n".join(data)
