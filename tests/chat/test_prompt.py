"""A prompt is a text, a message or a conversation, in our form or OpenAI's; nothing in it is lost."""

import base64
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage

from toolsearch.chat.base import ChatRequest
from toolsearch.chat.openai_chat import OpenAIChatModel
from toolsearch.chat.prompt import as_conversation
from toolsearch.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolsearch.router import ToolRouter
from toolsearch.testing import HashingEmbedder, ScriptedChatModel

PICTURE = base64.b64encode(b"picture").decode()
CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}
CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ],
    },
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "Sunny."},
    {"role": "assistant", "content": "A sun."},
    {"role": "user", "content": "Thanks."},
]
READ: tuple[Message, ...] = (
    SystemMessage.of("Be brief."),
    UserMessage(
        content=(
            TextPart(text="What is this?"),
            ImagePart(data=PICTURE),
            ImagePart(url="https://example.com/a.png"),
        )
    ),
    AssistantMessage(
        content=(
            TextPart(text="I look."),
            ToolCall(id="c1", name="get_weather", arguments='{"city":"Oslo"}'),
        )
    ),
    ToolMessage(call_id="c1", name="get_weather", content=(TextPart(text="Sunny."),)),
    AssistantMessage.of("A sun."),
    UserMessage.of("Thanks."),
)


def test_a_conversation_in_the_form_of_openai_becomes_messages() -> None:
    assert as_conversation(CONVERSATION) == READ


def test_what_was_read_is_written_as_it_was() -> None:
    body = OpenAIChatModel("gpt-5", api_key="key").body(ChatRequest(READ))
    assert body["messages"] == CONVERSATION


def test_objects_of_the_client_and_messages_of_ours_stand_side_by_side() -> None:
    answer = ChatCompletionMessage.model_validate(CONVERSATION[2])
    mixed = [*READ[:2], answer, CONVERSATION[3], *READ[4:]]
    assert as_conversation(mixed) == READ


@pytest.mark.parametrize("as_object", [False, True], ids=["dict", "object"])
@pytest.mark.parametrize(
    ("said", "texts"),
    [
        ({"content": None, "refusal": "I must not."}, ["I must not."]),
        ({"content": "No.", "refusal": "I must not."}, ["No.", "I must not."]),
        ({"content": "Yes.", "refusal": None, "function_call": None, "audio": None}, ["Yes."]),
    ],
    ids=str,
)
def test_a_refusal_is_kept_as_text(said: dict[str, Any], texts: list[str], as_object: bool) -> None:
    record = {"role": "assistant", **said}
    given = ChatCompletionMessage.model_validate(record) if as_object else record
    assert as_conversation([given]) == (
        AssistantMessage(content=tuple(TextPart(text=text) for text in texts)),
    )


def test_a_text_and_a_single_message_are_conversations() -> None:
    assert as_conversation("Hi") == as_conversation(UserMessage.of("Hi")) == (UserMessage.of("Hi"),)
    assert as_conversation([{"role": "developer", "content": "Be kind."}]) == (SystemMessage.of("Be kind."),)


def test_a_run_begins_with_such_a_conversation() -> None:
    model = ScriptedChatModel(["You are welcome."])
    ToolRouter(model, embedder=HashingEmbedder()).run_sync(CONVERSATION)
    assert model.requests[0].messages == READ


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        (None, r"prompt is None\. Give a list of messages, such as \[UserMessage\.of\('Hi'\)\]"),
        ({"role": "user", "content": "hi"}, "prompt is a dict. Give a list"),
        (["hi"], r"prompt\[0\] is the text 'hi'\. Give a message, such as UserMessage\.of\('Hi'\)"),
        ([READ[0], [READ[1]]], r"prompt\[1\] is a list"),
        ([UserMessage], r"prompt\[0\] is the class UserMessage"),
        ([{"content": "hi"}], r"prompt\[0\] is a dict with 'content', not a message in the form of OpenAI"),
        ([{"role": "robot", "content": "hi"}], r"prompt\[0\] is a dict with 'role', 'content'"),
        ([{"role": "tool", "content": "hi"}], r"prompt\[0\] is a dict with 'role'"),
        ([{"role": "user"}], r"The content of prompt\[0\] is None"),
        ([{"role": "user", "content": [{"type": "input_audio"}]}], "a part of type 'input_audio'"),
        ([{"role": "user", "content": [7]}], r"The content of prompt\[0\] holds 7"),
        ([{"role": "assistant", "tool_calls": [{"id": "a"}]}], r"prompt\[0\]\.tool_calls holds a dict"),
        ([{**CONVERSATION[1], "role": "system"}], r"prompt\[0\] holds a picture"),
        (
            [{"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}}],
            r"prompt\[0\] has 'function_call', .* Give the call in 'tool_calls'",
        ),
        (
            [{"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Hi."}}],
            r"prompt\[0\] has 'audio', .* Give its transcript as 'content'",
        ),
    ],
)
def test_what_is_no_message_is_told_with_its_place(prompt: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        as_conversation(prompt)


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (UserMessage.of("hi"), r"messages is one message\. Give a list"),
        ("hi", r"messages is the text 'hi'\. Give a list"),
        (["hi"], r"messages\[0\] is the text 'hi'\. Give a message"),
        (({"role": "user", "content": "hi"},), r"messages\[0\] is a dict\. Give a message"),
        ((UserMessage.of("hi"), None), r"messages\[1\] is None"),
        (7, "messages is 7. Give a list"),
    ],
)
def test_a_request_refuses_what_is_no_message(messages: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        ChatRequest(messages)


def test_a_request_takes_messages_in_any_order_of_things() -> None:
    assert ChatRequest([READ[1]]).messages == (READ[1],)  # type: ignore[arg-type]
    assert ChatRequest(iter(READ)).messages == READ  # type: ignore[arg-type]
