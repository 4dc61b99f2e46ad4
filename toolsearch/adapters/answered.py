"""`answer_keys`: what tells an answer again in the history of the caller that got it.

What happened before an answer belongs to that answer alone: another conversation may begin with the very
same words, and be answered otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from toolsearch.adapters.recall import digest
from toolsearch.adapters.wire import calls_in, is_of_model, text_in


def answer_keys(
    earlier: Iterable[Any], said: Sequence[Any], is_ours: Callable[[str], bool]
) -> frozenset[bytes]:
    """The digests that an answer may have in a history.

    Args:
        earlier: The search rounds before it, of which a stream has shown the texts.
        said: The answer as messages, whose calls of ours the caller has not seen.
    """
    alone = history_key(said, is_ours)
    if any(not is_ours(call.name) for message in said for call in calls_in(message)):
        return frozenset({alone})
    whole = chain(filter(is_of_model, earlier), said)
    return frozenset({alone, _text_key(whole)})


def history_key(said: Iterable[Any], is_ours: Callable[[str], bool] = lambda _: False) -> bytes:
    """The digest of an answer by its first call, or by its text where it has none.

    Callers may leave out the text beside calls, write arguments anew, and trim a text.
    """
    messages = tuple(said)
    for call in chain.from_iterable(map(calls_in, messages)):
        if not is_ours(call.name):
            return digest("call", call.id, call.name, _read(call.arguments))
    return _text_key(messages)


def _text_key(messages: Iterable[Any]) -> bytes:
    return digest("text", "".join("".join(map(text_in, messages)).split()))


def _read(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
