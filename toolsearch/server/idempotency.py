"""Writes that may be sent twice: an ``Idempotency-Key`` has the first answer given again."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import Response

from toolsearch.exceptions import IdempotencyError
from toolsearch.server.answers import LINES_TYPE
from toolsearch.server.records import KeptAnswer, Records

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"

_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_KEPT_BYTES = 1024 * 1024
# A search changes nothing. What makes a key tells a secret, and a call gives what its tool gave: neither is
# written down.
_NEVER = ("/v1/search", "/v1/render", "/v1/keys", "/v1/calls")


def takes_key(method: str, path: str) -> bool:
    """Whether an idempotency key counts for a request."""
    return method in _METHODS and not path.startswith(_NEVER)


class Idempotency:
    """Carries a write out once. It needs the body and the caller that `edge.Edge` puts into the scope."""

    def __init__(self, app: ASGIApp, records: Records) -> None:
        self._app = app
        self._records = records

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = _key_of(scope)
        if key is None:
            await self._app(scope, receive, send)
            return
        # Not the tenant: another key of it may not know of what the answer tells.
        owner = scope["state"]["caller"].key_id
        fingerprint = _fingerprint(scope)
        kept = await asyncio.to_thread(self._records.begin_write, owner, key, fingerprint)
        if kept is not None:
            scope["state"]["is_replayed"] = not kept.is_running and kept.fingerprint == fingerprint
            await _again(kept, fingerprint)(scope, receive, send)
            return
        has_ended = False

        async def end(answer: KeptAnswer | None) -> None:
            nonlocal has_ended
            has_ended = True
            # Shielded, as a client that has gone cancels this, and its next try must find the key as it is.
            await asyncio.shield(asyncio.to_thread(self._records.end_write, owner, key, answer))

        try:
            await self._app(scope, receive, _Recorder(send, fingerprint, end))
        finally:
            if not has_ended:
                await end(None)


class _Recorder:
    """Sends a response on and keeps it."""

    def __init__(
        self, send: Send, fingerprint: str, end: Callable[[KeptAnswer | None], Awaitable[None]]
    ) -> None:
        """`end` is told what is to be given again, before the end is sent: a client may try again at once."""
        self._send = send
        self._fingerprint = fingerprint
        self._end = end
        self._status = 0
        self._headers = Headers()
        self._body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = Headers(raw=message["headers"])
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                try:
                    await self._end(self._answer())
                finally:
                    await self._send(message)
                return
        await self._send(message)

    def _answer(self) -> KeptAnswer | None:
        """What is to be given again; None for a failure of the service, after which all may be tried anew."""
        if not _is_kept(self._status) or not _is_kept(self._told_status()):
            return None
        if len(self._body) > _KEPT_BYTES:
            return None
        return KeptAnswer(
            self._fingerprint,
            self._status,
            self._headers.get("content-type", ""),
            self._headers.get("etag", ""),
            bytes(self._body),
        )

    def _told_status(self) -> int:
        """What the last of several lines says that it came to; the status is sent before the work is done."""
        if not self._headers.get("content-type", "").startswith(LINES_TYPE):
            return self._status
        last = json.loads(self._body.rstrip().rpartition(b"\n")[2] or b"{}")
        return int((last.get("problem") or {}).get("status", self._status))


def _is_kept(status: int) -> bool:
    return 200 <= status < 500 and status not in {408, 409, 415, 429}


def _key_of(scope: Scope) -> str | None:
    if scope["type"] != "http" or not takes_key(scope["method"], scope["path"]):
        return None
    key = Headers(scope=scope).get(HEADER)
    if key is not None and not _KEY.fullmatch(key):
        raise IdempotencyError("An idempotency key has 1 to 200 printable characters.", is_running=False)
    return key


def _fingerprint(scope: Scope) -> str:
    request = (scope["method"], scope["path"], scope["query_string"].decode("latin-1"))
    whole = hashlib.sha256("\n".join(request).encode("utf-8", "surrogatepass") + b"\n")
    whole.update(scope["state"]["body"])
    return whole.hexdigest()


def _again(kept: KeptAnswer, fingerprint: str) -> Response:
    if kept.fingerprint != fingerprint:
        raise IdempotencyError(
            "This idempotency key was used for another request. Use a new one.", is_running=False
        )
    if kept.is_running:
        raise IdempotencyError("The request with this idempotency key still runs.", is_running=True)
    headers = {REPLAYED: "true"}
    if kept.etag:
        headers["ETag"] = kept.etag
    body = kept.body if kept.status != 204 else None
    return Response(body, kept.status, headers, media_type=kept.content_type or None)
