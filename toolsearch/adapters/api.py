"""`WireApi`: what tool search must read and change in the requests and answers of one provider's API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from toolsearch.adapters.recall import Hidden
from toolsearch.adapters.wire import WireForm
from toolsearch.messages import ToolCall, ToolResult
from toolsearch.tools import JsonObject

Arguments: TypeAlias = dict[str, Any]
"""The keyword arguments of a method of a client."""

Rounds: TypeAlias = Sequence[Sequence[JsonObject]]
"""Search rounds as messages."""

IsOurs: TypeAlias = Callable[[str], bool]
"""Whether a call of a tool of this name is answered here and kept from the caller."""


class WireApi(Protocol):
    """Pure functions over the arguments of requests and over answers; nothing is kept."""

    form: WireForm

    def tool_name(self, record: JsonObject) -> str | None:
        """The name of a tool that the caller runs; None for one that the provider runs."""

    def as_function(self, record: JsonObject) -> JsonObject:
        """The definition of a tool that the caller runs, as one that takes arguments by a schema."""

    def refuses(self, request: Arguments) -> str:
        """Why tool search cannot answer such a request; empty where it can."""

    def messages(self, request: Arguments) -> list[Any]:
        """The conversation of a request."""

    def with_messages(self, request: Arguments, told: list[Any], rounds: Rounds) -> Arguments:
        """The request with the conversation `told`, and after it the rounds of this call."""

    def with_instructions(self, request: Arguments, text: str) -> Arguments:
        """The request with `text` at the end of its system message."""

    def scope(self, request: Arguments) -> Any:
        """What beside messages and tools led to an answer, and on whose behalf, as far as a request tells."""

    def wanted(self, request: Arguments) -> tuple[str, ...]:
        """The tools that the caller's tool choice names."""

    def server_state(self, request: Arguments) -> str:
        """Key of a conversation that the provider keeps, of which `messages` are only the end; else empty."""

    def new_state(self, request: Arguments, answer: JsonObject) -> tuple[str, str]:
        """Keys of a conversation that the provider keeps: the caller's and its own; else empty."""

    def with_state(self, request: Arguments, state: str) -> Arguments:
        """The request with the provider's own key of the conversation that it continues."""

    def said(self, answer: JsonObject) -> list[Any]:
        """An answer as the messages that a history holds of it."""

    def calls(self, answer: JsonObject) -> list[JsonObject]:
        """The calls of an answer of tools that the caller runs, in the API's own form and in order."""

    def result(self, call: JsonObject, call_id: str, result: ToolResult) -> JsonObject:
        """The result of a call as the conversation holds it, under `call_id`."""

    def exchange(
        self,
        request: Arguments,
        answer: JsonObject,
        calls: Sequence[ToolCall],
        results: Sequence[JsonObject],
    ) -> list[JsonObject]:
        """A round whose calls are all ours, as messages; `calls` are these as the conversation holds them."""

    def beside(self, answer: JsonObject, is_ours: IsOurs, calls: Sequence[ToolCall]) -> list[JsonObject]:
        """Our calls of an answer in the API's form, mended as `calls`."""

    def beyond(self, message: Any, exchange: Sequence[JsonObject]) -> Any:
        """What a message of the caller says beside `exchange`, of which a stream has shown parts; or None."""

    def rejoined(self, messages: list[Any], position: int, hidden: Hidden) -> None:
        """Give the answer at `position` of `messages` our calls back, and put their results after it."""

    def without(self, answer: Any, is_ours: IsOurs) -> Any:
        """A client's answer without our calls."""

    def chunks(self, is_ours: IsOurs) -> Chunks:
        """For one streamed call of the caller."""


class Chunks(Protocol):
    """Which chunks of several rounds a caller sees, as those of one answer."""

    def start(self) -> None:
        """Another round begins."""

    def show(self, chunk: Any) -> list[Any]:
        """The chunks to be passed on now that `chunk` has come; what ends an answer is held back."""

    def answer(self) -> JsonObject:
        """The answer of the round in the API's own form. To be called when its chunks have ended."""

    def last(self) -> list[Any]:
        """The chunks that end the answer, with the usage of all rounds."""
