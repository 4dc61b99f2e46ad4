"""What a server answered to a call, as a model can read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import mcp_types as types

from toolsearch.functions.results import to_result
from toolsearch.messages import ContentPart, ImagePart, TextPart, ToolResult
from toolsearch.sources.mcp.tolerant import RAW_STRUCTURED

MAX_IMAGE_CHARS = 8_000_000
"""Of base64, some 6 MB: more than any provider takes."""

MAX_STRUCTURED_CHARS = 1_000_000
"""Of structured content that is kept for programs."""

_NOTHING = "(The tool answered with nothing.)"


def to_tool_result(result: types.CallToolResult, *, tool: str, max_chars: int) -> ToolResult:
    """The result for a model: texts and pictures in order, at most `max_chars` characters of text.

    What is no text and no picture is named, with its type and size. Structured content stands in where there
    is no text. What is cut or left out is said at the end. Of a failed call, `is_error` is kept.
    """
    parts: list[ContentPart] = []
    notices: list[str] = []
    for block in result.content:
        parts += _parts(block, notices)
    structured = _structured(result)
    if structured is not None and not any(isinstance(part, TextPart) and part.text.strip() for part in parts):
        parts.append(TextPart(text=_json(structured)))
    if structured is not None and len(_json(structured)) > MAX_STRUCTURED_CHARS:
        notices.append("structured content of more than 1,000,000 characters was left out")
        structured = None
    parts = _cut(parts, max_chars, notices)
    if notices:
        parts.append(TextPart(text=f"[{'; '.join(notices)}.]"))
    content = tuple(parts) or (TextPart(text=_NOTHING),)
    return to_result(ToolResult(content, is_error=result.is_error, structured=structured), tool=tool)


def _parts(block: types.ContentBlock, notices: list[str]) -> Iterator[ContentPart]:
    match block:
        case types.TextContent(text=text):
            if text:
                yield TextPart(text=text)
        case types.ImageContent(data=data, mime_type=media_type):
            yield from _image(data, media_type, notices)
        case types.AudioContent(data=data, mime_type=media_type):
            yield TextPart(text=f"[audio, {media_type}, {_size(data)}; it cannot be shown here]")
        case types.ResourceLink():
            yield TextPart(text=_link(block))
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            yield TextPart(text=f"[{_named(resource)}]\n{resource.text}")
        case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
            media_type = resource.mime_type or "application/octet-stream"
            yield TextPart(text=f"[{_named(resource)}, {_size(resource.blob)}]")
            if media_type in _SHOWN:
                yield from _image(resource.blob, media_type, notices)


_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def _image(data: str, media_type: str, notices: list[str]) -> Iterator[ContentPart]:
    """A picture with a line that names it; one that is too large is only named."""
    if len(data) > MAX_IMAGE_CHARS:
        notices.append(f"a picture of {_size(data)} was left out")
        return
    if media_type not in _SHOWN:
        yield TextPart(text=f"[image, {media_type}, {_size(data)}; it cannot be shown here]")
        return
    yield TextPart(text=f"[image, {media_type}, {_size(data)}]")
    yield ImagePart(media_type=media_type, data=data)


def _link(link: types.ResourceLink) -> str:
    said = [f"resource {link.uri}", link.title or link.name, link.description, link.mime_type]
    return f"[{'; '.join(part for part in said if part)}]"


def _named(resource: types.ResourceContents) -> str:
    return f"resource {resource.uri}" + (f", {resource.mime_type}" if resource.mime_type else "")


def _size(base64_text: str) -> str:
    return f"{len(base64_text) * 3 // 4 - base64_text[-2:].count('='):,} bytes"


def _structured(result: types.CallToolResult) -> Any:
    if result.structured_content is not None:
        return result.structured_content
    return (result.meta or {}).get(RAW_STRUCTURED)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(parts: list[ContentPart], max_chars: int, notices: list[str]) -> list[ContentPart]:
    """The parts with so much text altogether; pictures stay."""
    left = max_chars
    n_cut = 0
    kept: list[ContentPart] = []
    for part in parts:
        if not isinstance(part, TextPart):
            kept.append(part)
            continue
        text = part.text[:left]
        n_cut += len(part.text) - len(text)
        left -= len(text)
        if text:
            kept.append(part if len(text) == len(part.text) else TextPart(text=text))
    if n_cut:
        notices.append(f"{n_cut:,} characters more were cut off")
    return kept
