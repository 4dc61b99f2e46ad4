"""Ids of tool calls: unique for us, and in a shape that the provider takes."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable

from toolsearch.messages import AssistantMessage, Message, ToolCall

_SAFE = re.compile(r"[a-zA-Z0-9_-]+")


def with_unique_ids(message: AssistantMessage, history: Iterable[Message] = ()) -> AssistantMessage:
    """`message` with an id for each of its calls that no other call of it or of `history` has.

    Ids that are unique already stay; an empty or repeated one becomes the first free of ``call_1``,
    ``call_2`` ... Models behind small servers leave ids out or count from zero in each answer.
    """
    taken = {call.id for old in history if isinstance(old, AssistantMessage) for call in old.tool_calls}
    own = {call.id for call in message.tool_calls}
    if len(own) == len(message.tool_calls) and "" not in own and own.isdisjoint(taken):
        return message
    free = (f"call_{n}" for n in itertools.count(1))
    content = []
    for part in message.content:
        if isinstance(part, ToolCall) and (not part.id or part.id in taken):
            part = part.model_copy(update={"id": next(i for i in free if i not in taken | own)})  # noqa: PLW2901
        if isinstance(part, ToolCall):
            taken.add(part.id)
        content.append(part)
    return message.model_copy(update={"content": tuple(content)})


def wire_id(call_id: str, *, max_length: int) -> str:
    """`call_id`, or where it is too long or holds other characters than ``a-zA-Z0-9_-`` a digest of it.

    One for each id, so that a call and its result still agree: for conversations begun with another model.
    """
    if _SAFE.fullmatch(call_id) and len(call_id) <= max_length:
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:24]}"
