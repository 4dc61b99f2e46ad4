"""`ChatModel`: one round with a model, complete or streamed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from toolsearch.checks import check_whole
from toolsearch.given import as_tools
from toolsearch.messages import AssistantMessage, Message, as_messages
from toolsearch.tools import Tool

FinishReason: TypeAlias = Literal[
    "stop", "length", "tool_calls", "content_filter", "return_direct", "limit", "paused", "error"
]
"""What ended an answer. The last four are the loop's own: see `advisors`."""

ToolChoice: TypeAlias = Literal["auto", "none", "required"] | str
"""``auto``, ``none``, ``required``, or the public name of a tool."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one or several rounds; `cached_tokens` are part of `input_tokens`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True)
class NativeSearch:
    """Tools that a provider with native tool search is told of but does not show the model at first.

    Attributes:
        search_tool: Name of the tool of the request that finds them.
        deferred: All of them, discovered ones too, in an order that never changes. Only those that are also
            among `ChatRequest.tools` may run.
    """

    search_tool: str
    deferred: tuple[Tool, ...]


@dataclass(frozen=True)
class ChatRequest:
    """What one round sends.

    Attributes:
        messages: The conversation; system messages first.
        tools: Offered in this order, which is kept byte for byte: a provider's prompt cache depends on it.
            What is offered is what may run: calls of the answer are looked up here and nowhere else.
        native: Deferred definitions for a provider's own tool search; None for none.
        options: More fields of the provider's request body, such as ``temperature``; they win.
        context: For advisors and tools, never sent: session id, tenant, state.

    Raises:
        TypeError: a message, a tool or a number of tokens that is none; functions become tools.
        ValueError: `max_tokens` is not above 0.
        DefinitionError: no tool can be made of a function.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"
    native: NativeSearch | None = None
    max_tokens: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", as_messages(self.messages))
        object.__setattr__(self, "tools", as_tools(self.tools))
        check_whole("max_tokens", self.max_tokens, or_none=True)


@dataclass(frozen=True)
class ChatResponse:
    """What one round, or a whole run, answered.

    Attributes:
        message: The (last) answer of the model.
        finish_reason: Why it ended.
        usage: Tokens; summed over the rounds for a run.
        model: As the provider names it.
        offered: What may run for the calls of this answer. Where the chain meets the model it is set to the
            tools of the request that the model saw, after every advisor; an advisor may add to it.
        metadata: Of the advisors: limits, receipts, results returned directly.
    """

    message: AssistantMessage
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    offered: tuple[Tool, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.message.text


@dataclass(frozen=True)
class TextDelta:
    """A piece of the answer's text, as it arrives."""

    text: str


@dataclass(frozen=True)
class RoundFinished:
    """The last event of a round: its whole response, tool calls assembled.

    Attributes:
        request: What the model was sent, its tools included; set by the advisor chain, None from a model.
    """

    response: ChatResponse
    request: ChatRequest | None = None


@dataclass(frozen=True)
class ToolFinished:
    """A tool of the loop has run; from advisors, never from a model."""

    call_id: str
    name: str
    is_error: bool


@dataclass(frozen=True)
class RunFinished:
    """The last event of an advisor chain, or of a part of it: the response that `call` would have given."""

    response: ChatResponse


ChatEvent: TypeAlias = TextDelta | RoundFinished | ToolFinished | RunFinished


class ChatModel(Protocol):
    """A model behind a provider's API. Safe to use from several tasks."""

    @property
    def id(self) -> str:
        """Provider and model, such as ``openai:gpt-5``."""

    @property
    def native_search(self) -> bool:
        """Whether the provider takes `ChatRequest.native`."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """One round.

        Raises:
            ChatModelError: the provider refused or failed; carries status and body.
        """

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """One round as it arrives: text deltas, then one `RoundFinished` with what `complete` would answer.

        Raises:
            ChatModelError: as `complete`; also in the middle of the stream.
        """
