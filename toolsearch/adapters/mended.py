"""Conversations without what a provider refuses in them, since another process knows their hidden rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolsearch.adapters.recall import plain
from toolsearch.adapters.wire import is_of_model
from toolsearch.tools import JsonObject


def mended(messages: Sequence[Any], added: Sequence[JsonObject], told: str) -> list[Any] | None:
    """`messages` without what a refusal names that is not the caller's; None where it names nothing such.

    Args:
        added: Results of searches that the provider was thought to wait for, and that are not the caller's.
        told: The refusal.
    """
    if any(str(result.get("call_id")) in told for result in added):
        return [message for message in messages if message not in added]
    # Reasoning that a stream has shown before a search. What follows it is the model's, but not its own.
    following = [*messages[1:], None]
    kept = [
        message
        for message, after in zip(messages, following, strict=True)
        if after is None or not is_of_model(after) or not _is_named(plain(message), told)
    ]
    return kept if len(kept) < len(messages) else None


def _is_named(item: Any, told: str) -> bool:
    return isinstance(item, dict) and item.get("type") == "reasoning" and f"'{item.get('id')}'" in told
