"""`Advisor`: what stands between a caller and a chat model; and what the loop asks of some advisors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from toolsearch.chat.base import ChatEvent, ChatRequest
from toolsearch.messages import Message, ToolCall
from toolsearch.tools import JsonObject, Tool, ToolContext

if TYPE_CHECKING:
    from toolsearch.advisors.chain import AdvisorChain

MEMORY_OUTSIDE = 200
STRUCTURED_OUTPUT = 250
TOOL_CALLING = 300
APPROVAL = 350
TOOL_SEARCH = 400
MEMORY_INSIDE = 500
"""The usual orders: an advisor with a lower one is nearer to the caller, above 300 it is inside the loop."""


class Advisor(Protocol):
    """Wraps the rest of a chain. Safe to share between runs: what belongs to a run is local to `advise`."""

    @property
    def name(self) -> str:
        """For messages; decides between equal orders."""

    @property
    def order(self) -> int:
        """Lower is nearer to the caller."""

    def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        """An async generator: events as they come, at last exactly one `RunFinished` with the response.

        ``chain.next(request)`` runs the rest of the chain and gives such events too; an advisor hands them
        on, changes them, or calls it again, as the tool-calling loop does. `chain.closing` around it ends a
        stream that nobody reads on at once; without, that happens a moment later. Streaming or not is the
        chain's affair: there is only this one form.
        """


class Approve(BaseModel):
    """The call may run as the model asked for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["approve"] = "approve"


class Edit(BaseModel):
    """The call may run with these arguments instead; the conversation shows them as the call's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["edit"] = "edit"
    arguments: JsonObject


class Deny(BaseModel):
    """The call must not run; the model is told `reason`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["deny"] = "deny"
    reason: str = ""


class Wait(BaseModel):
    """Nobody has decided yet: the run pauses."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["wait"] = "wait"
    reason: str = ""


@dataclass(frozen=True)
class PendingCall:
    """A call that is about to run: the tool is offered and the arguments are a JSON object."""

    call: ToolCall
    tool: Tool
    arguments: JsonObject
    context: ToolContext


@runtime_checkable
class CallGate(Protocol):
    """An advisor that decides on each call before it runs; the loop asks every one that is inside it."""

    async def review(self, pending: PendingCall) -> Approve | Edit | Deny | Wait:
        """What to do with the call."""


@runtime_checkable
class HistoryKeeper(Protocol):
    """An advisor that brings the conversation into each round, so that the loop only sends what is new."""

    async def keep(self, messages: Sequence[Message], context: Mapping[str, Any]) -> None:
        """Stores what no further round will send: the end of a run without an answer of the model."""


def tool_context(context: Mapping[str, Any], call_id: str = "") -> ToolContext:
    """What the tools of a request are given, from its `context`: ``session_id``, ``tenant``, ``state``."""
    return ToolContext(
        session_id=context.get("session_id") or "",
        call_id=call_id,
        tenant=context.get("tenant") or "",
        state=context.get("state") or {},
    )
