"""Other ends for benchmarks/service.py: a provider that always says the same, and a plain pass-through to it.

    python -m benchmarks.service_upstream provider --port N
    python -m benchmarks.service_upstream plain --port N --upstream URL

The pass-through does what any proxy on this stack has to: one ASGI function, one shared `httpx` client,
headers of the connection left out, request and response handed on as they come, nothing read.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

_ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hello. " * 50}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 100, "total_tokens": 110},
}
_HOP = frozenset({b"host", b"connection", b"transfer-encoding"})


class Provider:
    """Answers every request with the same completion."""

    def __init__(self) -> None:
        self._body = json.dumps(_ANSWER).encode()
        self._headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(self._body)).encode()),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async for _ in _body(receive):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        await send({"type": "http.response.body", "body": self._body})


class Plain:
    """Hands everything on."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._client = httpx.AsyncClient(timeout=60)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name not in _HOP]
        request = self._client.build_request(
            scope["method"], self._upstream + scope["path"], headers=headers, content=_body(receive)
        )
        response = await self._client.send(request, stream=True)
        raw = [(name, value) for name, value in response.headers.raw if name.lower() not in _HOP]
        await send({"type": "http.response.start", "status": response.status_code, "headers": raw})
        async for chunk in response.aiter_raw():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body"})
        await response.aclose()


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message: Any = await receive()
        more = message.get("more_body", False)
        yield message.get("body", b"")


def main() -> None:
    """Serve one of them until the process is ended."""
    import uvicorn

    parser = argparse.ArgumentParser(prog="python -m benchmarks.service_upstream", description=__doc__)
    parser.add_argument("kind", choices=("provider", "plain"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", default="")
    chosen = parser.parse_args()
    app = Provider() if chosen.kind == "provider" else Plain(chosen.upstream)
    uvicorn.run(app, port=chosen.port, log_level="error", lifespan="off", access_log=False)


if __name__ == "__main__":
    main()
