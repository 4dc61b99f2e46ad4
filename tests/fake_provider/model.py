"""A model that searches for what the user wants, calls the tool that it finds first, and then is done."""

from __future__ import annotations

import json
from typing import Any

from tests.fake_provider.answers import Answer, Call

Json = dict[str, Any]


def searching_model(body: Json) -> Answer:
    """Its answer to a request in any of the forms."""
    messages = body.get("messages") or body["input"]
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    names = [tool.get("function", tool)["name"] for tool in body.get("tools", ())]
    told = [json.dumps(message) for message in messages]
    user = max((place for place, message in enumerate(messages) if _says(message)), default=0)
    since = " ".join(told[user + 1 :])
    if "call_found" in since or not names:
        return Answer("Done.")
    if "call_search" not in since and "tool_search" in names:
        arguments = json.dumps({"queries": [_says(messages[user])]})
        return Answer(calls=(Call(f"call_search_{user}", "tool_search", arguments, native=False),))
    found = [name for name in names if name != "tool_search"]
    return Answer(calls=(Call(f"call_found_{user}", found[0]),)) if found else Answer("I have no such tool.")


def _says(message: Json) -> str:
    content = message.get("content")
    if message.get("role") != "user" or content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)
