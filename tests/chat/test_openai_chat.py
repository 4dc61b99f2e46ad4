"""The form of Chat Completions, there and back."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.chat.conversation import ADD, NO_ARGUMENTS, SCHEMA, SHOT, full_request
from tests.fake_provider import Answer, FakeProvider
from toolsearch.chat import ChatRequest, NativeSearch, OpenAIChatModel, Usage
from toolsearch.exceptions import ChatRequestError
from toolsearch.messages import AssistantMessage, OpaquePart, TextPart, ToolCall, ToolMessage, UserMessage
from toolsearch.tools import Tool

HELLO = ChatRequest((UserMessage.of("hello"),))
REASONING = OpaquePart(provider="openai_chat:api.openai.com", data={"reasoning_content": "hm"})


def reading(answer: dict[str, Any]) -> OpenAIChatModel:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
    return OpenAIChatModel("gpt-5", transport=transport)


def test_a_conversation_in_this_form() -> None:
    """No ``$schema`` (E32); results directly after their calls (E98), their pictures after all of them."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert OpenAIChatModel("gpt-5", options={"seed": 7}).body(full_request(REASONING)) == {
        "model": "gpt-5",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "shot",
                    "description": "Takes a picture.",
                    "parameters": NO_ARGUMENTS,
                },
            },
            {
                "type": "function",
                "function": {"name": "add", "description": "Adds.", "parameters": SCHEMA},
            },
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": "https://pictures.example/1.png"}},
                ],
            },
            {
                "role": "assistant",
                "content": "Let me see.",
                "reasoning_content": "hm",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"x": 1}'}},
                    {"id": "c2", "type": "function", "function": {"name": "shot", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "2"},
            {"role": "tool", "tool_call_id": "c2", "content": "Error: dark"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Images of the result of c1:"},
                    picture,
                    {"type": "text", "text": "Images of the result of c2:"},
                    picture,
                ],
            },
            {"role": "user", "content": "and now?"},
        ],
        "max_completion_tokens": 99,
        "seed": 7,
        "temperature": 0,
    }


def test_other_servers_get_the_old_name_of_the_limit_and_no_foreign_reasoning() -> None:
    body = OpenAIChatModel("qwen", base_url="http://localhost:8000/v1/").body(full_request(REASONING))
    assert body["max_tokens"] == 99
    assert "max_completion_tokens" not in body
    assert "hm" not in json.dumps(body)


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("add", {"type": "function", "function": {"name": "add"}}),
    ],
)
def test_tool_choice(choice: str, sent: object) -> None:
    body = OpenAIChatModel("gpt-5").body(replace(HELLO, tools=(ADD,), tool_choice=choice))
    assert body.get("tool_choice") == sent


def test_a_choice_without_its_tool_is_refused() -> None:
    model = OpenAIChatModel("gpt-5")
    assert "tool_choice" not in model.body(replace(HELLO, tool_choice="none"))
    for choice in ("add", "required"):
        with pytest.raises(ChatRequestError):
            model.body(replace(HELLO, tool_choice=choice))


def test_only_openai_itself_is_limited_to_128_tools() -> None:
    many = replace(HELLO, tools=tuple(Tool(raw_name=f"tool_{n}") for n in range(129)))
    with pytest.raises(ChatRequestError, match="'tool_128' is the first too many"):
        OpenAIChatModel("gpt-5").body(many)
    assert len(OpenAIChatModel("qwen", base_url="http://localhost:8000/v1").body(many)["tools"]) == 129
    with pytest.raises(ChatRequestError):
        OpenAIChatModel("qwen", base_url="http://localhost:8000/v1", max_tools=10).body(many)


def test_deferred_tools_are_refused_since_nothing_could_find_them() -> None:
    native = replace(HELLO, tools=(SHOT,), native=NativeSearch("shot", (ADD,)))
    with pytest.raises(ChatRequestError, match="no tool search of its own"):
        OpenAIChatModel("gpt-5").body(native)
    assert OpenAIChatModel("gpt-5").native_search is False


def test_options_of_the_request_win_and_none_takes_a_field_out() -> None:
    model = OpenAIChatModel("gpt-5", options={"temperature": 0, "stream_options": None})
    body = model.body(replace(HELLO, options={"temperature": 1, "model": "gpt-5-mini"}), stream=True)
    assert body == {
        "model": "gpt-5-mini",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "temperature": 1,
    }


def test_broken_arguments_go_back_as_an_object() -> None:
    """(E94)"""
    call = ToolCall(id="c1", name="find", arguments='{"q": "unterm')
    result = ToolMessage(call_id="c1", name="find", content=(TextPart(text="no JSON"),), is_error=True)
    history = (UserMessage.of("find"), AssistantMessage(content=(call,)), result)
    body = OpenAIChatModel("gpt-5").body(ChatRequest(history, tools=(ADD,)))
    sent = body["messages"][1]["tool_calls"][0]
    assert json.loads(sent["function"]["arguments"]) == {"invalid_json": '{"q": "unterm'}
    assert body["messages"][2:] == [{"role": "tool", "tool_call_id": "c1", "content": "Error: no JSON"}]


def test_a_result_that_lost_its_call_is_not_sent() -> None:
    provider = FakeProvider([Answer("never")])
    model = OpenAIChatModel("gpt-5", transport=provider.transport)
    lost = ToolMessage(call_id="c9", name="add", content=(TextPart(text="2"),))
    with pytest.raises(ChatRequestError, match="'c9' answers no call"):
        asyncio.run(model.complete(ChatRequest((UserMessage.of("hello"), lost))))
    assert provider.bodies == []


@pytest.mark.parametrize(
    ("finish", "message", "reason"),
    [
        ("stop", {"content": "x"}, "stop"),
        ("length", {"content": "x"}, "length"),
        ("content_filter", {"content": ""}, "content_filter"),
        ("stop", {"refusal": "no"}, "content_filter"),
        ("stop", {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}, "tool_calls"),
        ("eos", {"content": "x"}, "stop"),
        (None, {"content": "x"}, "stop"),
        ("error", {"content": "x"}, "error"),
    ],
)
def test_finish_reasons(finish: str | None, message: dict[str, Any], reason: str) -> None:
    model = reading({"choices": [{"message": message, "finish_reason": finish}]})
    response = asyncio.run(model.complete(HELLO))
    assert response.finish_reason == reason
    assert response.text == (message.get("content") or message.get("refusal") or "")


def test_what_small_servers_answer() -> None:
    """Text in parts, arguments as an object or null, no usage, nulls everywhere."""
    calls = [
        {"function": {"name": "f", "arguments": {"x": "é"}}},
        {"id": None, "function": {"name": "g", "arguments": None}},
    ]
    content = [
        {"type": "text", "text": "a"},
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "b"},
    ]
    message = {"content": content, "refusal": None, "tool_calls": calls, "reasoning": "hm"}
    response = asyncio.run(reading({"choices": [{"message": message}], "usage": None}).complete(HELLO))
    assert response.message.content == (
        OpaquePart(provider="openai_chat:api.openai.com", data={"reasoning": "hm"}),
        TextPart(text="ab"),
        ToolCall(id="call_1", name="f", arguments='{"x":"é"}'),
        ToolCall(id="call_2", name="g", arguments="{}"),
    )
    assert response.usage == Usage()


def test_half_a_character_in_an_answer_can_be_sent_back() -> None:
    raw = rb'{"choices": [{"message": {"content": "a\ud83c"}, "finish_reason": "stop"}]}'
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=raw))
    response = asyncio.run(OpenAIChatModel("gpt-5", transport=transport).complete(HELLO))
    assert response.text == "a\ufffd"
