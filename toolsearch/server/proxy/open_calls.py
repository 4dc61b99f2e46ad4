"""Searches that a conversation at the provider still waits for, and that this process does not know of.

A search beside calls of the caller is answered together with these, in the caller's next request. Where that
reaches another process, or this one after a restart, the provider refuses it and names the call. What it was
is then read from the provider itself, with the key that the caller sent, and the search is run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from toolsearch.adapters.wire import read_call
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.tools import JsonObject

_REFUSALS = (
    *("No tool output found", "No tool call found"),
    "of type 'reasoning' was provided without its required following item",
)
_CALLS = ("function_call", "tool_search_call")


def refused_parts(error: JsonObject | None) -> str:
    """What a provider says where items do not fit together; empty for any other error."""
    match error:
        case {"error": {"message": str(message)}} if any(told in message for told in _REFUSALS):
            return message
    return ""


def stored_at(request: Mapping[str, Any]) -> bytes:
    """Path below the provider's URL of what a request goes on with; empty where it brings all itself."""
    previous = request.get("previous_response_id")
    if isinstance(previous, str) and previous:
        return f"/responses/{quote(previous, safe='')}".encode()
    conversation = request.get("conversation")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    if isinstance(conversation, str) and conversation:
        return f"/conversations/{quote(conversation, safe='')}/items?order=desc&limit=100".encode()
    return b""


def open_searches(stored: JsonObject | None, told: str) -> Sequence[JsonObject]:
    """The searches without an output in what is stored, oldest first, if a refusal `told` of one of them."""
    items = (stored or {}).get("output")
    if items is None:
        items = (stored or {}).get("data")
        items = items[::-1] if isinstance(items, list) else None
    records = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    answered = {str(item.get("call_id")) for item in records if str(item.get("type")).endswith("_output")}
    found = [item for item in records if str(item.get("call_id")) not in answered and _is_search(item)]
    return found if any(str(item["call_id"]) in told for item in found) else []


def _is_search(item: JsonObject) -> bool:
    if item.get("type") not in _CALLS or not isinstance(item.get("call_id"), str) or not item["call_id"]:
        return False
    try:
        return read_call(item).name == SEARCH_TOOL
    except ValueError:
        return False
