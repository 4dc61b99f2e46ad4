"""A conversation survives as JSON."""

from typing import Any

import pytest
from pydantic import BaseModel

from toolsearch.messages import (
    MESSAGES,
    AssistantMessage,
    ImagePart,
    OpaquePart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)

CONVERSATION = (
    SystemMessage(text="Be brief."),
    UserMessage(content=(TextPart(text="What is this? "), ImagePart.of(b"\x89PNG"), TextPart(text="Hm?"))),
    AssistantMessage(
        content=(
            OpaquePart(provider="anthropic", data={"type": "thinking", "signature": "x"}),
            TextPart(text="Let me look."),
            ToolCall(id="c1", name="look", arguments='{"at": "it"}'),
        )
    ),
    ToolMessage(
        call_id="c1", name="look", content=(TextPart(text="a cat"),), discovered=("pet",), structured={"n": 1}
    ),
)


def test_a_conversation_round_trips_through_json() -> None:
    assert MESSAGES.validate_json(MESSAGES.dump_json(CONVERSATION)) == CONVERSATION


def test_the_text_of_a_message_is_that_of_its_text_parts() -> None:
    assert [message.text for message in CONVERSATION] == [
        "Be brief.",
        "What is this? Hm?",
        "Let me look.",
        "a cat",
    ]
    answer = CONVERSATION[2]
    assert isinstance(answer, AssistantMessage)
    assert [call.name for call in answer.tool_calls] == ["look"]


def test_an_image_is_kept_as_base64() -> None:
    assert ImagePart.of(b"\x00\xff", "image/jpeg") == ImagePart(media_type="image/jpeg", data="AP8=")


@pytest.mark.parametrize("kind", [SystemMessage, UserMessage, AssistantMessage])
def test_each_message_is_made_of_a_text_in_the_same_way(kind: Any) -> None:
    assert kind.of("Hi").text == "Hi"
    with pytest.raises(TypeError, match=rf"takes its fields by name: .*{kind.__name__}\.of\(text\)"):
        kind("Hi")


@pytest.mark.parametrize("kind", [TextPart, ToolCall, ToolMessage, OpaquePart])
def test_values_take_their_fields_by_name(kind: type[BaseModel]) -> None:
    with pytest.raises(
        TypeError, match=f"{kind.__name__} takes its fields by name: .*{[*kind.model_fields][-1]}"
    ):
        kind("Hi")  # type: ignore[call-arg]
