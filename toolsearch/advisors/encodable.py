"""Messages as UTF-8 carries them."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

from toolsearch.embedders.text import without_surrogates

AnyMessage = TypeVar("AnyMessage", bound=BaseModel)


def encodable(message: AnyMessage) -> AnyMessage:
    """`message`, halves of surrogate pairs joined and lone ones replaced by U+FFFD; itself without any."""
    fields = message.model_dump()
    mended = _mended(fields)
    return message if mended == fields else type(message).model_validate(mended)


def _mended(value: Any) -> Any:
    match value:
        case str():
            return value if value.isascii() else without_surrogates(value)
        case list() | tuple():
            return type(value)(map(_mended, value))
        case dict():
            return {_mended(key): _mended(each) for key, each in value.items()}
        case _:
            return value
