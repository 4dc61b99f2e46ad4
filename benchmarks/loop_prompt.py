"""What a model reads in a round, piece by piece, and what of it a provider has in its prompt cache."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from toolsearch.chat.base import ChatRequest
from toolsearch.chat.native import offer_of
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.messages import AssistantMessage, Message, TextPart, ToolCall, ToolMessage
from toolsearch.tokens import count_tokens, wire_json
from toolsearch.tools import Tool

LEAST_CACHED_TOKENS = 1024
"""Shorter beginnings are not cached: so OpenAI for all models, and Anthropic for most."""

CACHED_PRICE = 0.1
"""What a token from the cache costs, in tokens read anew: so Anthropic, and OpenAI since GPT-5."""

Kind: TypeAlias = Literal["definitions", "search", "conversation"]


@dataclass(frozen=True)
class Piece:
    """A part of a prompt: definitions of tools, what belongs to the search, or the conversation itself."""

    kind: Kind
    text: str

    @property
    def tokens(self) -> int:
        return _tokens(self.text)


def prompt_of(request: ChatRequest) -> tuple[Piece, ...]:
    """The pieces in the order in which providers put them together: definitions, then messages.

    With native search a deferred definition is read where a search result first refers to it.
    """
    offer = offer_of(request)
    deferred = {tool.name: tool for tool in offer.deferred}
    pieces = [_definition(tool) for tool in (*offer.shown, *offer.unreferenced)]
    for message in request.messages:
        pieces += _pieces(message)
        if isinstance(message, ToolMessage) and not message.is_error:
            shown = (deferred.pop(name, None) for name in message.discovered)
            pieces += [_definition(tool) for tool in shown if tool is not None]
    return tuple(pieces)


def answer_tokens(message: AssistantMessage) -> int:
    """Tokens of an answer, its calls included."""
    return sum(piece.tokens for piece in _pieces(message))


def cached_tokens(prompt: Sequence[Piece], earlier: Sequence[Sequence[Piece]]) -> int:
    """Tokens at the beginning of `prompt` that an `earlier` one begins with, too; 0 below the least."""
    longest = max((_shared(prompt, other) for other in earlier), default=0)
    return longest if longest >= LEAST_CACHED_TOKENS else 0


def _shared(first: Sequence[Piece], second: Sequence[Piece]) -> int:
    tokens = 0
    for ours, theirs in zip(first, second, strict=False):
        if ours != theirs:
            break
        tokens += ours.tokens
    return tokens


def _pieces(message: Message) -> Iterator[Piece]:
    match message:
        case AssistantMessage():
            for part in message.content:
                if isinstance(part, ToolCall):
                    yield Piece("search" if part.name == SEARCH_TOOL else "conversation", _written(part))
                elif isinstance(part, TextPart):
                    yield Piece("conversation", part.text)
        case ToolMessage():
            yield Piece("search" if message.name == SEARCH_TOOL else "conversation", message.text)
        case _:
            # The benchmark has no system message but the one that explains the search.
            yield Piece("search" if message.role == "system" else "conversation", message.text)


def _written(call: ToolCall) -> str:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        # A model may write what is no JSON; it is read again as it was written.
        arguments = call.arguments
    return json.dumps({"name": call.name, "arguments": arguments}, separators=(",", ":"), ensure_ascii=False)


def _definition(tool: Tool) -> Piece:
    return Piece("definitions", _wire(_Same(tool)))


class _Same:
    """A tool by identity: its schema cannot be hashed, and writing it takes longer than all the rest."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.tool is other.tool

    def __hash__(self) -> int:
        return id(self.tool)


@cache
def _wire(same: _Same) -> str:
    return wire_json(same.tool.definition)


@cache
def _tokens(text: str) -> int:
    return count_tokens(text)
