"""A request body in any provider's form, without what the rules of `validate` do not ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from toolsearch.chat.arguments import is_complete
from toolsearch.tools import JsonObject

OPENAI_CHAT = "openai_chat"
OPENAI_RESPONSES = "openai_responses"
ANTHROPIC = "anthropic"


@dataclass
class Turn:
    """An assistant's calls, and the results that stand where the provider looks for them."""

    calls: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


@dataclass
class Outline:
    """What the rules ask for, in the order of the body.

    Attributes:
        name_length: The most characters of a tool's name.
        tools, deferred, cached: Names of all tools, of those with ``defer_loading``, with ``cache_control``.
        has_search: There is a search tool of the provider's own.
        must_show_one: Whether some tool must not be deferred; else, whether deferring takes such a search.
        choice: The tool that must be called; `needs_tools`: some tool must be.
        references: Names in results that stand for whole definitions.
        called: Names of the tools that were called.
        turns: Calls with the results that are in the right place.
        ids_once: Whether no two calls of all turns may share an id; else, none of one turn.
        bad_arguments: Ids of calls whose arguments are no object.
        empty: Places of messages with nothing in them.
    """

    name_length: int
    tools: list[str] = field(default_factory=list)
    deferred: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    has_search: bool = False
    must_show_one: bool = False
    choice: str = ""
    needs_tools: bool = False
    references: list[str] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    ids_once: bool = True
    bad_arguments: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)


def outline_of(form: str, body: JsonObject) -> Outline:
    """The outline of a body in that form.

    Raises:
        KeyError: there is no such form.
    """
    return _OUTLINES[form](body)


def _outline_chat(body: JsonObject) -> Outline:
    outline = Outline(name_length=64, ids_once=False)
    outline.tools = [
        _text(tool["function"], "name") for tool in _records(body, "tools") if _has(tool, "function")
    ]
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and _has(choice, "function"):
        outline.choice = _text(choice["function"], "name")
    outline.needs_tools = choice == "required"
    turn = Turn()
    for message in _records(body, "messages"):
        if message.get("role") == "tool":
            turn.results.append(_text(message, "tool_call_id"))
            continue
        outline.turns.append(turn)
        turn = Turn()
        for call in _records(message, "tool_calls"):
            turn.calls.append(_text(call, "id"))
            if _has(call, "function"):
                outline.called.append(_text(call["function"], "name"))
                if not is_complete(_text(call["function"], "arguments")):
                    outline.bad_arguments.append(_text(call, "id"))
    outline.turns.append(turn)
    return outline


def _outline_responses(body: JsonObject) -> Outline:
    outline = Outline(name_length=64)
    for tool in _flat(_records(body, "tools")):
        if tool.get("type") == "tool_search":
            outline.has_search = True
        elif tool.get("type") == "function":
            outline.tools.append(_text(tool, "name"))
            if tool.get("defer_loading"):
                outline.deferred.append(_text(tool, "name"))
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function":
        outline.choice = _text(choice, "name")
    outline.needs_tools = choice == "required" and not outline.has_search
    # The provider may hold the beginning of the conversation, calls included.
    continued = bool(body.get("previous_response_id") or body.get("conversation"))
    # Results need not be next to their calls in this form, only after them.
    turn = Turn()
    for item in _records(body, "input"):
        kind, call_id = _text(item, "type"), _text(item, "call_id")
        if item.get("execution") == "server":
            continue
        if kind in {"function_call", "tool_search_call"}:
            turn.calls.append(call_id)
            if kind == "function_call":
                outline.called.append(_text(item, "name"))
            if not _has(item, "arguments") and not is_complete(_text(item, "arguments")):
                outline.bad_arguments.append(call_id)
        elif kind in {"function_call_output", "tool_search_output"}:
            if call_id in turn.calls:
                turn.results.append(call_id)
            elif not continued:
                outline.turns.append(Turn(results=[call_id]))
    outline.turns.append(turn)
    return outline


def _outline_anthropic(body: JsonObject) -> Outline:
    outline = Outline(name_length=128, must_show_one=True)
    for tool in _records(body, "tools"):
        if "name" not in tool and "input_schema" not in tool:
            continue  # a set of tools of the provider's own
        name = _text(tool, "name")
        outline.has_search |= _text(tool, "type").startswith("tool_search_tool")
        outline.tools.append(name)
        if tool.get("defer_loading"):
            outline.deferred.append(name)
        if tool.get("cache_control"):
            outline.cached.append(name)
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        outline.choice = _text(choice, "name")
        outline.needs_tools = choice.get("type") == "any"
    messages = _records(body, "messages")
    turn = Turn()
    for position, message in enumerate(messages):
        from_model = message.get("role") == "assistant"
        last = position == len(messages) - 1
        if _is_blank(message.get("content")) and not (last and from_model):
            outline.empty.append(f"messages[{position}]")
        if from_model:
            outline.turns.append(turn)
            turn = Turn()
            for block in _records(message, "content"):
                if block.get("type") == "tool_use":
                    turn.calls.append(_text(block, "id"))
                    outline.called.append(_text(block, "name"))
                    if not _has(block, "input"):
                        outline.bad_arguments.append(_text(block, "id"))
        else:
            turn.results += _leading_results(_records(message, "content"), outline)
            outline.turns.append(turn)
            turn = Turn()
    outline.turns.append(turn)
    return outline


def _leading_results(blocks: Sequence[JsonObject], outline: Outline) -> Iterator[str]:
    """Results that come first in their message, as they must; one that does not goes without its call."""
    other = False
    for block in blocks:
        if block.get("type") != "tool_result":
            other = True
            continue
        call_id = _text(block, "tool_use_id")
        if other:
            outline.turns.append(Turn(results=[call_id]))
        else:
            yield call_id
        for part in _records(block, "content"):
            if part.get("type") == "tool_reference":
                outline.references.append(_text(part, "tool_name"))


_OUTLINES: Mapping[str, Callable[[JsonObject], Outline]] = {
    OPENAI_CHAT: _outline_chat,
    OPENAI_RESPONSES: _outline_responses,
    ANTHROPIC: _outline_anthropic,
}


def _records(record: JsonObject, key: str) -> list[JsonObject]:
    """The objects in the list under `key`; a body from elsewhere may hold anything."""
    value = record.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _has(record: JsonObject, key: str) -> bool:
    return isinstance(record.get(key), dict)


def _text(record: JsonObject, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _flat(tools: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """The tools, those of namespaces included."""
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _flat(_records(tool, "tools"))
        else:
            yield tool


def _is_blank(content: object) -> bool:
    if isinstance(content, str):
        return not content.strip()
    if not isinstance(content, list) or not content:
        return True
    return any(
        isinstance(block, dict) and block.get("type") == "text" and not _text(block, "text").strip()
        for block in content
    )
