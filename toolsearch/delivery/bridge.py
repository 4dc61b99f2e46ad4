"""Bridge: two tools whose definitions never change, `tool_search` to find and `call_tool` to run.

Search results carry the input schemas. So the tool list is the same bytes in every round, and what the model
has read stays cached with any provider. The rest of the program never sees a `call_tool`: calls are unwrapped
as they come from the model and wrapped again in what it is sent, so that limits, approval and the kept
conversation are about the tools that are meant.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from toolsearch.chat.base import ChatRequest, ChatResponse
from toolsearch.delivery.base import CALL_TOOL, Offer, count, shown, summary
from toolsearch.delivery.visible import visible_schema
from toolsearch.formats.bounded import bounded_schema
from toolsearch.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from toolsearch.tools import JsonObject, Tool, ToolContext

_DESCRIPTION_CHARACTERS = 2000
"""The model reads no other description of the tool."""

CALL_DESCRIPTION = (
    "Runs a tool that tool_search has found. Give its name as it was listed, and arguments that fit the "
    "input schema that was listed with it."
)
CALL_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Name of the tool."},
        "arguments": {
            "type": "object",
            "description": "Arguments of the tool.",
            "additionalProperties": True,
        },
    },
    "required": ["name", "arguments"],
    "additionalProperties": False,
}
_FORM = 'call_tool takes {"name": NAME, "arguments": {…}} with the name and the arguments of a tool, no more.'


class Bridge:
    """`tool_search`, `call_tool`, and what is always visible."""

    name = "bridge"
    lives_in_messages = True
    declares_hidden = False
    fixed_tools = 2

    def request(self, request: ChatRequest, offer: Offer) -> ChatRequest:
        tools = self._direct(offer)
        messages = _with_preselected(request.messages, offer)
        return replace(request, tools=tools, messages=wrapped(messages, {tool.name for tool in tools}))

    def response(self, response: ChatResponse, offer: Offer) -> ChatResponse:
        message = response.message
        if offer.search_tool is None or not message.tool_calls:
            return response
        parts = tuple(_unwrapped(part, offer.changed) for part in message.content)
        offered = (*response.offered, *offer.loaded)
        return replace(response, message=message.model_copy(update={"content": parts}), offered=offered)

    def runnable(self, offer: Offer) -> tuple[Tool, ...]:
        return (*self._direct(offer), *offer.loaded)

    def heading(self, n: int) -> str:
        return f"Found {count(n)}. Run {'it' if n == 1 else 'them'} with call_tool:"

    def entry(self, tool: Tool) -> str:
        text = summary(tool, _DESCRIPTION_CHARACTERS)
        return f"{text}\n  input schema: {visible_schema(bounded_schema(tool.input_schema))}"

    def _direct(self, offer: Offer) -> tuple[Tool, ...]:
        if offer.search_tool is None:
            return offer.visible
        return (offer.search_tool, _call_tool(offer), *offer.visible)


def wrapped(messages: Sequence[Message], direct: Collection[str]) -> tuple[Message, ...]:
    """`messages` with every call of a tool outside `direct` as a call of `call_tool`, its result likewise."""
    bridged: set[str] = set()
    out: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and message.tool_calls:
            parts: list[AssistantPart] = []
            for part in message.content:
                if isinstance(part, ToolCall):
                    bridged.discard(part.id)
                    if part.name not in direct:
                        bridged.add(part.id)
                        parts.append(ToolCall(id=part.id, name=CALL_TOOL, arguments=_wrap(part)))
                        continue
                parts.append(part)
            out.append(message.model_copy(update={"content": tuple(parts)}))
        elif isinstance(message, ToolMessage) and message.call_id in bridged:
            out.append(message.model_copy(update={"name": CALL_TOOL}))
        else:
            out.append(message)
    return tuple(out)


def inner_call(arguments: str) -> tuple[str, str] | None:
    """The tool that a call of `call_tool` means: name, and arguments as JSON text; None for bad form."""
    try:
        whole = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(whole, dict) or not whole.keys() <= {"name", "arguments"}:
        return None
    name, inner = whole.get("name"), whole.get("arguments", {})
    if not isinstance(name, str) or name == CALL_TOOL:
        return None
    if isinstance(inner, str):
        return name, inner
    return name, json.dumps(inner or {}, ensure_ascii=False)


def _unwrapped(part: AssistantPart, changed: Collection[str]) -> AssistantPart:
    """The call that is meant. What `call_tool` has to answer itself stays: bad form, a changed definition."""
    if not isinstance(part, ToolCall) or part.name != CALL_TOOL:
        return part
    call = inner_call(part.arguments)
    if call is None or call[0] in changed:
        return part
    return ToolCall(id=part.id, name=call[0], arguments=call[1])


def _wrap(call: ToolCall) -> str:
    try:
        arguments: Any = json.loads(call.arguments)
    except (ValueError, RecursionError):
        arguments = call.arguments
    return json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False)


def answer_itself(arguments: JsonObject, offer: Offer) -> ToolResult:
    """What `call_tool` says of a call that it does not pass on: its form is bad, or the tool has changed."""
    changed = {tool.name: tool for tool in offer.loaded if tool.name in offer.changed}
    name = arguments.get("name")
    tool = changed.get(name) if isinstance(name, str) else None
    return ToolResult.error(_FORM) if tool is None else _announced(tool)


def _call_tool(offer: Offer) -> Tool:
    async def call(arguments: JsonObject, context: ToolContext) -> ToolResult:
        del context
        return answer_itself(arguments, offer)

    return Tool(raw_name=CALL_TOOL, description=CALL_DESCRIPTION, input_schema=CALL_SCHEMA, call=call)


def _announced(tool: Tool) -> ToolResult:
    """The result of a call of a tool that has changed since the model read of it: what it is now."""
    text = f"Nothing was run, as this tool has changed since you found it. It is now:\n{BRIDGE.entry(tool)}"
    return ToolResult(
        (TextPart(text=text),),
        is_error=True,
        discovered=(tool.name,),
        structured={"shown": shown((tool,))},
    )


def _with_preselected(messages: Sequence[Message], offer: Offer) -> tuple[Message, ...]:
    """`messages` with the tools that were found for a user message listed at its end."""
    out = list(messages)
    for position, tools in offer.preselected.items():
        message = out[position]
        if tools and isinstance(message, UserMessage):
            listing = "\n".join((BRIDGE.heading(len(tools)), *map(BRIDGE.entry, tools)))
            part = TextPart(text=f"\n\n[{listing}]")
            out[position] = message.model_copy(update={"content": (*message.content, part)})
    return tuple(out)


BRIDGE = Bridge()
