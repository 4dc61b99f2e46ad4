"""The command of a server as people may see it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from toolsearch.http.secret_shapes import HIDDEN, redacted
from toolsearch.sources.mcp.expansion import variables


def shown_command(command: str, args: Sequence[str]) -> str:
    """The command as a shell takes it, with ``[hidden]`` for what looks like a secret."""
    return " ".join(word if HIDDEN in word else shlex.quote(word) for word in (command, *shown_args(args)))


def shown_args(args: Sequence[str]) -> Iterator[str]:
    """Arguments without what looks like a secret: by itself, or by the option that it follows.

    A reference to a variable is none.
    """
    for before, word in pairwise(("", *args)):
        if variables(word):
            yield word
        elif before.startswith("-") and "=" not in before and HIDDEN in redacted(f"{before}={word}"):
            yield HIDDEN
        else:
            yield redacted(word)
