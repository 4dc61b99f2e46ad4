"""What OpenAI's two forms, Chat Completions and Responses, have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolsearch.chat.base import ToolChoice, Usage
from toolsearch.chat.service import Service, count
from toolsearch.tools import JsonObject


def openai_service(path: str) -> Service:
    """OpenAI itself, in the form that is spoken at `path`."""
    return Service(
        host="api.openai.com",
        name="openai",
        base_url="https://api.openai.com/v1",
        path=path,
        key_variable="OPENAI_API_KEY",
        max_tools=128,
    )


def tool_fields(records: Sequence[JsonObject], choice: ToolChoice, named: JsonObject) -> JsonObject:
    """The ``tools`` and ``tool_choice`` of a request, as far as there is something to say.

    Args:
        records: The tools, in the provider's form.
        choice: As in `ChatRequest`.
        named: What stands beside the type where `choice` is the name of a tool.
    """
    fields: JsonObject = {"tools": list(records)} if records else {}
    if choice == "required" or (choice == "none" and records):
        fields["tool_choice"] = choice
    elif choice not in {"auto", "none"}:
        fields["tool_choice"] = {"type": "function", **named}
    return fields


def usage_of(usage: Any, *, sent: str, received: str) -> Usage:
    """The usage that an answer states, in which tokens go by the words `sent` and `received`."""
    usage = usage or {}
    details = usage.get(f"{sent}_tokens_details") or {}
    return Usage(
        input_tokens=count(usage.get(f"{sent}_tokens")),
        output_tokens=count(usage.get(f"{received}_tokens")),
        cached_tokens=count(details.get("cached_tokens")),
    )
