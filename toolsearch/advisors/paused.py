"""`PausedRun`: a run that waits for a decision, as JSON, and the request that resumes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from toolsearch.advisors.base import Approve, Deny, Edit, Wait, as_verdict
from toolsearch.advisors.held import HeldRun
from toolsearch.chat.base import ChatRequest, ToolChoice, Usage
from toolsearch.checks import shown
from toolsearch.exceptions import PausedRunError
from toolsearch.given import Tools, as_tools
from toolsearch.messages import AssistantMessage, Message, ToolCall, ToolMessage

RESUMPTION = "resumption"
"""Key of `ChatRequest.context` under which a request says which run it resumes."""

OFFERED = "toolsearch.offered"
"""Key of `ChatRequest.context` under which the repeated round of a resumed run says what it had offered."""

Decision: TypeAlias = Annotated[Approve | Edit | Deny, Field(discriminator="kind")]


class WaitingCall(BaseModel):
    """A call that nobody has decided on, and why it needs a decision.

    Attributes:
        call: With the arguments that it has by now.
        asked: Names of the advisors that have been asked about it, the last of which waits. The others have
            still to be asked once that is decided.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    call: ToolCall
    reason: str = ""
    asked: tuple[str, ...]


class PausedRun(BaseModel):
    """A run that waits for decisions: ``model_dump_json`` writes it, ``model_validate_json`` reads it.

    Tools, chain and ``context["state"]`` are not in it: the process that resumes brings its own. Whoever can
    change the JSON can change what runs; keep it where users cannot write.

    Attributes:
        id: Of this pause, by which a `CallJournal` knows what ran after it.
        waiting: The calls to decide on.
        messages: What the model was sent in the round that paused, as the loop knows it.
        answer: What it answered.
        offered: Public names of the tools that it could call.
        results: Of those calls of the answer that have run, or were refused. They never run again.
        added: What the run had added to the conversation before this answer.
        rounds, usage, elapsed_s: Of the run so far; limits go on from there.
        session_id, tenant: Of the request's context.
        tool_choice, max_tokens, options: Of the request.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    id: str = Field(default_factory=lambda: uuid4().hex)
    waiting: tuple[WaitingCall, ...]
    messages: tuple[Message, ...]
    answer: AssistantMessage
    offered: tuple[str, ...] = ()
    results: tuple[ToolMessage, ...] = ()
    added: tuple[Message, ...] = ()
    rounds: int
    usage: Usage
    elapsed_s: float
    session_id: str = ""
    tenant: str = ""
    tool_choice: ToolChoice = "auto"
    max_tokens: int | None = None
    options: dict[str, Any] = {}

    def resume(
        self,
        decisions: Mapping[str, Decision],
        *,
        tools: Tools = (),
        context: Mapping[str, Any] | None = None,
        take_over: bool = False,
    ) -> ChatRequest:
        """The request that goes on with this run: hand it to the chain as any other.

        Calls without a decision go on waiting: the run pauses again once the others have run, and goes on
        from the ``paused_run`` of that response.

        Args:
            decisions: By the id of the waiting call.
            tools: As in the request that paused.
            context: More for advisors and tools, such as ``state``.
            take_over: Whether to go on with a run that is being resumed elsewhere, which a process that was
                killed leaves behind. If it is alive after all, it ends with `PausedRunError` at its next step
                and no call runs twice; of one that it is running just then nobody knows the result here.

        Raises:
            TypeError: a decision that is none.
            PausedRunError: no decision, or one on a call that does not wait.
        """
        if not isinstance(decisions, Mapping):
            raise TypeError(
                f"decisions is {shown(decisions)}. Give a dict by the ids of calls: {{id: Approve()}}."
            )
        stray = tuple(decisions.keys() - {waiting.call.id for waiting in self.waiting})
        if stray:
            raise PausedRunError(
                f"No call {', '.join(map(repr, sorted(stray)))} is waiting; "
                f"there are {', '.join(repr(waiting.call.id) for waiting in self.waiting)}.",
                stray,
            )
        if not decisions:
            ids = tuple(waiting.call.id for waiting in self.waiting)
            raise PausedRunError(f"Decide on at least one of the calls {', '.join(map(repr, ids))}.", ids)
        for call_id, decision in decisions.items():
            if isinstance(as_verdict(decision, f"decisions[{call_id!r}]"), Wait):
                raise TypeError(f"decisions[{call_id!r}] is a Wait. Leave out what is not decided.")
        return ChatRequest(
            messages=self.messages,
            tools=as_tools(tools),
            tool_choice=self.tool_choice,
            max_tokens=self.max_tokens,
            options=self.options,
            context={
                **(context or {}),
                "session_id": self.session_id,
                "tenant": self.tenant,
                RESUMPTION: Resumption(self, dict(decisions), take_over),
            },
        )


@dataclass(frozen=True)
class Resumption:
    """A paused run and the decisions on it, within the context of the request that resumes it.

    Attributes:
        held: Where the loop leaves the run for the call of the chain to end; set by the chain.
    """

    paused: PausedRun
    decisions: Mapping[str, Decision]
    take_over: bool = False
    held: HeldRun | None = None


def resumption_of(request: ChatRequest) -> Resumption | None:
    """What the request resumes, if anything; an advisor adds nothing to the messages of such a request."""
    found = request.context.get(RESUMPTION)
    return found if isinstance(found, Resumption) else None
