"""The provider itself: as a transport for `httpx`, or as an HTTP server for anybody's client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import httpx

from tests.fake_provider import answers as forms
from tests.fake_provider.answers import Answer, Failure
from tests.fake_provider.refusals import OUTPUTS, refuse_anthropic, refuse_chat, refuse_responses

Json = dict[str, Any]
Step: TypeAlias = "Answer | Failure | Callable[[Json], Answer | Failure]"

_FORMS: dict[str, Any] = {
    "/chat/completions": (refuse_chat, forms.whole_chat, forms.chat_events),
    "/responses": (refuse_responses, forms.whole_responses, forms.responses_events),
    "/messages": (refuse_anthropic, forms.whole_anthropic, forms.anthropic_events),
}
_COUNTS = {"/responses/input_tokens": refuse_responses, "/messages/count_tokens": refuse_anthropic}


class FakeProvider:
    """Answers requests in the form of their path with the steps of a script.

    Attributes:
        bodies: Every request body, in order; `raw` as bytes, `headers` what came with them.
        refuses: Whether it refuses what providers refuse, or answers whatever is asked.
    """

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps = iter(steps)
        self.bodies: list[Json] = []
        self.refuses = True
        self.raw: list[bytes] = []
        self.headers: list[httpx.Headers] = []
        self.transport = httpx.MockTransport(self._handle)
        self._stored: dict[str, Json] = {}
        self._waiting: dict[str, dict[str, str]] = {}
        self._followed_by: dict[str, str] = {}

    def respond(self, path: str, raw: bytes, headers: httpx.Headers) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the answer to a request."""
        path = path.partition("?")[0]
        body = json.loads(raw)
        self.raw.append(raw)
        self.bodies.append(body)
        self.headers.append(headers)
        counts = next((refuse for end, refuse in _COUNTS.items() if path.endswith(end)), None)
        if counts is not None:
            # Where nothing is generated, it may be of any length.
            if (reason := counts({"max_tokens": 1, **body})) is not None:
                return _refusal(reason)
            told = {"object": "response.input_tokens", "input_tokens": len(raw)}
            return 200, {"content-type": "application/json"}, json.dumps(told).encode()
        refuse, whole, events = next(form for end, form in _FORMS.items() if path.endswith(end))
        if path.endswith("/responses"):
            refuse = self._refuse_responses
        if self.refuses and (reason := refuse(body)) is not None:
            return _refusal(reason)
        step = next(self._steps)
        answer = step(body) if callable(step) else step
        if isinstance(answer, Failure):
            return answer.status, answer.headers, answer.body.encode()
        answer = replace(answer, id=str(len(self.bodies)))
        if path.endswith("/responses"):
            self._keep(body, forms.whole_responses(answer))
        if body.get("stream"):
            return (
                200,
                {"content-type": "text/event-stream"},
                b"".join(map(_event, events(answer)))
                + (b"data: [DONE]\n\n" if path.endswith("/completions") else b""),
            )
        return 200, {"content-type": "application/json"}, json.dumps(whole(answer)).encode()

    def retrieve(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the answer to a GET of a response or of a conversation."""
        conversation = path.partition("/conversations/")[2].partition("/items")[0]
        stored = self._stored.get(conversation or path.rpartition("/responses/")[2])
        if stored is None:
            return 404, {}, b'{"error": {"message": "Not found.", "type": "invalid_request_error"}}'
        return 200, {"content-type": "application/json"}, json.dumps(stored).encode()

    def _refuse_responses(self, body: Json) -> str | None:
        conversation = body.get("conversation")
        state = body.get("previous_response_id") or conversation
        waiting = self._waiting.get(state) if state else None
        return refuse_responses(body, waiting, self._followed_by)

    def _keep(self, body: Json, whole: Json) -> None:
        """What the provider itself keeps of an answer, and holds later requests to."""
        items = whole["output"]
        self._followed_by |= {
            item["id"]: after["id"] for item, after in pairwise(items) if item["type"] == "reasoning"
        }
        if body.get("store") is not False:
            calls = {item["call_id"]: OUTPUTS[item["type"]] for item in items if item["type"] in OUTPUTS}
            self._stored[whole["id"]] = whole
            if conversation := body.get("conversation"):
                before = self._stored.get(conversation, {"data": []})["data"]
                self._stored[conversation] = {"data": [*items[::-1], *body["input"][::-1], *before]}
            self._waiting[body.get("conversation") or whole["id"]] = calls

    def _handle(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            status, headers, content = self.retrieve(request.url.path)
        else:
            status, headers, content = self.respond(request.url.path, request.content, request.headers)
        return httpx.Response(status, headers=headers, content=content)

    @asynccontextmanager
    async def serve(self, *, chunk: int = 7) -> AsyncIterator[str]:
        """Serves over HTTP on this machine; gives the base URL. Streams come in pieces of `chunk` bytes."""

        open_tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            open_tasks[task] = writer
            try:
                while head := await _read_head(reader):
                    method, path, headers = head
                    raw = await reader.readexactly(int(headers.get("content-length", 0)))
                    told = self.retrieve(path) if method == "GET" else self.respond(path, raw, headers)
                    await _write(writer, told, chunk)
            except ConnectionError:
                pass  # the client has gone
            finally:
                writer.close()
                del open_tasks[task]

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.close()
            for writer in open_tasks.values():
                writer.close()
            await asyncio.gather(*open_tasks, return_exceptions=True)


def _refusal(reason: str) -> tuple[int, dict[str, str], bytes]:
    error = {"type": "invalid_request_error", "message": reason, "code": None}
    return 400, {}, json.dumps({"type": "error", "error": error}).encode()


async def _read_head(reader: asyncio.StreamReader) -> tuple[str, str, httpx.Headers] | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {name: value for name, _, value in (line.partition(": ") for line in lines)}
    method, path, _ = first.split(" ")
    return method, path, httpx.Headers(headers)


async def _write(writer: asyncio.StreamWriter, answer: tuple[int, dict[str, str], bytes], chunk: int) -> None:
    status, headers, content = answer
    streamed = headers.get("content-type") == "text/event-stream"
    length = {"transfer-encoding": "chunked"} if streamed else {"content-length": str(len(content))}
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{k}: {v}" for k, v in {**headers, **length}.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    if not streamed:
        writer.write(content)
        await writer.drain()
        return
    for start in range(0, len(content), chunk):
        piece = content[start : start + chunk]
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _event(event: Json) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()
