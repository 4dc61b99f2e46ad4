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


def test_a_choice_names_tools_that_are_there() -> None:
    tool = {"type": "custom", "custom": {"name": "run_sql"}}
    choice = {"type": "custom", "custom": {"name": "run_sql"}}
    body = {"messages": [USER], "tools": [tool], "tool_choice": choice}
    assert status("/chat/completions", body) == 200
    other = {"type": "function", "function": {"name": "run_sql"}}
    for wrong in (other, {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [other]}}):
        assert status("/chat/completions", {**body, "tool_choice": wrong}) == 400


def test_calls_of_custom_tools_have_text_and_results_of_their_own() -> None:
    call = {"id": "c", "type": "custom", "custom": {"name": "run_sql", "input": "SELECT 1"}}
    result = {"role": "tool", "tool_call_id": "c", "content": "1"}
    chat = {"messages": [USER, {"role": "assistant", "tool_calls": [call]}, result]}
    assert status("/chat/completions", chat) == 200
    call["custom"] = {"name": "run_sql"}
    assert status("/chat/completions", chat) == 400
    item = {"type": "custom_tool_call", "call_id": "c", "name": "run_sql", "input": "SELECT 1"}
    for kind, expected in (("custom_tool_call_output", 200), ("function_call_output", 400)):
        output = {"type": kind, "call_id": "c", "output": "1"}
        assert status("/responses", {"input": [USER, item, output]}) == expected


def test_an_item_is_told_once() -> None:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": "Hi."}
    assert status("/responses", {"input": [USER, item]}) == 200
    assert status("/responses", {"input": [USER, item, item]}) == 400
