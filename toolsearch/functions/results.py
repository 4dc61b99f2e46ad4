"""`to_result`: whatever a function returns, as a model can read it."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from io import BytesIO
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_jsonable_python

from toolsearch.exceptions import ToolResultError
from toolsearch.messages import ContentPart, ImagePart, TextPart, ToolResult

DONE = "Done."
"""The text of a result that is None."""

NO_TEXT = "(empty)"
"""The text of a result that is empty text: providers refuse a part without any."""

_LEVELS_AROUND = 20
"""More than any JSON has around a result."""

_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def to_result(value: Any, *, tool: str = "") -> ToolResult:
    """The result that `value` makes; never without content.

    Text stays as it is, and None becomes ``Done.`` Parts of messages, pictures (of Pillow, or the bytes of a
    PNG, JPEG, GIF or WebP file) and lists that hold some keep their order. Other bytes are read as UTF-8, or
    else written as a ``data:`` URL. Everything else becomes strict JSON, NaN as null, and is kept in
    `ToolResult.structured`; what is a string in JSON, such as a date, is written without its quotes.

    A `ToolResult` stays what it is, with `structured` as such JSON. No text holds what UTF-8 cannot carry: it
    could be neither sent nor kept. Nor is `structured` kept where it is nested so deeply, beyond some 180
    levels, that readers of JSON refuse it.

    Raises:
        ToolResultError: a generator, something that has no JSON form, or a `ToolResult` with something else
            than parts. `tool` is named in it.
    """
    if isinstance(value, ToolResult):
        return _checked(value, tool)
    part = _part(value)
    if part is not None:
        return ToolResult((part,))
    if isinstance(value, list | tuple) and any(_stands_alone(each) for each in value):
        return ToolResult(tuple(_part(each) or _text_of(*_as_json(each, tool)) for each in value))
    plain, written = _as_json(value, tool)
    return ToolResult((_text_of(plain, written),), structured=_kept(plain, written))


def _checked(result: ToolResult, tool: str) -> ToolResult:
    structured = None if result.structured is None else _kept(*_as_json(result.structured, tool))
    content = tuple(_sendable_part(part, tool) for part in result.content) or (TextPart(text=DONE),)
    if result.structured is None and content == result.content:
        return result
    return replace(result, content=content, structured=structured)


def _sendable_part(part: Any, tool: str) -> ContentPart:
    if not isinstance(part, TextPart | ImagePart):
        raise ToolResultError(tool, f"a ToolResult with a {type(part).__name__} in its content")
    fields = {name: value for name, value in part if not value.isascii()}
    return (
        part.model_copy(update={name: _sendable(value) for name, value in fields.items()}) if fields else part
    )


def _part(value: Any) -> ContentPart | None:
    """The part that `value` is without going through JSON; None for other values."""
    if value is None:
        return TextPart(text=DONE)
    if isinstance(value, TextPart | ImagePart):
        return _sendable_part(value, "")
    if type(value) is str:
        return _text_of(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _of_bytes(bytes(value))
    if _is_pillow(value):
        file = BytesIO()
        value.save(file, format="PNG")
        return ImagePart.of(file.getvalue())
    return None


def _stands_alone(value: Any) -> bool:
    """Whether this is a part of a message rather than an element of a JSON list."""
    if isinstance(value, bytes):
        return _image_type(value) is not None
    return isinstance(value, TextPart | ImagePart) or _is_pillow(value)


def _of_bytes(content: bytes) -> ContentPart:
    media_type = _image_type(content)
    if media_type is not None:
        return ImagePart.of(content, media_type)
    try:
        return _text_of(content.decode())
    except UnicodeDecodeError:
        return TextPart(text=f"data:application/octet-stream;base64,{base64.b64encode(content).decode()}")


def _image_type(content: bytes) -> str | None:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _IMAGES.items() if content.startswith(start)), None)


def _is_pillow(value: Any) -> bool:
    # Nobody has a picture of Pillow without having imported it.
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def _text_of(plain: Any, written: str = "") -> TextPart:
    text = _sendable(plain) if isinstance(plain, str) else written
    return TextPart(text=text if text.strip() else NO_TEXT)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _sendable(text: str) -> str:
    """`text` as UTF-8 carries it: halves of a surrogate pair are joined, one alone becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _as_json(value: Any, tool: str) -> tuple[Any, str]:
    """The value of JSON that `value` is, and how it is written."""
    if isinstance(value, Iterator | AsyncIterator):
        raise ToolResultError(tool, f"a {type(value).__name__}, which has to be run through first")
    try:
        plain = to_jsonable_python(value, fallback=_plain, bytes_mode="base64", inf_nan_mode="null")
        try:
            written = _written(plain)
        except ValueError:
            # Models have written theirs by their own rules, and NaN may be left.
            plain = to_jsonable_python(plain, inf_nan_mode="null")
            written = _written(plain)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as exc:
        raise ToolResultError(tool, f"a {type(value).__name__} without JSON form ({exc})") from exc
    sendable = _sendable(written)
    return (plain if sendable == written else json.loads(sendable)), sendable


def _kept(plain: Any, written: str) -> Any:
    """`plain`, or None where it cannot be read back as a part of a message, a conversation, a paused run."""
    try:
        from_json(f"{'[' * _LEVELS_AROUND}{written}{']' * _LEVELS_AROUND}", cache_strings="none")
    except ValueError:
        return None
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | Set):
        return list(value)
    # NumPy's arrays and numbers, and those of its kin.
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not known")
