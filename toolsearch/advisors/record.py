"""`RunRecord`: what a resumed run has done since its pause, for whoever resumes it again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, TypeAdapter

from toolsearch.advisors.journal import CallJournal
from toolsearch.advisors.limits import LimitBreach
from toolsearch.advisors.paused import Decision, Resumption, WaitingCall
from toolsearch.chat.base import ChatResponse, FinishReason, Usage
from toolsearch.exceptions import PausedRunError
from toolsearch.messages import AssistantMessage, Message, ToolCall, ToolMessage

_HELD = (
    "This run is being resumed already. Wait for that to end; if the process that did so is gone, resume it "
    "with take_over=True."
)
_ENDED = (
    "This run was resumed before and went on from here, to its end or to another pause. Where it paused "
    "again, resume the paused_run of that response."
)
_LOST = "This run was taken over by another resume, which goes on with it. Look there for what comes of it."


@dataclass(frozen=True)
class NotedCall:
    """A call that has begun, with the arguments that it ran with, and its result where that is known."""

    call: ToolCall
    result: ToolMessage | None = None


class NotedRound(BaseModel):
    """A round, once it is known which of its calls run; what it says of the run holds by then.

    Attributes:
        answer: With the arguments that the calls run with.
        offered: Public names of the tools that it could call.
        results: Of the calls that were refused; of all of them once `is_done`.
        waiting: The calls to decide on.
        asked: Names of the advisors that let the others through.
        rounds, usage, elapsed_s, last: Of the run so far; limits go on from there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer: AssistantMessage
    offered: tuple[str, ...]
    results: tuple[ToolMessage, ...]
    waiting: tuple[WaitingCall, ...] = ()
    asked: tuple[str, ...] = ()
    rounds: int
    usage: Usage
    elapsed_s: float
    last: LimitBreach | None = None
    is_done: bool = False


@dataclass(frozen=True)
class OpenRound:
    """A round that has broken off, or paused: what is known of its calls.

    Attributes:
        answer, offered, results, waiting, asked: As in `NotedRound`.
        decisions: On calls that waited.
        noted: The calls that have begun, by id.
    """

    answer: AssistantMessage
    offered: tuple[str, ...]
    results: tuple[ToolMessage, ...]
    waiting: tuple[WaitingCall, ...]
    asked: tuple[str, ...] = ()
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    noted: Mapping[str, NotedCall] = field(default_factory=dict)


class NotedAnswer(BaseModel):
    """What the loop has answered, for the advisors outside of it: a response and its metadata.

    What only the inner advisors and the tools of that run knew is not in it, such as their exceptions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    message: AssistantMessage
    finish_reason: FinishReason
    usage: Usage
    model: str
    messages: tuple[Message, ...]
    rounds: int
    tool_results: tuple[ToolMessage, ...] | None
    limit: LimitBreach | None

    @classmethod
    def of(cls, response: ChatResponse) -> NotedAnswer:
        known = response.metadata
        return cls(
            message=response.message,
            finish_reason=response.finish_reason,
            usage=response.usage,
            model=response.model,
            messages=known["messages"],
            rounds=known["rounds"],
            tool_results=known.get("tool_results"),
            limit=known.get("limit"),
        )

    def response(self) -> ChatResponse:
        metadata: dict[str, Any] = {"messages": self.messages, "rounds": self.rounds, "tool_failures": ()}
        if self.tool_results is not None:
            metadata["tool_results"] = self.tool_results
        if self.limit is not None:
            metadata["limit"] = self.limit
        return ChatResponse(self.message, self.finish_reason, self.usage, self.model, metadata=metadata)


_CALL = TypeAdapter(NotedCall)
_ANSWER = "answer"


class RunRecord:
    """The notes on one resumed run, which it alone may write on until it is left.

    Rounds count from 0, the one that paused.

    Attributes:
        done: The rounds that came to their end before, in order.
        begun: What is noted of the one after them, of which not all calls have run.
        opened: That round, to go on with; None where the model has to be asked.
        answer: Of the run, where the loop came to its end before and an advisor outside of it failed.
    """

    def __init__(
        self, journal: CallJournal, resumed: Resumption, holder: str, notes: Mapping[str, str]
    ) -> None:
        self._journal = journal
        self._run_id = resumed.paused.id
        self._holder = holder
        rounds: list[NotedRound] = []
        while str(len(rounds)) in notes:
            rounds.append(NotedRound.model_validate_json(notes[str(len(rounds))]))
        self.done = tuple(noted for noted in rounds if noted.is_done)
        self.begun = None if len(rounds) == len(self.done) else rounds[-1]
        self._number = len(self.done)
        prefix = self._call_name("")
        calls = (_CALL.validate_json(text) for name, text in notes.items() if name.startswith(prefix))
        self.opened = self._open(resumed, {each.call.id: each for each in calls})
        text = notes.get(_ANSWER)
        self.answer = None if text is None else NotedAnswer.model_validate_json(text).response()

    async def note_round(self, noted: NotedRound) -> None:
        """Notes the round that is going on; after one that is done the next begins.

        Raises:
            PausedRunError: the run was taken over; so in all that follow.
        """
        await self._note(str(self._number), noted.model_dump_json())
        self._number += noted.is_done

    async def note_call(self, noted: NotedCall) -> None:
        """Notes a call of the round that is going on."""
        await self._note(self._call_name(noted.call.id), _CALL.dump_json(noted).decode())

    async def note_answer(self, response: ChatResponse) -> None:
        """Notes what the run has come to; a further pause comes about again from the notes on its round."""
        if response.finish_reason != "paused":
            await self._note(_ANSWER, NotedAnswer.of(response).model_dump_json())

    async def end(self) -> None:
        """Notes that the run came to its end or its next pause."""
        if not await asyncio.to_thread(self._journal.end, self._run_id, self._holder):
            raise PausedRunError(_LOST)

    async def _note(self, name: str, text: str) -> None:
        if not await asyncio.to_thread(self._journal.note, self._run_id, self._holder, name, text):
            raise PausedRunError(_LOST)

    def _call_name(self, call_id: str) -> str:
        return f"{self._number}/{call_id}"

    def _open(self, resumed: Resumption, noted: Mapping[str, NotedCall]) -> OpenRound | None:
        if self._number == 0:
            paused = resumed.paused
            return OpenRound(
                paused.answer,
                paused.offered,
                paused.results,
                paused.waiting,
                decisions=resumed.decisions,
                noted=noted,
            )
        begun = self.begun
        if begun is None:
            return None
        return OpenRound(begun.answer, begun.offered, begun.results, begun.waiting, begun.asked, noted=noted)


@asynccontextmanager
async def record_of(journal: CallJournal, resumed: Resumption | None) -> AsyncIterator[RunRecord | None]:
    """The record of a run that is resumed, for as long as this lasts; None of any other.

    Raises:
        PausedRunError: it is being resumed already, or has been.
    """
    if resumed is None:
        yield None
        return
    run_id, holder = resumed.paused.id, uuid4().hex
    taking = asyncio.create_task(asyncio.to_thread(journal.take, run_id, holder, over=resumed.take_over))
    try:
        # A thread that takes the run goes on when the run is cancelled: it has to be left after that.
        notes = await asyncio.shield(taking)
        if isinstance(notes, str):
            raise PausedRunError(_HELD if notes == "held" else _ENDED)
        yield RunRecord(journal, resumed, holder, notes)
    finally:
        (taken,) = await asyncio.gather(taking, return_exceptions=True)
        if isinstance(taken, Mapping):
            await asyncio.to_thread(journal.leave, run_id, holder)
