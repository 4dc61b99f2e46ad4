"""Where one run of the tool-calling loop stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolsearch.advisors.encodable import encodable
from toolsearch.advisors.failures import ToolFailure
from toolsearch.advisors.limits import LimitBreach
from toolsearch.advisors.paused import RESUMPTION, PausedRun, Resumption, WaitingCall
from toolsearch.advisors.record import NotedRound
from toolsearch.chat.base import ChatRequest, ChatResponse, Usage
from toolsearch.messages import AssistantMessage, Message, SystemMessage, TextPart, ToolMessage


@dataclass
class Turn:
    """One run, from its request to its response; changed by the loop as it goes.

    Attributes:
        request: Of the run; each round's is made from it.
        history: Whether each round is sent the whole conversation, or only what is new since the last.
        started: By the loop's clock.
        sent: The messages of the next round.
        added: What the run has added to the conversation.
        last: The limit that makes the next round the last one, if any.
    """

    request: ChatRequest
    history: bool
    started: float
    sent: tuple[Message, ...]
    added: tuple[Message, ...] = ()
    rounds: int = 0
    usage: Usage = field(default_factory=Usage)
    failures: tuple[ToolFailure, ...] = ()
    last: LimitBreach | None = None

    @classmethod
    def begin(cls, request: ChatRequest, resumed: Resumption | None, *, history: bool, now: float) -> Turn:
        context = {key: value for key, value in request.context.items() if key != RESUMPTION}
        turn = cls(replace(request, context=context), history, now, request.messages)
        if resumed is not None:
            turn.added = resumed.paused.added
            turn.go_on_from(resumed.paused, now)
        return turn

    def go_on_from(self, known: PausedRun | NotedRound, now: float) -> None:
        """Counts from where the run stood then, and has the results of a round that was done."""
        self.rounds = known.rounds
        self.usage = known.usage
        self.started = now - known.elapsed_s
        if isinstance(known, NotedRound):
            self.last = known.last
            if known.is_done:
                self.add_batch(known.answer, known.results)

    def next_request(self) -> ChatRequest:
        choice = self.request.tool_choice
        if self.last is not None:
            choice = "none"
        elif self.added and choice != "none":
            # A choice that forces a call is for the first round; kept, the model could never answer.
            choice = "auto"
        return replace(self.request, messages=self.sent, tool_choice=choice)

    def add_round(self, usage: Usage) -> None:
        self.rounds += 1
        self.usage += usage

    def add_batch(self, message: AssistantMessage, results: Sequence[ToolMessage]) -> None:
        new: tuple[Message, ...] = (message, *results)
        self.added += new
        self.sent = (*(self.sent if self.history else system_messages(self.sent)), *new)

    def answered(self, response: ChatResponse) -> ChatResponse:
        """The end of a run with an answer of the model."""
        self.added += (response.message,)
        return self._finished(response)

    def returned(self, results: Sequence[ToolMessage], response: ChatResponse) -> ChatResponse:
        """The end of a run whose results go to the caller."""
        texts = (result.text for result in results)
        direct = replace(response, message=_said("\n\n".join(texts)), finish_reason="return_direct")
        return self._finished(direct, tool_results=tuple(results))

    def stopped(self, breach: LimitBreach, response: ChatResponse) -> ChatResponse:
        """The end of a run at a limit."""
        self.last = breach
        return self.answered(limit_response(breach, response))

    def paused(
        self,
        answer: AssistantMessage,
        results: Sequence[ToolMessage],
        waiting: Sequence[WaitingCall],
        response: ChatResponse,
        *,
        elapsed_s: float,
        messages: tuple[Message, ...],
    ) -> ChatResponse:
        """The end of a run for now; its `response` says what was offered."""
        request = self.request
        state = PausedRun(
            waiting=tuple(waiting),
            messages=tuple(encodable(message) for message in messages),
            answer=answer,
            offered=tuple(tool.name for tool in response.offered),
            results=tuple(results),
            added=self.added,
            rounds=self.rounds,
            usage=self.usage,
            elapsed_s=elapsed_s,
            session_id=request.context.get("session_id") or "",
            tenant=request.context.get("tenant") or "",
            tool_choice=request.tool_choice,
            max_tokens=request.max_tokens,
            options=dict(request.options),
        )
        return self._finished(replace(response, message=answer, finish_reason="paused"), paused_run=state)

    def _finished(self, response: ChatResponse, **more: Any) -> ChatResponse:
        metadata = {
            **response.metadata,
            "messages": self.added,
            "rounds": self.rounds,
            "tool_failures": self.failures,
            **more,
        }
        if self.last is not None:
            metadata["limit"] = self.last
        return replace(response, usage=self.usage, metadata=metadata)


def limit_response(breach: LimitBreach, response: ChatResponse | None = None) -> ChatResponse:
    """The answer of a run that has come to a limit; the other facts are those of `response`."""
    message = _said(breach.message)
    return replace(response or ChatResponse(message), message=message, finish_reason="limit")


def system_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(message for message in messages if isinstance(message, SystemMessage))


def _said(text: str) -> AssistantMessage:
    return AssistantMessage(content=(TextPart(text=text),) if text else ())
