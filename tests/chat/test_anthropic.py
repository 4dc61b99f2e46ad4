"""The form of Anthropic Messages, there and back."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.chat.conversation import ADD, NO_ARGUMENTS, SCHEMA, full_request
from toolsearch.chat import AnthropicChatModel, ChatRequest, Usage
from toolsearch.chat.base import ChatResponse
from toolsearch.exceptions import ChatRequestError
from toolsearch.messages import (
    AssistantMessage,
    OpaquePart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)

HELLO = ChatRequest((UserMessage.of("hello"),))
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def opaque(data: dict[str, Any]) -> OpaquePart:
    return OpaquePart(provider="anthropic", data=data)


def read(**answer: Any) -> ChatResponse:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"content": [], **answer}))
    return asyncio.run(AnthropicChatModel("claude-opus-4-8", transport=transport).complete(HELLO))


def test_a_conversation_in_this_form() -> None:
    """No ``$schema`` (E32); results first in one message (E98), pictures of an error after them."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    link = {"type": "image", "source": {"type": "url", "url": "https://pictures.example/1.png"}}
    assert AnthropicChatModel("claude-opus-4-8").body(full_request(opaque(THINKING))) == {
        "model": "claude-opus-4-8",
        "max_tokens": 99,
        "tools": [
            {"name": "shot", "description": "Takes a picture.", "input_schema": NO_ARGUMENTS},
            {"name": "add", "description": "Adds.", "input_schema": SCHEMA},
        ],
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}, link]},
            {
                "role": "assistant",
                "content": [
                    THINKING,
                    {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "c1", "name": "add", "input": {"x": 1}},
                    {"type": "tool_use", "id": "c2", "name": "shot", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "2"}, picture],
                    },
                    {"type": "tool_result", "tool_use_id": "c2", "content": "dark", "is_error": True},
                    picture,
                    {"type": "text", "text": "and now?"},
                ],
            },
        ],
        "temperature": 0,
    }


def test_roles_take_turns_and_nothing_blank_is_sent() -> None:
    request = ChatRequest(
        (
            SystemMessage(text="one"),
            UserMessage.of("a"),
            UserMessage.of("b"),
            AssistantMessage(content=(TextPart(text=" \n"),)),
            SystemMessage(text="two"),
            UserMessage.of("c"),
            AssistantMessage(content=(TextPart(text="d"), ToolCall(id="c1", name="add"))),
            ToolMessage(call_id="c1", name="add", content=(TextPart(text=""),)),
        )
    )
    body = AnthropicChatModel("claude-opus-4-8").body(request)
    assert [block["text"] for block in body["system"]] == ["one", "two"]
    assert [(m["role"], [b.get("text") for b in m["content"]]) for m in body["messages"]] == [
        ("user", ["a", "b", "c"]),
        ("assistant", ["d", None]),
        ("user", [None]),
    ]
    assert body["messages"][-1]["content"] == [{"type": "tool_result", "tool_use_id": "c1"}]
    assert body["max_tokens"] == 8192


def test_a_blank_message_of_the_user_is_refused_with_its_place() -> None:
    with pytest.raises(ChatRequestError, match=r"messages\[0\] has nothing in it"):
        AnthropicChatModel("claude-opus-4-8").body(ChatRequest((UserMessage.of(" "),)))


def test_ids_of_other_providers_are_put_in_shape() -> None:
    call = ToolCall(id="functions.add:0", name="add")
    result = ToolMessage(call_id="functions.add:0", name="add", content=(TextPart(text="2"),))
    history = (UserMessage.of("a"), AssistantMessage(content=(call,)), result)
    _, answer, results = AnthropicChatModel("claude-opus-4-8").body(ChatRequest(history))["messages"]
    sent = answer["content"][0]["id"]
    assert results["content"][0]["tool_use_id"] == sent
    assert sent.isascii()
    assert not set(sent) & set(".:")


def test_blocks_that_only_the_provider_knows_come_back_unchanged_and_in_order() -> None:
    blocks: list[dict[str, Any]] = [
        THINKING,
        {"type": "redacted_thinking", "data": "xx"},
        {"type": "text", "text": "hi"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"x": 1, "a": "é"}},
    ]
    message = read(content=blocks, stop_reason="tool_use").message
    assert message.content == (
        opaque(blocks[0]),
        opaque(blocks[1]),
        TextPart(text="hi"),
        opaque(blocks[3]),
        ToolCall(id="toolu_1", name="add", arguments='{"x":1,"a":"é"}'),
    )
    result = ToolMessage(call_id="toolu_1", name="add", content=(TextPart(text="2"),))
    history = (UserMessage.of("a"), message, result)
    body = AnthropicChatModel("claude-opus-4-8").body(ChatRequest(history))
    assert body["messages"][1]["content"] == blocks


def test_usage_counts_all_input_and_the_cached_part_of_it() -> None:
    usage = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": 7,
    }
    assert read(usage=usage).usage == Usage(input_tokens=325, output_tokens=7, cached_tokens=300)
    assert read(
        usage={"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": None}
    ).usage == Usage(5, 7)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("pause_turn", "paused"),
    ],
)
def test_finish_reasons(stop: str, reason: str) -> None:
    assert read(stop_reason=stop).finish_reason == reason


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("add", {"type": "tool", "name": "add"}),
    ],
)
def test_tool_choice(choice: str, sent: object) -> None:
    body = AnthropicChatModel("claude-opus-4-8").body(replace(HELLO, tools=(ADD,), tool_choice=choice))
    assert body.get("tool_choice") == sent


@pytest.mark.parametrize(
    ("model", "knows"),
    [
        ("claude-opus-4-8", True),
        ("claude-sonnet-4-5-20250929", True),
        ("claude-haiku-4-5", True),
        ("claude-opus-4-1-20250805", False),
        ("claude-sonnet-4-20250514", False),
        ("claude-opus-4-20250514", False),
        ("claude-3-7-sonnet-latest", False),
        ("other-model", False),
    ],
)
def test_models_before_4_5_do_not_know_tool_references(model: str, knows: bool) -> None:
    assert AnthropicChatModel(model).native_search is knows
    assert AnthropicChatModel(model, native_search=not knows).native_search is not knows


def test_the_version_and_the_key_go_out_as_headers() -> None:
    seen: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"content": []})

    settings: dict[str, Any] = {"api_key": "k", "transport": httpx.MockTransport(respond)}
    headers = {"anthropic-beta": "some-2026"}
    for path in ("", "/v1/", "/v1/messages"):
        url = f"https://proxy.example/anthropic{path}"
        asyncio.run(AnthropicChatModel("m", base_url=url, headers=headers, **settings).complete(HELLO))
    for request in seen:
        assert str(request.url) == "https://proxy.example/anthropic/v1/messages"
        sent = [request.headers[name] for name in ("x-api-key", "anthropic-version", "anthropic-beta")]
        assert sent == ["k", "2023-06-01", "some-2026"]
