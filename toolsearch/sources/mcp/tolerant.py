"""`TolerantDispatcher`: the SDK's own, for servers that are a little wrong.

The SDK reads a result whole or not at all: one tool without a schema would hide all others of its page, and
one odd part of a result would lose the result of a call that has run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import methods
from mcp_types.version import LATEST_MODERN_VERSION
from pydantic import TypeAdapter, ValidationError

from toolsearch.sources.mcp.depth import shallow

RAW_TOOLS = "toolsearch/tools"
"""Where a page of tools keeps them as the server wrote them, in its ``_meta``."""

RAW_STRUCTURED = "toolsearch/structured"
"""Where a result keeps structured content that is no object, in its ``_meta``."""

MAX_LEVELS = 200
"""Levels of JSON in a tool and in a result, as many as the SDK can check; usable schemas have fewer."""

_BLOCK: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)


class TolerantDispatcher(JSONRPCDispatcher):
    """Mends results before they are read, and says when the connection is over."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.over = asyncio.Event()

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        **kwargs: Any,
    ) -> None:
        try:
            await super().run(on_request, on_notify, on_notify_intercept, **kwargs)
        finally:
            self.over.set()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        raw = await super().send_raw_request(method, params, opts, **kwargs)
        if method == "tools/list":
            return _page(raw)
        if method == "tools/call":
            return _result(raw)
        if shallow(raw, MAX_LEVELS) is not raw:
            # Checking it would raise an error that is none of the protocol.
            said = f"answered with something that is nested deeper than {MAX_LEVELS} levels"
            raise MCPError(types.PARSE_ERROR, said)
        return raw


def _page(raw: dict[str, Any]) -> dict[str, Any]:
    """The page with those tools alone that the SDK can read, and all of them in its ``_meta``."""
    listed = raw.get("tools")
    if not isinstance(listed, list):
        return raw
    meta = raw.get("_meta")
    # A schema that is cut there is still nested too deep to be used, which is said where it is read.
    listed = [shallow(each, MAX_LEVELS) for each in listed]
    kept = {**(meta if isinstance(meta, dict) else {}), RAW_TOOLS: listed}
    return {**raw, "tools": [each for each in listed if _is_readable(each)], "_meta": kept}


def _is_readable(tool: Any) -> bool:
    if not isinstance(tool, dict) or not isinstance(tool.get("inputSchema"), dict):
        return False
    page = {"tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    try:
        for version in ("2025-11-25", LATEST_MODERN_VERSION):
            methods.validate_server_result("tools/list", version, page)
    except ValidationError:
        return False
    return True


def _result(raw: dict[str, Any]) -> dict[str, Any]:
    """The result of a call with parts that can be read; what cannot be is JSON in a text."""
    if "content" not in raw and raw.get("resultType") == "input_required":
        return raw
    whole, raw = raw, shallow(raw, MAX_LEVELS)
    content = raw.get("content")
    if content is None:
        content = []
    elif not isinstance(content, list):
        content = [content]
    mended = {**raw, "content": [_block(each) for each in content]}
    if raw is not whole:
        mended["content"].append(_text(f"[What is nested deeper than {MAX_LEVELS} levels was left out.]"))
    if not isinstance(mended.get("isError", False), bool):
        mended["isError"] = bool(mended["isError"])
    structured = mended.get("structuredContent")
    if structured is not None and not isinstance(structured, dict):
        # Before 2026-07-28 it had to be an object.
        meta = raw.get("_meta")
        mended["_meta"] = {**(meta if isinstance(meta, dict) else {}), RAW_STRUCTURED: structured}
        mended.pop("structuredContent")
    return mended


def _block(block: Any) -> Any:
    try:
        _BLOCK.validate_python(block, by_name=False)
    except ValidationError:
        return _text(block)
    return block


def _text(value: Any) -> dict[str, str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {"type": "text", "text": text}
