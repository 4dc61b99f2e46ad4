"""What the providers answer 400 to, as their messages say it; written apart from the package's own checks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

Json = dict[str, Any]

OUTPUTS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
}
"""Of the Responses API: kinds of calls, and of what answers them."""


def refuse_chat(body: Json) -> str | None:
    if not isinstance(body.get("tools", []), list):
        return "Invalid type for 'tools': expected an array of objects."
    names = [_called(tool)["name"] for tool in body.get("tools", [])]
    if bad := _bad_names(names, 64):
        return bad
    choice = body.get("tool_choice")
    allowed = choice.get("allowed_tools", {"tools": [choice]})["tools"] if isinstance(choice, dict) else []
    kinds = {(tool["type"], _called(tool)["name"]) for tool in body.get("tools", [])}
    if any((tool["type"], _called(tool)["name"]) not in kinds for tool in allowed):
        return "Tool choice not found in 'tools' parameter."
    if len(names) > 128:
        return f"Invalid 'tools': array too long. Expected maximum length 128, but got {len(names)}."
    if "tools" in body and not names:
        return "Invalid 'tools': empty array."
    if any("$schema" in _called(tool).get("parameters", ()) for tool in body.get("tools", [])):
        return "Unknown name '$schema'"
    open_ids: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                return (
                    "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                )
            open_ids.remove(message["tool_call_id"])
            if not isinstance(message["content"], str):
                return "Invalid content of a tool message"
            continue
        if open_ids:
            return f"An assistant message with 'tool_calls' must be followed by tool messages: {open_ids}"
        for call in message.get("tool_calls", []):
            if not call.get("id") or len(call["id"]) > 40:
                return "Invalid 'tool_calls[].id'"
            if bad := _bad_names([_called(call)["name"]], 64):
                return bad
            if call["type"] == "custom" and not isinstance(call["custom"].get("input"), str):
                return "Missing required parameter: 'tool_calls[].custom.input'"
            if call["type"] == "function" and not _is_object(call["function"]["arguments"]):
                return "Invalid 'tool_calls[].function.arguments'"
            open_ids.append(call["id"])
        if len(set(open_ids)) != len(open_ids):
            return "Duplicate value for 'tool_call_id'"
    return f"No tool messages for {open_ids}" if open_ids else None


def refuse_responses(
    body: Json, waiting: Mapping[str, str] | None = None, followed_by: Mapping[str, str] | None = None
) -> str | None:
    """Why a request is refused.

    Args:
        waiting: Kinds of the outputs, by call, that the response waits for that the request goes on with;
            None where that is not known.
        followed_by: The items that came after reasoning, by the ids of both.
    """
    if not isinstance(body.get("tools", []), list):
        return "Invalid type for 'tools': expected an array of objects."
    if isinstance(body.get("input"), str):
        body = {**body, "input": [{"role": "user", "content": body["input"]}]}
    elif not isinstance(body.get("input"), list):
        return "Invalid type for 'input': expected a string or an array of items."
    names = [tool["name"] for tool in body.get("tools", []) if tool["type"] in {"function", "custom"}]
    if bad := _bad_names(names, 64):
        return bad
    if len(names) > 128:
        return "Invalid 'tools': array too long."
    searches = [tool for tool in body.get("tools", []) if tool["type"] == "tool_search"]
    if len(searches) > 1:
        return "Only one tool_search tool is allowed."
    # What this provider was told before may hold the call.
    goes_on = waiting is None and ("conversation" in body or "previous_response_id" in body)
    open_ids: dict[str, str] = dict(waiting or {})
    item_ids = [item["id"] for item in body["input"] if item.get("id")]
    if len(set(item_ids)) != len(item_ids):
        return "Duplicate item found with id in 'input'."
    outputs = OUTPUTS
    ids = [item["id"] for item in body["input"] if item.get("id")]
    if len(set(ids)) != len(ids):
        return f"Duplicate item found with id {max(ids, key=ids.count)}."
    for item, following in zip_longest(body["input"], body["input"][1:]):
        kind = item.get("type", "message")
        after = (followed_by or {}).get(item.get("id"))
        if after is not None and after != (following or {}).get("id"):
            told = "of type 'reasoning' was provided without its required following item."
            return f"Item '{item['id']}' {told}"
        if kind in outputs:
            if not item.get("call_id"):
                return "Invalid 'input[].call_id': empty string."
            if item["call_id"] in open_ids:
                return "Duplicate call_id"
            if kind != "tool_search_call" and (bad := _bad_names([item["name"]], 64)):
                return bad
            if kind == "tool_search_call" and not searches:
                return "tool_search_call without a tool_search tool"
            if kind == "custom_tool_call":
                arguments: Any = {} if isinstance(item["input"], str) else None
            else:
                arguments = item["arguments"]
            if not (_is_object(arguments) if isinstance(arguments, str) else isinstance(arguments, dict)):
                return "Invalid arguments"
            open_ids[item["call_id"]] = outputs[kind]
        elif kind in outputs.values() and open_ids.pop(item["call_id"], None) != kind and not goes_on:
            return f"No tool call found for function call output with call_id {item['call_id']}."
        elif kind == "message" and not isinstance(item["content"], str | list):
            return "Invalid content"
    return f"No tool output found for function call {next(iter(open_ids))}." if open_ids else None


def refuse_anthropic(body: Json) -> str | None:
    tools = body.get("tools", [])
    if not isinstance(tools, list):
        return "tools: Input should be a valid list"
    if bad := _bad_names([tool["name"] for tool in tools], 128):
        return bad
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: Field required"
    if tools and all(tool.get("defer_loading") for tool in tools):
        return "At least one tool must have defer_loading=false."
    if any(tool.get("defer_loading") and tool.get("cache_control") for tool in tools):
        return "Tool cannot have both defer_loading=true and cache_control set."
    declared = {tool["name"] for tool in tools}
    open_ids: set[str] = set()
    seen: set[str] = set()
    before = ""
    for message in body["messages"]:
        if message["role"] == before:
            return "roles must alternate in this test"
        before = message["role"]
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if not isinstance(blocks, list):
            return "messages: content: Input should be a valid string or list"
        if not blocks:
            return "all messages must have non-empty content"
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            return "messages: text content blocks must contain non-whitespace text"
        answered = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        leading = blocks[: len(answered)]
        if message["role"] == "user" and any(block["type"] != "tool_result" for block in leading):
            return "tool_result blocks must come first"
        if answered != open_ids:
            return (
                f"tool_use ids were found without tool_result blocks immediately after: {open_ids ^ answered}"
            )
        for block in blocks:
            if block["type"] == "tool_result" and (bad := _bad_result(block, declared)):
                return bad
        open_ids = {block["id"] for block in blocks if block["type"] == "tool_use"}
        for block in blocks:
            if block["type"] == "tool_use" and (bad := _bad_names([block["name"]], 128)):
                return bad
        if open_ids & seen or len(open_ids) != sum(block["type"] == "tool_use" for block in blocks):
            return "messages: tool_use ids must be unique"
        if any(not re.fullmatch(r"[a-zA-Z0-9_-]+", call_id) for call_id in open_ids):
            return "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        if any(not isinstance(block["input"], dict) for block in blocks if block["type"] == "tool_use"):
            return "tool_use.input: Input should be a valid dictionary"
        seen |= open_ids
    return f"tool_use ids without results: {open_ids}" if open_ids else None


def _called(record: Json) -> Json:
    """What of a tool of Chat Completions, or of a call, has its name."""
    holder: Json = record[record["type"]]
    return holder


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _bad_result(block: Json, declared: set[str]) -> str | None:
    content = block.get("content", [])
    parts = content if isinstance(content, list) else []
    if block.get("is_error") and any(part["type"] != "text" for part in parts):
        return "all content must be type 'text' if 'is_error' is true"
    for part in parts:
        if part["type"] == "tool_reference" and part["tool_name"] not in declared:
            return f"Tool reference '{part['tool_name']}' not found in available tools"
    return None


def _bad_names(names: list[str], length: int) -> str | None:
    for name in names:
        if not re.fullmatch(rf"[a-zA-Z0-9_-]{{1,{length}}}", name):
            return f"Invalid tool name {name!r}: string does not match pattern."
    return "Tool names must be unique." if len(set(names)) != len(names) else None
