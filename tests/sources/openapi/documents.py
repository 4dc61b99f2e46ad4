"""Documents for tests, and services that show what reached them."""

from __future__ import annotations

import json
from typing import Any

import httpx

from toolsearch.messages import TextPart, ToolResult
from toolsearch.sources.openapi import OpenApiSource
from toolsearch.tools import JsonObject, Tool

PET: JsonObject = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": "string", "example": "Rex"},
        "tag": {"type": "string", "nullable": True},
        "parent": {"$ref": "#/components/schemas/Pet"},
    },
}


def document(paths: JsonObject, *, version: str = "3.0.3", **more: Any) -> JsonObject:
    """A document of these paths, served at api.example.com."""
    return {
        "openapi": version,
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://api.example.com/v1"}],
        "paths": paths,
        **more,
    }


def operation(*parameters: JsonObject, body: JsonObject | None = None, **more: Any) -> JsonObject:
    """An operation with these parameters, and a JSON body of that schema."""
    told: JsonObject = {"operationId": "op", "parameters": list(parameters), "responses": {}, **more}
    if body is not None:
        told["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return told


def parameter(name: str, place: str, schema: JsonObject | None = None, **more: Any) -> JsonObject:
    required = {"required": True} if place == "path" else {}
    return {
        "name": name,
        "in": place,
        "schema": {"type": "string"} if schema is None else schema,
        **required,
        **more,
    }


class Recorder(httpx.AsyncBaseTransport):
    """Keeps the requests that reach it, and answers them."""

    def __init__(self, *answers: httpx.Response) -> None:
        self.requests: list[httpx.Request] = []
        self._answers = list(answers)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        return self._answers.pop(0) if self._answers else httpx.Response(200, json={"ok": True})

    @property
    def last(self) -> httpx.Request:
        return self.requests[-1]


def only_tool(value: JsonObject, transport: httpx.AsyncBaseTransport | None = None, **settings: Any) -> Tool:
    """The one tool of a document."""
    (tool,) = OpenApiSource(value, transport=transport, **settings).list_tools()
    return tool


def call(tool: Tool, arguments: JsonObject | None = None) -> ToolResult:
    result = tool.call_sync(arguments or {})
    assert isinstance(result, ToolResult)
    return result


def text_of(result: ToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextPart))


def body_of(request: httpx.Request) -> Any:
    return json.loads(request.content)
