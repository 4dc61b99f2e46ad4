"""A provider's own tool search in somebody else's requests: results refer to tools, or bring them.

Anthropic knows every definition and shows the model those that a result refers to; the Responses API is told
of a tool by the result that found it. Either way the tools of a request stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from toolsearch.adapters.recall import plain
from toolsearch.adapters.wire import WireForm, written_result
from toolsearch.chat.native_models import (
    WITHOUT_SEARCH,
    claude_knows_search,
    gpt_knows_search,
    search_record,
)
from toolsearch.messages import ToolResult
from toolsearch.tools import JsonObject


def lacks_search(form: WireForm, model: Any) -> str:
    """Why a model cannot be given native tool search; empty where it can, or is not known."""
    name = str(model)
    match form:
        case "openai_chat":
            return "Chat Completions has no tool search of its own; wrap with delivery='append'."
        case "openai_responses" if name.startswith("gpt-") and not gpt_knows_search(name):
            return f"{name!r} has no tool search of its own; wrap with delivery='append'."
        case "anthropic" if name.startswith(WITHOUT_SEARCH):
            return f"{name!r} does not follow references to tools; wrap with delivery='append'."
    return ""


def has_search(form: WireForm, model: Any) -> bool:
    """Whether a model is known to have native tool search, by its name."""
    name = str(model)
    match form:
        case "openai_responses":
            return gpt_knows_search(name)
        case "anthropic":
            return claude_knows_search(name)
    return False


def declared(
    form: WireForm, search: JsonObject, shown: Sequence[JsonObject], deferred: Sequence[JsonObject]
) -> tuple[list[JsonObject], list[JsonObject]]:
    """The tools of a request that the model sees from the start, and those that it does not."""
    if form == "anthropic":
        return [search, *shown], [{**record, "defer_loading": True} for record in deferred]
    return [search_record(search), *shown], []


def native_result(
    form: WireForm, call_id: str, result: ToolResult, found: Sequence[JsonObject]
) -> list[JsonObject]:
    """The result of a search that found these definitions, and after it the text that it has no place for."""
    told = written_result(call_id, result, form)
    if form == "anthropic":
        references = [{"type": "tool_reference", "tool_name": record["name"]} for record in found]
        return [{**told, "content": references} if references else told]
    output: JsonObject = {
        "type": "tool_search_output",
        "call_id": call_id,
        "execution": "client",
        "status": "completed",
        "tools": [{**record, "defer_loading": True} for record in found],
    }
    return [output] if found else [output, {"role": "developer", "content": told["output"]}]


def referenced(messages: Iterable[Any]) -> set[str]:
    """The names of the tools that results in a conversation refer to or bring."""
    return {name for message in messages for name in _names(plain(message))}


def _names(message: Any) -> Iterator[str]:
    match message:
        case {"type": "tool_search_output", "tools": list(records)}:
            yield from (name for record in records for name in _texts(record, "name"))
        case {"content": list(blocks)}:
            for block in blocks:
                match block:
                    case {"type": "tool_result", "content": list(parts)}:
                        yield from (name for part in parts for name in _texts(part, "tool_name"))


def _texts(part: Any, key: str) -> Iterator[str]:
    """What an item says under `key`, which only a reference to a tool or a definition has."""
    if isinstance(part, dict) and isinstance(part.get(key), str):
        yield part[key]
