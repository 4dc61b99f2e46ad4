"""`Observer`: watches runs from outside; and what it is shown of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from toolsearch.chat.base import ChatRequest, ChatResponse
from toolsearch.tools import JsonObject, Tool, ToolContext

Within: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Gives what to enter whenever the model is waited for, such as the context of a span."""


@dataclass
class ObservedRun:
    """A run, from its request to its response.

    Attributes:
        request: As it came, before any other advisor.
        model_id: Of the model at the end of the chain.
        streaming: Whether the model is asked to stream.
        response: What it came to; None until then, and where it failed.
        metadata: What observers add to that of the response.
    """

    request: ChatRequest
    model_id: str
    streaming: bool
    response: ChatResponse | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class ObservedRound:
    """One call of the model.

    Attributes:
        number: From 1.
        request: What the model is sent.
        written, replaced: Texts that the tool search put into the conversation for this round, and those
            in whose place they stand.
        first_text_s: Seconds until the first piece of text, of a streamed answer that has text.
        response: What it answered; None until then, and where it failed.
    """

    number: int
    request: ChatRequest
    model_id: str
    streaming: bool
    written: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    first_text_s: float | None = None
    response: ChatResponse | None = None


@dataclass
class ObservedCall:
    """One call of a tool, the built-in search included; of those that are refused before they run, none.

    Attributes:
        result: What the tool gave; None until then, and where it raised.
    """

    tool: Tool
    arguments: JsonObject
    context: ToolContext
    result: Any = None


class RunObserver:
    """Watches one run. What it does not care about it leaves to these methods, which do nothing.

    The context managers are entered before and left after; an exception of what they surround goes through
    them. They are synchronous and should be quick.
    """

    @contextmanager
    def round(self, seen: ObservedRound) -> Iterator[Within]:
        """Around a call of the model. What is streamed is handed on between its steps."""
        del seen
        yield nullcontext

    @contextmanager
    def call(self, seen: ObservedCall) -> Iterator[None]:
        """Around a call of a tool, in the task that runs it; several may be under way at once."""
        del seen
        yield


class Observer(Protocol):
    """Watches runs. Safe to share between them."""

    def run(self, seen: ObservedRun) -> AbstractContextManager[RunObserver]:
        """Around a run; gives what watches its rounds and calls."""
