"""`Advisor`: what stands between a caller and a chat model; and what the loop asks of some advisors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import BaseModel, ConfigDict, field_validator

from toolsearch.chat.base import ChatEvent, ChatRequest
from toolsearch.checks import shown
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
    """The call may run with these arguments instead; the conversation shows them as the call's own.

    They are those of a JSON object: a tuple becomes a list, and what JSON does not have is refused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["edit"] = "edit"
    arguments: JsonObject

    def __init__(self, arguments: JsonObject, **fields: Any) -> None:
        super().__init__(arguments=arguments, **fields)

    @field_validator("arguments")
    @classmethod
    def _as_json(cls, arguments: JsonObject) -> JsonObject:
        try:
            text = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
            text.encode()
        except (TypeError, ValueError, RecursionError) as exc:
            raise ValueError(f"they have no JSON form: {exc}") from exc
        plain: JsonObject = json.loads(text)
        return plain


class Deny(BaseModel):
    """The call must not run; the model is told `reason`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["deny"] = "deny"
    reason: str = ""

    def __init__(self, reason: str = "", **fields: Any) -> None:
        super().__init__(reason=reason, **fields)


class Wait(BaseModel):
    """Nobody has decided yet: the run pauses."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["wait"] = "wait"
    reason: str = ""

    def __init__(self, reason: str = "", **fields: Any) -> None:
        super().__init__(reason=reason, **fields)


Verdict: TypeAlias = Approve | Edit | Deny | Wait
"""What is to become of a call."""


def as_verdict(given: Any, what: str) -> Verdict:
    """`given`, where it is a verdict; `what` is the thing that errors name.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(given, Approve | Edit | Deny | Wait):
        told = shown(given) if not isinstance(given, type) else f"{shown(given)} itself"
        raise TypeError(f"{what} is {told}. Give Approve(), Edit(arguments={{...}}) or Deny(reason='...').")
    return given


@dataclass(frozen=True)
class PendingCall:
    """A call that is about to run: the tool is offered and the arguments are a JSON object."""

    call: ToolCall
    tool: Tool
    arguments: JsonObject
    context: ToolContext


@runtime_checkable
class CallGate(Protocol):
    """An advisor that decides on each call before it runs; the loop asks every one that is inside it.

    They are asked in their order, each about the arguments as those before it have left them: one that must
    have the last word has the highest order. After a pause the decision of the one that waited is there, and
    those that come after it are asked.
    """

    @property
    def name(self) -> str:
        """By which a paused run knows that it was asked."""

    async def review(self, pending: PendingCall) -> Verdict:
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
