"""Messages of a conversation, neutral between model providers; JSON both ways through pydantic."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from toolsearch.checks import shown
from toolsearch.tools import JsonObject


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    if not TYPE_CHECKING:

        def __init__(self, *positional: Any, **fields: Any) -> None:
            if positional:
                kind = type(self)
                raise TypeError(
                    f"{kind.__name__} takes its fields by name: {', '.join(kind.model_fields)}."
                    + (f" Of a text it is made by {kind.__name__}.of(text)." if hasattr(kind, "of") else "")
                )
            super().__init__(**fields)

        # Values that are read from JSON are made without it.
        __init__.__pydantic_base_init__ = True


class TextPart(_Value):
    """A piece of text."""

    kind: Literal["text"] = "text"
    text: str


class ImagePart(_Value):
    """A picture: base64 `data` of `media_type`, or a `url`; one of the two."""

    kind: Literal["image"] = "image"
    media_type: str = "image/png"
    data: str = ""
    url: str = ""

    @classmethod
    def of(cls, content: bytes, media_type: str = "image/png") -> ImagePart:
        return cls(media_type=media_type, data=base64.b64encode(content).decode())


class OpaquePart(_Value):
    """What one provider said and wants back unchanged, such as reasoning or a native search block.

    Sent back to `provider` as it came, and left out for any other.
    """

    kind: Literal["opaque"] = "opaque"
    provider: str
    data: JsonObject


class ToolCall(_Value):
    """A call that the model asks for; `arguments` is JSON text as the model wrote it."""

    kind: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    arguments: str = "{}"


ContentPart: TypeAlias = Annotated[TextPart | ImagePart, Field(discriminator="kind")]
AssistantPart: TypeAlias = Annotated[TextPart | OpaquePart | ToolCall, Field(discriminator="kind")]


@dataclass(frozen=True)
class ToolResult:
    """What a tool answered, as it is sent to the model.

    Attributes:
        content: Text and pictures, in order.
        is_error: Tells the model that the call failed.
        structured: The result as JSON, for programs; not sent to the model.
        discovered: Public names of tools that the result made known; only the built-in search sets it.
    """

    content: tuple[ContentPart, ...]
    is_error: bool = False
    structured: Any = None
    discovered: tuple[str, ...] = ()

    @classmethod
    def text(cls, text: str, *, structured: Any = None) -> ToolResult:
        return cls((TextPart(text=text),), structured=structured)

    @classmethod
    def error(cls, text: str) -> ToolResult:
        return cls((TextPart(text=text),), is_error=True)


class SystemMessage(_Value):
    role: Literal["system"] = "system"
    text: str

    @classmethod
    def of(cls, text: str) -> SystemMessage:
        return cls(text=text)


class UserMessage(_Value):
    role: Literal["user"] = "user"
    content: tuple[ContentPart, ...]

    @classmethod
    def of(cls, text: str) -> UserMessage:
        return cls(content=(TextPart(text=text),))

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, TextPart))


class AssistantMessage(_Value):
    """What the model answered, its parts in the order that it gave them."""

    role: Literal["assistant"] = "assistant"
    content: tuple[AssistantPart, ...] = ()

    @classmethod
    def of(cls, text: str) -> AssistantMessage:
        return cls(content=(TextPart(text=text),))

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, TextPart))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.content if isinstance(part, ToolCall))


class ToolMessage(_Value):
    """The result of one tool call.

    Attributes:
        discovered: Public names of the tools that this result made known, in order; what a provider with
            native tool search is sent as references. Only the built-in search sets it.
        structured: The result as JSON, where the tool gave one; not sent to the model.
    """

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    content: tuple[ContentPart, ...] = ()
    is_error: bool = False
    discovered: tuple[str, ...] = ()
    structured: Any = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, TextPart))


Message: TypeAlias = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")
]
MESSAGES: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])
"""Reads and writes a conversation as JSON: ``MESSAGES.validate_json``, ``MESSAGES.dump_json``."""


def as_messages(given: Iterable[Message], what: str = "messages") -> tuple[Message, ...]:
    """The messages of `given` in its order; `what` is the argument that errors name.

    Raises:
        TypeError: it is no list of messages, or holds something else; says what to give.
    """
    kept = tuple(listed_messages(given, what))
    for number, message in enumerate(kept):
        if not isinstance(message, _MESSAGE):
            raise TypeError(
                f"{what}[{number}] is {shown(message)}. Give a message, such as UserMessage.of('Hi')."
            )
    return kept


def listed_messages(given: Any, what: str = "messages") -> Iterable[Any]:
    """`given` where it is a list of something.

    Raises:
        TypeError: it is not.
    """
    if isinstance(given, str | Mapping | BaseModel) or not isinstance(given, Iterable):
        told = "one message" if isinstance(given, _MESSAGE) else shown(given)
        raise TypeError(f"{what} is {told}. Give a list of messages, such as [UserMessage.of('Hi')].")
    return given


_MESSAGE = (SystemMessage, UserMessage, AssistantMessage, ToolMessage)
