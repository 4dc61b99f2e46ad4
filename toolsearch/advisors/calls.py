"""The calls of an answer, made fit to run and fit to send back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from toolsearch.chat.arguments import INVALID, compact
from toolsearch.chat.call_ids import with_unique_ids
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.exceptions import DefinitionError, ToolArgumentsError
from toolsearch.functions.arguments import parse_arguments
from toolsearch.messages import AssistantMessage, AssistantPart, Message, ToolCall, ToolResult
from toolsearch.naming import PUBLIC_NAME, near_names
from toolsearch.tools import JsonObject, Tool, ToolInvocation

ToolResolver: TypeAlias = Callable[[str], Tool | None]
"""The tool of a name that was not offered, or None: for names that are only found at run time."""

_LISTED = 12
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(frozen=True)
class PlannedCall:
    """One call of an answer and what is to become of it.

    Attributes:
        call: As it goes into the conversation: an id of its own, arguments that are a JSON object.
        tool: What it calls; None where there is no such tool.
        arguments: The object, read.
        refusal: The result of a call that will not run; None for one that may.
    """

    call: ToolCall
    tool: Tool | None
    arguments: JsonObject
    refusal: ToolResult | None = None

    def runnable(self) -> tuple[Tool, ToolInvocation]:
        """The tool and its `call`, of a call that is not refused.

        Raises:
            DefinitionError: the tool has no `call`.
        """
        if self.tool is None or self.tool.call is None:
            raise DefinitionError(
                self.call.name,
                "it is offered to the model, but has no `call`. Give it one, or run its calls yourself.",
            )
        return self.tool, self.tool.call


@dataclass(frozen=True)
class Plan:
    """An answer, mended for the conversation, and its calls in order."""

    message: AssistantMessage
    calls: tuple[PlannedCall, ...]

    def with_calls(self, calls: Iterable[PlannedCall]) -> Plan:
        """The same with other calls at the same places; the message shows them."""
        changed = tuple(calls)
        shown = iter(changed)
        parts: list[AssistantPart] = [
            next(shown).call if isinstance(part, ToolCall) else part for part in self.message.content
        ]
        return Plan(self.message.model_copy(update={"content": tuple(parts)}), changed)


def plan_calls(
    message: AssistantMessage,
    offered: Sequence[Tool],
    *,
    history: Iterable[Message] = (),
    resolvers: Sequence[ToolResolver] = (),
) -> Plan:
    """What the calls of `message` come to, before anything runs.

    Ids that are empty, or taken by another call of the message or of `history`, become new ones. A call of a
    tool that is not among `offered`, and one whose arguments are no JSON object, get an error result; the
    conversation shows what the model wrote in the latter within an object, since providers refuse broken
    JSON. Nothing is said of tools that are not offered.
    """
    tools = {tool.name: tool for tool in offered}
    message = with_unique_ids(message, history)
    return Plan(message, ()).with_calls(_planned(call, tools, resolvers) for call in message.tool_calls)


def _planned(call: ToolCall, tools: dict[str, Tool], resolvers: Sequence[ToolResolver]) -> PlannedCall:
    tool = tools.get(call.name) or _resolved(call.name, resolvers)
    refusal = None if tool is not None else _unknown(call.name, tuple(tools))
    try:
        arguments = parse_arguments(call.arguments, tool=call.name)
        shown = _as_text(call.arguments, arguments)
    except ToolArgumentsError as exc:
        arguments, shown = {}, _as_text("", {INVALID: call.arguments})
        refusal = refusal or ToolResult.error(str(exc))
    sent = call.model_copy(update={"name": _sendable(call.name), "arguments": shown})
    return PlannedCall(sent, tool, arguments, refusal)


def _resolved(name: str, resolvers: Sequence[ToolResolver]) -> Tool | None:
    return next((tool for resolve in resolvers if (tool := resolve(name)) is not None), None)


def _sendable(name: str) -> str:
    """A name as providers accept it in a conversation, whatever the model made up."""
    return name if PUBLIC_NAME.fullmatch(name) else _UNSAFE.sub("_", name).strip("_")[:64] or "unnamed"


def _as_text(text: str, arguments: JsonObject) -> str:
    """The text as the model wrote it where that is the object itself: it keeps a provider's cache warm."""
    if text.lstrip().startswith("{") and _is_encodable(text):
        return text
    written = compact(arguments)
    return written if _is_encodable(written) else written.encode("utf-8", "replace").decode()


def _is_encodable(text: str) -> bool:
    """Whether `text` is without lone halves of surrogate pairs, which no provider takes."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def _unknown(name: str, offered: Sequence[str]) -> ToolResult:
    near = near_names(name, offered)
    advice = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    if SEARCH_TOOL in offered:
        advice += f" Find tools with {SEARCH_TOOL} first; only tools that it has found can be called."
    elif not near and offered:
        rest = f" and {len(offered) - _LISTED} more" if len(offered) > _LISTED else ""
        advice += f" There are {', '.join(offered[:_LISTED])}{rest}."
    elif not offered:
        advice += " There are no tools; answer without."
    return ToolResult.error(f"There is no tool {name!r}.{advice}")
