"""The provider for tests answers 400 to what providers refuse, and takes what they take."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.fake_provider import Answer, FakeProvider

USER = {"role": "user", "content": "Hi."}
BROKEN = ('{"q": "unterm', "", "null", "[1]", '"{}"')
PATHS = {"messages": "/chat/completions", "input": "/responses"}


def status(path: str, body: dict[str, Any]) -> int:
    provider = FakeProvider([Answer("Hello.")])
    return provider.respond(path, json.dumps(body).encode(), httpx.Headers())[0]


@pytest.mark.parametrize(("arguments", "expected"), [*((text, 400) for text in BROKEN), ("{}", 200)])
def test_arguments_of_the_history_must_be_an_object(arguments: str, expected: int) -> None:
    function = {"name": "f", "arguments": arguments}
    call = {"id": "c", "type": "function", "function": function}
    result = {"role": "tool", "tool_call_id": "c", "content": "ok"}
    chat = {"messages": [USER, {"role": "assistant", "tool_calls": [call]}, result]}
    assert status("/chat/completions", chat) == expected
    output = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    items = [USER, {"type": "function_call", "call_id": "c", **function}, output]
    assert status("/responses", {"input": items}) == expected


@pytest.mark.parametrize(("key", "path"), [*PATHS.items(), ("messages", "/messages")])
def test_tools_must_be_a_list(key: str, path: str) -> None:
    body = {key: [USER], "max_tokens": 9}
    assert status(path, body) == 200
    assert status(path, {**body, "tools": None}) == 400


def test_input_may_be_text() -> None:
    assert status("/responses", {"input": "Hi."}) == 200
    assert status("/responses", {"input": None}) == 400


def test_a_call_needs_an_id() -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert status("/chat/completions", {"messages": [{"role": "assistant", "tool_calls": [call]}]}) == 400
    assert status("/responses", {"input": [{"type": "function_call", "name": "f", "arguments": "{}"}]}) == 400


def test_items_of_the_history_have_ids_of_their_own() -> None:
    items = [{"type": "message", "role": "assistant", "id": each, "content": "Hi."} for each in "ab"]
    assert status("/responses", {"input": items}) == 200
    assert status("/responses", {"input": [*items, items[0]]}) == 400
