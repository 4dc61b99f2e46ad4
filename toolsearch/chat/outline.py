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
        turns: Calls with the results that are in the right place.
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
    turns: list[Turn] = field(default_factory=list)
    bad_arguments: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)


def outline_of(form: str, body: JsonObject) -> Outline:
    """The outline of a body in that form.

    Raises:
        KeyError: there is no such form.
    """
    return _OUTLINES[form](body)


def _outline_chat(body: JsonObject) -> Outline:
    outline = Outline(name_length=64)
    for tool in body.get("tools") or ():
        if isinstance(tool.get("function"), dict):
            outline.tools.append(str(tool["function"].get("name") or ""))
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        outline.choice = str((choice.get("function") or {}).get("name") or "")
    outline.needs_tools = choice == "required"
    turn = Turn()
    for message in body.get("messages") or ():
        if message.get("role") == "tool":
            turn.results.append(str(message.get("tool_call_id") or ""))
            continue
        outline.turns.append(turn)
        turn = Turn()
        for call in message.get("tool_calls") or ():
            call_id = str(call.get("id") or "")
            turn.calls.append(call_id)
            if "function" in call and not is_complete(str(call["function"].get("arguments") or "")):
                outline.bad_arguments.append(call_id)
    outline.turns.append(turn)
    return outline


def _outline_responses(body: JsonObject) -> Outline:
    outline = Outline(name_length=64)
    for tool in _flat(body.get("tools") or ()):
        if tool.get("type") == "tool_search":
            outline.has_search = True
        elif tool.get("type") == "function":
            outline.tools.append(str(tool.get("name") or ""))
            if tool.get("defer_loading"):
                outline.deferred.append(str(tool.get("name") or ""))
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function":
        outline.choice = str(choice.get("name") or "")
    outline.needs_tools = choice == "required" and not outline.has_search
    items = body.get("input")
    # Results need not be next to their calls in this form, only after them.
    turn = Turn()
    for item in items if isinstance(items, list) else ():
        kind, call_id = item.get("type"), str(item.get("call_id") or "")
        hosted = item.get("execution") == "server"
        if kind in {"function_call", "tool_search_call"} and not hosted:
            turn.calls.append(call_id)
            arguments = item.get("arguments")
            if not isinstance(arguments, dict) and not is_complete(str(arguments or "")):
                outline.bad_arguments.append(call_id)
        elif kind in {"function_call_output", "tool_search_output"} and not hosted:
            if call_id not in turn.calls:
                outline.turns.append(Turn(results=[call_id]))
            else:
                turn.results.append(call_id)
    outline.turns.append(turn)
    return outline


def _outline_anthropic(body: JsonObject) -> Outline:
    outline = Outline(name_length=128, must_show_one=True)
    for tool in body.get("tools") or ():
        name = str(tool.get("name") or "")
        if str(tool.get("type") or "").startswith("tool_search_tool"):
            outline.has_search = True
        outline.tools.append(name)
        if tool.get("defer_loading"):
            outline.deferred.append(name)
        if tool.get("cache_control"):
            outline.cached.append(name)
    choice = body.get("tool_choice") or {}
    outline.choice = str(choice.get("name") or "")
    outline.needs_tools = choice.get("type") == "any"
    messages = body.get("messages") or []
    turn = Turn()
    for position, message in enumerate(messages):
        blocks = message.get("content")
        last = position == len(messages) - 1
        if _is_blank(blocks) and not (last and message.get("role") == "assistant"):
            outline.empty.append(f"messages[{position}]")
        blocks = blocks if isinstance(blocks, list) else []
        if message.get("role") == "assistant":
            outline.turns.append(turn)
            turn = Turn()
            for block in blocks:
                if block.get("type") == "tool_use":
                    turn.calls.append(str(block.get("id") or ""))
                    if not isinstance(block.get("input"), dict):
                        outline.bad_arguments.append(str(block.get("id") or ""))
            continue
        turn.results += _leading_results(blocks, outline)
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
        call_id = str(block.get("tool_use_id") or "")
        if other:
            outline.turns.append(Turn(results=[call_id]))
        else:
            yield call_id
        content = block.get("content")
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "tool_reference":
                outline.references.append(str(part.get("tool_name") or ""))


_OUTLINES: Mapping[str, Callable[[JsonObject], Outline]] = {
    OPENAI_CHAT: _outline_chat,
    OPENAI_RESPONSES: _outline_responses,
    ANTHROPIC: _outline_anthropic,
}


def _flat(tools: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """The tools, those of namespaces included."""
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _flat(tool.get("tools") or ())
        else:
            yield tool


def _is_blank(content: object) -> bool:
    if isinstance(content, str):
        return not content.strip()
    if not isinstance(content, list) or not content:
        return True
    return any(block.get("type") == "text" and not str(block.get("text") or "").strip() for block in content)
