"""Ids of the calls in a remembered conversation."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Sequence

from toolsearch.messages import AssistantMessage, AssistantPart, Message, ToolCall, ToolMessage


def with_distinct_ids(messages: Sequence[Message]) -> tuple[Message, ...]:
    """`messages` with an id for each call that no other of them has, and results under those of their calls.

    Of two runs at the same time, or after a part that a run was not shown, both may have a ``call_1``, which
    providers refuse. The first keeps it; a later one becomes the first free of ``call_1``, ``call_2`` ...
    What a message becomes depends on those before it alone, so that a provider's prompt cache holds.
    """
    taken: set[str] = set()
    now: dict[str, deque[str]] = {}
    mended: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and message.tool_calls:
            message, now = _renamed(message, taken)  # noqa: PLW2901
        elif isinstance(message, ToolMessage) and now.get(message.call_id):
            call_id = now[message.call_id].popleft()
            if call_id != message.call_id:
                message = message.model_copy(update={"call_id": call_id})  # noqa: PLW2901
        mended.append(message)
    return tuple(mended)


def _renamed(message: AssistantMessage, taken: set[str]) -> tuple[AssistantMessage, dict[str, deque[str]]]:
    """The message with new ids in the place of those taken, and what each became; adds them to `taken`."""
    own = {call.id for call in message.tool_calls}
    free = (each for n in itertools.count(1) if (each := f"call_{n}") not in taken and each not in own)
    now: defaultdict[str, deque[str]] = defaultdict(deque)
    parts: list[AssistantPart] = []
    for part in message.content:
        if isinstance(part, ToolCall):
            was = part.id
            if not was or was in taken:
                part = part.model_copy(update={"id": next(free)})  # noqa: PLW2901
            taken.add(part.id)
            now[was].append(part.id)
        parts.append(part)
    if all(was == each for was, became in now.items() for each in became):
        return message, dict(now)
    return message.model_copy(update={"content": tuple(parts)}), dict(now)
