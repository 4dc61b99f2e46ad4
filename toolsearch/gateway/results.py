"""Results of upstream servers as clients of the gateway are to have them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

import mcp_types as types

from toolsearch.gateway.uris import gateway_uri
from toolsearch.sources.mcp.tolerant import RAW_STRUCTURED

Contents: TypeAlias = types.TextResourceContents | types.BlobResourceContents
Block = TypeVar("Block", bound=types.ContentBlock)

_OURS = ("toolsearch/", "io.modelcontextprotocol/")
"""Of ``_meta``, what is between two neighbours: ours, and what the protocol puts on every message."""


def passed_result(result: types.CallToolResult, server: str, *, max_chars: int) -> types.CallToolResult:
    """The result of a call, whole but for text beyond `max_chars`, with addresses that clients can read.

    Where there is no content but a structured one, its JSON is the text: many clients show a model no other.
    """
    blocks = [passed_block(block, server) for block in result.content]
    return result.model_copy(
        update={
            "content": _cut(blocks if any(map(_tells, blocks)) else _structured(result) or blocks, max_chars),
            "meta": passed_meta(result.meta),
        }
    )


def _tells(block: types.ContentBlock) -> bool:
    return not isinstance(block, types.TextContent) or bool(block.text.strip())


def _structured(result: types.CallToolResult) -> list[types.ContentBlock]:
    """The structured content as text; empty for none."""
    value = result.structured_content
    if value is None:
        value = (result.meta or {}).get(RAW_STRUCTURED)
    if value is None:
        return []
    return [types.TextContent(text=json.dumps(value, ensure_ascii=False))]


def passed_block(block: Block, server: str) -> Block:
    """A part of a result or a prompt, where addresses of resources say whose they are."""
    if isinstance(block, types.ResourceLink):
        return block.model_copy(update={"uri": gateway_uri(server, block.uri)})
    if isinstance(block, types.EmbeddedResource):
        return block.model_copy(update={"resource": passed_contents(block.resource, server)})
    return block


def passed_contents(contents: Contents, server: str) -> Contents:
    """What is in a resource, under the address that clients know."""
    return contents.model_copy(update={"uri": gateway_uri(server, contents.uri)})


def passed_meta(meta: Any) -> dict[str, Any] | None:
    """``_meta`` without what is not for others."""
    kept = {key: value for key, value in (meta or {}).items() if not key.startswith(_OURS)}
    return kept or None


def _cut(blocks: Iterable[types.ContentBlock], max_chars: int) -> list[types.ContentBlock]:
    left, n_cut = max_chars, 0
    kept: list[types.ContentBlock] = []
    for block in blocks:
        if not isinstance(block, types.TextContent):
            kept.append(block)
            continue
        text = block.text[:left]
        left -= len(text)
        n_cut += len(block.text) - len(text)
        if text or not block.text:
            kept.append(block if len(text) == len(block.text) else block.model_copy(update={"text": text}))
    if n_cut:
        kept.append(types.TextContent(text=f"[{n_cut:,} characters more were cut off.]"))
    return kept
