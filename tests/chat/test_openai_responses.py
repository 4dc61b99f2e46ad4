"""The form of Responses, there and back."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.chat.conversation import ADD, NO_ARGUMENTS, SCHEMA, full_request
from toolsearch.chat import ChatRequest, OpenAIResponsesModel, Usage
from toolsearch.chat.base import ChatResponse
from toolsearch.exceptions import ChatRequestError
from toolsearch.messages import AssistantMessage, OpaquePart, TextPart, ToolCall, UserMessage
from toolsearch.tools import Tool

HELLO = ChatRequest((UserMessage.of("hello"),))
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}


def opaque(data: dict[str, Any]) -> OpaquePart:
    return OpaquePart(provider="openai_responses", data=data)


def read(**answer: Any) -> ChatResponse:
    whole = {"status": "completed", "error": None, "output": [], **answer}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=whole))
    return asyncio.run(OpenAIResponsesModel("gpt-5", transport=transport).complete(HELLO))


def said(text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, **more}


def test_a_conversation_in_this_form() -> None:
    """No ``$schema`` (E32); schemas are not made strict; reasoning goes back as it came."""
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
    assert OpenAIResponsesModel("gpt-5").body(full_request(opaque(REASONING))) == {
        "model": "gpt-5",
        "tools": [
            {
                "type": "function",
                "name": "shot",
                "description": "Takes a picture.",
                "parameters": NO_ARGUMENTS,
                "strict": False,
            },
            {
                "type": "function",
                "name": "add",
                "description": "Adds.",
                "parameters": SCHEMA,
                "strict": False,
            },
        ],
        "input": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "look"},
                    {"type": "input_image", "image_url": "https://pictures.example/1.png", "detail": "auto"},
                ],
            },
            REASONING,
            {"role": "assistant", "content": "Let me see."},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"x": 1}'},
            {"type": "function_call", "call_id": "c2", "name": "shot", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [{"type": "input_text", "text": "2"}, picture],
            },
            {
                "type": "function_call_output",
                "call_id": "c2",
                "output": [{"type": "input_text", "text": "Error: dark"}, picture],
            },
            {"role": "user", "content": "and now?"},
        ],
        "max_output_tokens": 99,
        "store": False,
        "temperature": 0,
    }


def test_reasoning_that_is_stored_nowhere_is_left_out() -> None:
    """Neither here nor there: the provider would look for its id in vain."""
    lost = opaque({"type": "reasoning", "id": "rs_1", "summary": []})
    body = OpenAIResponsesModel("gpt-5").body(full_request(lost))
    assert "rs_1" not in json.dumps(body)


def test_what_the_model_said_comes_back_in_its_order_and_goes_out_again() -> None:
    items = [
        REASONING,
        said("Looking.", phase="commentary"),
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"x": 1}'},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        said("Done.", phase="final_answer"),
    ]
    message = read(output=items).message
    assert message.content == (
        opaque(REASONING),
        opaque({"type": "message", "phase": "commentary"}),
        TextPart(text="Looking."),
        ToolCall(id="c1", name="add", arguments='{"x": 1}'),
        opaque({"type": "web_search_call", "id": "ws_1", "status": "completed"}),
        opaque({"type": "message", "phase": "final_answer"}),
        TextPart(text="Done."),
    )
    without_call = AssistantMessage(content=tuple(p for p in message.content if not isinstance(p, ToolCall)))
    body = OpenAIResponsesModel("gpt-5").body(ChatRequest((without_call,)))
    assert body["input"] == [
        REASONING,
        {"role": "assistant", "content": "Looking.", "phase": "commentary"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"role": "assistant", "content": "Done.", "phase": "final_answer"},
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"output": [said("x")]}, "stop"),
        (
            {"output": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]},
            "tool_calls",
        ),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "cancelled"}, "error"),
        (
            {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]},
            "content_filter",
        ),
    ],
)
def test_finish_reasons(answer: dict[str, Any], reason: str) -> None:
    assert read(**answer).finish_reason == reason


def test_a_refusal_is_text() -> None:
    content = [{"type": "refusal", "refusal": "I will not."}]
    assert read(output=[{"type": "message", "content": content}]).text == "I will not."


def test_usage_counts_what_was_cached() -> None:
    usage = {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}
    assert read(usage=usage).usage == Usage(9, 2, 4)
    assert read().usage == Usage()


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("add", {"type": "function", "name": "add"}),
    ],
)
def test_tool_choice(choice: str, sent: object) -> None:
    body = OpenAIResponsesModel("gpt-5").body(replace(HELLO, tools=(ADD,), tool_choice=choice))
    assert body.get("tool_choice") == sent


def test_no_more_than_128_tools_go_to_openai() -> None:
    many = replace(HELLO, tools=tuple(Tool(raw_name=f"tool_{n}") for n in range(129)))
    with pytest.raises(ChatRequestError, match="tool_128"):
        OpenAIResponsesModel("gpt-5").body(many)
    assert OpenAIResponsesModel("x", base_url="http://localhost:1/v1").body(many)["tools"]


@pytest.mark.parametrize(
    ("model", "knows"),
    [
        ("gpt-5.4", True),
        ("gpt-5.10-mini", True),
        ("gpt-6", True),
        ("gpt-5", False),
        ("gpt-5.3", False),
        ("o3", False),
    ],
)
def test_models_from_5_4_on_know_tool_search(model: str, knows: bool) -> None:
    assert OpenAIResponsesModel(model).native_search is knows
    assert OpenAIResponsesModel(model, native_search=not knows).native_search is not knows


def test_items_are_taken_from_the_stream_where_its_end_does_not_repeat_them() -> None:
    item = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"x":1}'}
    events = [
        {"type": "response.output_item.done", "output_index": 1, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": said("hi")},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]
    content = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=content))

    async def last() -> Any:
        *_, event = [e async for e in OpenAIResponsesModel("gpt-5", transport=transport).stream(HELLO)]
        return event

    message = asyncio.run(last()).response.message
    assert message.content == (TextPart(text="hi"), ToolCall(id="c1", name="add", arguments='{"x":1}'))
