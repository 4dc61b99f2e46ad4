"""A conversation with everything in it that has a place in a provider's form."""

from toolsearch.chat.base import ChatRequest
from toolsearch.messages import (
    AssistantMessage,
    ImagePart,
    OpaquePart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolsearch.tools import Tool

ADD = Tool(
    raw_name="add",
    description="Adds.",
    input_schema={
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"x": {"type": "integer"}},
    },
)
SHOT = Tool(raw_name="shot", description="Takes a picture.")
PICTURE = ImagePart(media_type="image/png", data="AAAA")
LINK = ImagePart(url="https://pictures.example/1.png")
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
NO_ARGUMENTS: dict[str, object] = {"type": "object", "properties": {}}


def full_request(opaque: OpaquePart) -> ChatRequest:
    """Two calls with results, the second an error with a picture; `opaque` comes first in the answer."""
    return ChatRequest(
        (
            SystemMessage(text="Be brief."),
            UserMessage(content=(TextPart(text="look"), LINK)),
            AssistantMessage(
                content=(
                    opaque,
                    OpaquePart(provider="another", data={"secret": "of another provider"}),
                    TextPart(text="Let me see."),
                    ToolCall(id="c1", name="add", arguments='{"x": 1}'),
                    ToolCall(id="c2", name="shot", arguments=""),
                )
            ),
            ToolMessage(call_id="c1", name="add", content=(TextPart(text="2"), PICTURE)),
            ToolMessage(call_id="c2", name="shot", content=(TextPart(text="dark"), PICTURE), is_error=True),
            UserMessage.of("and now?"),
        ),
        tools=(SHOT, ADD),
        max_tokens=99,
        options={"temperature": 0},
    )
