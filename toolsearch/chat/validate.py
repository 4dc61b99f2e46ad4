"""What a provider would refuse in a request body, found before it is sent.

Works on bodies in the provider's own form, whoever wrote them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from toolsearch.chat.base import ChatRequest
from toolsearch.chat.outline import ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES, Outline, outline_of
from toolsearch.exceptions import ChatRequestError, RequestProblem
from toolsearch.tools import JsonObject

__all__ = [
    "ANTHROPIC",
    "OPENAI_CHAT",
    "OPENAI_RESPONSES",
    "check_native",
    "find_problems",
    "refuse_native",
    "validate",
]


def validate(
    form: str, body: JsonObject, *, provider: str | None = None, max_tools: int | None = None
) -> None:
    """Let through a request body that the provider will not refuse for its tools or their calls.

    Args:
        form: ``openai_chat``, ``openai_responses`` or ``anthropic``.
        body: As it would be sent.
        provider: Who is named in the error; None names the form.
        max_tools: The most tools that this provider takes.

    Raises:
        ChatRequestError: it would be refused; `problems` names each thing and the rule that it breaks.
    """
    problems = find_problems(form, body, max_tools=max_tools)
    if problems:
        raise ChatRequestError(provider or form, problems)


def find_problems(form: str, body: JsonObject, *, max_tools: int | None = None) -> tuple[RequestProblem, ...]:
    """Everything that the provider would refuse, tools first; empty for a good body.

    Rules, as `RequestProblem.rule`: ``tool_name``, ``duplicate_tool``, ``too_many_tools``, ``tool_choice``,
    ``all_deferred``, ``deferred_without_search``, ``cache_control_deferred``, ``unknown_reference``,
    ``call_id``, ``duplicate_call``, ``call_without_result``, ``result_without_call``, ``arguments``,
    ``empty_message``.
    """
    outline = outline_of(form, body)
    return tuple(_unique((*_tool_problems(outline, max_tools), *_message_problems(outline))))


def check_native(provider: str, request: ChatRequest) -> None:
    """Raise `ChatRequestError` for deferred tools without the search tool that could find them."""
    native = request.native
    if native is None:
        return
    visible = {tool.name for tool in request.tools} - {tool.name for tool in native.deferred}
    if native.search_tool not in visible:
        reason = f"Tools are deferred, and their search tool {native.search_tool!r} is not offered."
        raise ChatRequestError(provider, (RequestProblem("native_search", native.search_tool, reason),))


def refuse_native(provider: str, request: ChatRequest) -> None:
    """Raise `ChatRequestError` for deferred tools, to a provider that could never show them."""
    if request.native is not None:
        reason = "It has no tool search of its own. Send the tools with another delivery."
        raise ChatRequestError(
            provider, (RequestProblem("native_search", request.native.search_tool, reason),)
        )


def _tool_problems(outline: Outline, max_tools: int | None) -> Iterator[RequestProblem]:
    pattern = re.compile(rf"[a-zA-Z0-9_-]{{1,{outline.name_length}}}")
    for name in (*outline.tools, *outline.called):
        if not pattern.fullmatch(name):
            reason = f"Tool {name!r} must have a name of 1-{outline.name_length} letters, digits, _ or -."
            yield RequestProblem("tool_name", name, reason)
    for name in _repeated(outline.tools):
        yield RequestProblem("duplicate_tool", name, f"Tool {name!r} is there more than once.")
    if max_tools is not None and len(outline.tools) > max_tools:
        first = outline.tools[max_tools]
        reason = f"{len(outline.tools)} tools are more than {max_tools}; {first!r} is the first too many."
        yield RequestProblem("too_many_tools", first, reason)
    if outline.needs_tools and not outline.tools:
        yield RequestProblem("tool_choice", "required", "A tool is required, and there is none.")
    if outline.choice and outline.choice not in outline.tools:
        reason = f"Tool {outline.choice!r} is to be called, and is not among the tools."
        yield RequestProblem("tool_choice", outline.choice, reason)
    if outline.choice and outline.choice in outline.deferred:
        reason = f"Tool {outline.choice!r} is to be called, and is deferred."
        yield RequestProblem("tool_choice", outline.choice, reason)
    yield from _deferral_problems(outline)


def _deferral_problems(outline: Outline) -> Iterator[RequestProblem]:
    deferred = set(outline.deferred)
    if deferred and outline.must_show_one and not outline.has_search and deferred.issuperset(outline.tools):
        name = outline.deferred[0]
        reason = f"All tools are deferred, {name!r} first. Leave the one that searches visible."
        yield RequestProblem("all_deferred", name, reason)
    if deferred and not outline.must_show_one and not outline.has_search:
        name = outline.deferred[0]
        reason = f"Tool {name!r} is deferred, and there is no tool_search that could find it."
        yield RequestProblem("deferred_without_search", name, reason)
    for name in outline.cached:
        if name in deferred:
            reason = f"Tool {name!r} has both cache_control and defer_loading. Take one of them out."
            yield RequestProblem("cache_control_deferred", name, reason)
    for name in outline.references:
        if name not in outline.tools:
            reason = f"A result refers to tool {name!r}, which is not declared. Declare it, or take that out."
            yield RequestProblem("unknown_reference", name, reason)


def _message_problems(outline: Outline) -> Iterator[RequestProblem]:
    for turn in outline.turns:
        for call_id in (*turn.calls, *turn.results):
            if not call_id:
                yield RequestProblem("call_id", call_id, "A tool call or result has no id.")
        for call_id in turn.calls:
            if call_id not in turn.results:
                reason = f"Tool call {call_id!r} has no result directly after its message."
                yield RequestProblem("call_without_result", call_id, reason)
        for call_id in turn.results:
            if call_id not in turn.calls:
                reason = f"Result {call_id!r} answers no call of the message directly before it."
                yield RequestProblem("result_without_call", call_id, reason)
        for call_id in _repeated(turn.results):
            yield RequestProblem("duplicate_call", call_id, f"Tool call {call_id!r} has several results.")
    together = [[call_id for turn in outline.turns for call_id in turn.calls]]
    for calls in together if outline.ids_once else (turn.calls for turn in outline.turns):
        for call_id in _repeated(calls):
            yield RequestProblem("duplicate_call", call_id, f"Several tool calls have the id {call_id!r}.")
    for call_id in outline.bad_arguments:
        yield RequestProblem("arguments", call_id, f"Tool call {call_id!r} has arguments that are no object.")
    for place in outline.empty:
        yield RequestProblem("empty_message", place, f"{place} has nothing in it.")


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1 and name]


def _unique(problems: Iterable[RequestProblem]) -> Iterator[RequestProblem]:
    return iter(dict.fromkeys(problems))
