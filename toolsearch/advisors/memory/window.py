"""The latest turns of a conversation: whole ones, so that no call loses its result."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from toolsearch.messages import AssistantMessage, Message, SystemMessage, TextPart, ToolMessage, UserMessage
from toolsearch.tokens import count_tokens

IMAGE_TOKENS = 1000
"""What a picture counts for: the order of what providers charge for one of about a megapixel."""


def turns_of(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """`messages` cut before each user message; what comes before the first one is a turn of its own."""
    starts = [i for i, message in enumerate(messages) if i == 0 or isinstance(message, UserMessage)]
    return [tuple(messages[i:j]) for i, j in pairwise([*starts, len(messages)])]


def latest_turns(
    messages: Sequence[Message], *, max_turns: int | None = None, max_tokens: int | None = None
) -> tuple[Message, ...]:
    """The end of `messages`, in whole turns, as many as both limits allow; never less than the last turn."""
    turns = turns_of(messages)
    kept: list[tuple[Message, ...]] = []
    tokens = 0
    for turn in reversed(turns if max_turns is None else turns[-max_turns:]):
        tokens += 0 if max_tokens is None else tokens_of(turn)
        if kept and max_tokens is not None and tokens > max_tokens:
            break
        kept.append(turn)
    return tuple(message for turn in reversed(kept) for message in turn)


def tokens_of(messages: Sequence[Message]) -> int:
    """About how many tokens `messages` are for a model: their text, calls and results, and `IMAGE_TOKENS`
    for a picture. What only one provider reads is not counted.
    """
    return sum(_tokens(message) for message in messages)


def _tokens(message: Message) -> int:
    match message:
        case SystemMessage():
            return count_tokens(message.text)
        case UserMessage() | ToolMessage():
            return sum(
                count_tokens(part.text) if isinstance(part, TextPart) else IMAGE_TOKENS
                for part in message.content
            )
        case AssistantMessage():
            calls = sum(count_tokens(call.name) + count_tokens(call.arguments) for call in message.tool_calls)
            return count_tokens(message.text) + calls
