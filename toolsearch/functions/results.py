"""`to_result`: whatever a function returns, as a model can read it."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from io import BytesIO
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolsearch.exceptions import ToolResultError
from toolsearch.messages import ContentPart, ImagePart, TextPart, ToolResult

DONE = "Done."
"""The text of a result that is None."""

NO_TEXT = "(empty)"
"""The text of a result that is empty text: providers refuse a part without any."""

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

    Raises:
        ToolResultError: a generator, or something that has no JSON form. `tool` is named in it.
    """
    if isinstance(value, ToolResult):
        return value if value.content else replace(value, content=(TextPart(text=DONE),))
    part = _part(value)
    if part is not None:
        return ToolResult((part,))
    if isinstance(value, list | tuple) and any(_stands_alone(each) for each in value):
        return ToolResult(tuple(_part(each) or _text_of(_as_json(each, tool)) for each in value))
    structured = _as_json(value, tool)
    return ToolResult((_text_of(structured),), structured=structured)


def _part(value: Any) -> ContentPart | None:
    """The part that `value` is without going through JSON; None for other values."""
    if value is None:
        return TextPart(text=DONE)
    if isinstance(value, TextPart | ImagePart):
        return value
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


def _text_of(value: Any) -> TextPart:
    text = _sendable(value if isinstance(value, str) else _written(value))
    return TextPart(text=text if text.strip() else NO_TEXT)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _sendable(text: str) -> str:
    """`text` as UTF-8 carries it: halves of a surrogate pair are joined, one alone becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _as_json(value: Any, tool: str) -> Any:
    if isinstance(value, Iterator | AsyncIterator):
        raise ToolResultError(tool, f"a {type(value).__name__}, which has to be run through first")
    try:
        plain = to_jsonable_python(value, fallback=_plain, bytes_mode="base64", inf_nan_mode="null")
        # Models have written theirs by their own rules.
        plain = to_jsonable_python(plain, inf_nan_mode="null")
        text = _written(plain)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as exc:
        raise ToolResultError(tool, f"a {type(value).__name__} without JSON form ({exc})") from exc
    sendable = _sendable(text)
    return plain if sendable == text else json.loads(sendable)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | Set):
        return list(value)
    # NumPy's arrays and numbers, and those of its kin.
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not known")
