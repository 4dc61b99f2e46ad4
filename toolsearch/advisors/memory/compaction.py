"""Putting a few messages in the place of many."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from toolsearch.chat.base import ChatModel, ChatRequest
from toolsearch.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage

Compactor: TypeAlias = Callable[[Sequence[Message]], Awaitable[Sequence[Message]]]
"""What to keep in the place of whole turns; every call in it must have its result."""

PROMPT = (
    "Summarize the conversation for the assistant that continues it. Keep what the user wants, decisions, "
    "names, ids and numbers, what tools were called for and what came out, and what is still open. "
    "Write plain sentences, no greeting."
)
HEADING = "Summary of the conversation so far:"
_RESULT_CHARACTERS = 2000


def summarizer(model: ChatModel, *, prompt: str = PROMPT, max_tokens: int | None = None) -> Compactor:
    """Has `model` write a summary, which takes the place of the turns as one user message.

    The conversation goes to it as text, so that it has neither tools to call nor calls to answer.
    """

    async def compact(messages: Sequence[Message]) -> tuple[Message, ...]:
        request = ChatRequest(
            (SystemMessage(text=prompt), UserMessage.of(transcript(messages))), max_tokens=max_tokens
        )
        response = await model.complete(request)
        return (UserMessage.of(f"{HEADING}\n{response.text}"),)

    return compact


def transcript(messages: Sequence[Message]) -> str:
    """A conversation as text, a paragraph for each message; long results are cut."""
    return "\n\n".join(line for message in messages if (line := _line(message)))


def _line(message: Message) -> str:
    match message:
        case SystemMessage():
            return f"System: {message.text}"
        case UserMessage():
            return f"User: {message.text}"
        case AssistantMessage():
            calls = [f"calls {call.name}({call.arguments})" for call in message.tool_calls]
            return f"Assistant: {' '.join(filter(None, [message.text, *calls]))}"
        case ToolMessage():
            text = message.text
            cut = text if len(text) <= _RESULT_CHARACTERS else f"{text[:_RESULT_CHARACTERS]}…"
            return f"Result of {message.name}: {cut}"
