"""Text and pictures of a message, as the providers' forms need them."""

from __future__ import annotations

from collections.abc import Iterable

from toolsearch.messages import ContentPart, ImagePart, TextPart, ToolMessage


def plain_text(content: Iterable[ContentPart]) -> str:
    """All text of the content, in order."""
    return "".join(part.text for part in content if isinstance(part, TextPart))


def images_of(content: Iterable[ContentPart]) -> list[ImagePart]:
    """The pictures of the content, in order."""
    return [part for part in content if isinstance(part, ImagePart)]


def image_url(image: ImagePart) -> str:
    """The picture's URL, or its data as one."""
    return image.url or f"data:{image.media_type};base64,{image.data}"


def error_text(message: ToolMessage) -> str:
    """The text of a result, for a form without a place for `is_error`: the text itself says so."""
    if message.is_error and not message.text.lower().startswith("error"):
        return f"Error: {message.text}"
    return message.text
