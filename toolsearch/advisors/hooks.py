"""`LoopHooks`: functions that the tool-calling loop calls on its way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from toolsearch.chat.base import ChatRequest, ChatResponse


async def _request(request: ChatRequest) -> ChatRequest:
    return request


async def _round_request(request: ChatRequest, number: int) -> ChatRequest:
    del number
    return request


async def _round_response(request: ChatRequest, response: ChatResponse, number: int) -> ChatResponse:
    del request, number
    return response


async def _response(request: ChatRequest, response: ChatResponse) -> ChatResponse:
    del request
    return response


@dataclass(frozen=True, kw_only=True)
class LoopHooks:
    """What to do around a loop and around each of its rounds; each gives back what the loop goes on with.

    Attributes:
        before_loop: Once, with the run's request; what it changes holds for every round.
        before_round: With the request of a round and its number, from 1. What it changes holds for that
            round: tools that it offers may run for its answer.
        after_round: With the request, the response and the number of the round; before its calls run.
        after_loop: Once, with the run's request and its final response, whatever ended it: an answer, a
            limit, results returned directly, a pause. Not after an exception.
    """

    before_loop: Callable[[ChatRequest], Awaitable[ChatRequest]] = _request
    before_round: Callable[[ChatRequest, int], Awaitable[ChatRequest]] = _round_request
    after_round: Callable[[ChatRequest, ChatResponse, int], Awaitable[ChatResponse]] = _round_response
    after_loop: Callable[[ChatRequest, ChatResponse], Awaitable[ChatResponse]] = _response
