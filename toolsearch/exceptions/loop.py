"""Errors of the tool-calling loop, its advisors and what they keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolsearch.exceptions.base import ToolSearchError


class ToolLimitError(ToolSearchError, ValueError):
    """More tools must be in every request than `max_tools` allows; `visible` is how many."""

    def __init__(self, max_tools: int, visible: int) -> None:
        self.max_tools = max_tools
        self.visible = visible
        super().__init__(
            f"{visible} tools must be in every request, built-in and pinned ones included, but max_tools is "
            f"{max_tools}. Raise it, or pin fewer tools."
        )


class UnsearchedToolsError(ToolSearchError, ValueError):
    """A request of a wrapped client that takes tools, where none can be searched; `where` is its path."""

    def __init__(self, where: str, reason: str) -> None:
        self.where = where
        super().__init__(
            f"{where!r} cannot be had with tool search: {reason}. To send all tools, use the client that you "
            "gave to wrap."
        )


class ChainError(ToolSearchError, ValueError):
    """Advisors that cannot work together, or one that broke its promise; `advisors` names them."""

    def __init__(self, reason: str, advisors: tuple[str, ...] = ()) -> None:
        self.advisors = advisors
        super().__init__(reason)


class LimitExceededError(ToolSearchError):
    """A tool-calling loop went past one of its limits.

    Attributes:
        kind: Which: ``rounds``, ``calls_per_tool``, ``calls``, ``repeats``, ``wall_time_s`` or ``tokens``.
        limit: Its value.
        tool: Of which tool, where it is about one.
        messages: What the run had added to the conversation; every call in it has its result.
    """

    def __init__(
        self, reason: str, *, kind: str, limit: float, tool: str = "", messages: tuple[Any, ...] = ()
    ) -> None:
        self.kind = kind
        self.limit = limit
        self.tool = tool
        self.messages = messages
        super().__init__(reason)


class PausedRunError(ToolSearchError, ValueError):
    """A paused run that cannot be resumed as asked; `call_ids` holds the calls in question."""

    def __init__(self, reason: str, call_ids: tuple[str, ...] = ()) -> None:
        self.call_ids = call_ids
        super().__init__(reason)


class RunningLoopError(ToolSearchError, RuntimeError):
    """A synchronous call in a thread whose event loop is running; `instead` is to be awaited there."""

    def __init__(self, called: str, instead: str) -> None:
        self.called = called
        self.instead = instead
        super().__init__(f"An event loop is running in this thread: await {instead}(...), not {called}(...).")


class AnswerFormatError(ToolSearchError, ValueError):
    """No answer of the model had the form asked for; `answer` is the last one, `problems` its faults."""

    def __init__(self, answer: str, problems: tuple[str, ...], *, attempts: int) -> None:
        self.answer = answer
        self.problems = problems
        self.attempts = attempts
        super().__init__(
            f"None of {attempts} answers had the form asked for. The last: {'; '.join(problems)}"
        )


class StoreError(ToolSearchError):
    """A file of conversations, sessions or calls that cannot be used; `path` names it."""

    def __init__(
        self, path: Path | str, reason: str, *, remedy: str = "Give another file, or mend this one."
    ) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"Store {str(path)!r} {reason}. {remedy}")
