"""Sessions seen from outside: which there are, and what each did round by round."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import ConfigDict

from toolsearch.api.base import Answered

EventKind: TypeAlias = Literal["search", "load", "forget", "call"]

_EVENT: dict[str, Any] = {
    "kind": "search",
    "at": 1796120000.5,
    "queries": ["refund an order"],
    "tools": ["shop__orders_refund"],
    "tokens": 84,
}
_ROUND: dict[str, Any] = {
    "number": 1,
    "at": 1796120000.0,
    "form": "openai_chat",
    "delivery": "append",
    "tools": ["tool_search"],
    "tokens": 252,
    "events": [_EVENT],
}


class SessionSummary(Answered):
    """A session that was in use; times are in seconds since 1970.

    Attributes:
        id: Of the session.
        rounds: How many it had.
        searches: How many it made.
        began_at, last_at: When it was first and last in use.
    """

    id: str
    rounds: int
    searches: int
    began_at: float
    last_at: float


class SessionPage(Answered):
    """Sessions, the one that was last in use first; `next_cursor` leads to those before.

    Attributes:
        kept: Whether the service keeps the rounds of sessions; without it there are none to see.
        sessions: Of this page.
        next_cursor: Leads to those before; None where there are none.
    """

    sessions: tuple[SessionSummary, ...]
    kept: bool = True
    next_cursor: str | None = None


class RoundEvent(Answered):
    """What happened in a round, with the tools that the caller may know of.

    Attributes:
        queries: What was searched for.
        tools: What was discovered, loaded, forgotten or called; none for a forget of everything.
        is_error: A search or call that could not be carried out.
        tokens: Of what a search told the model; None where that named tools which the caller does not see.
        kind: What it was.
        at: In seconds since 1970.
    """

    kind: EventKind
    at: float
    queries: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    is_error: bool = False
    tokens: int | None = None


class SessionRound(Answered):
    """A round: what the model was sent, and what came of it until the next list of tools was asked for.

    Attributes:
        number: From 1; 0 for what came before any list of tools.
        tools: Names of what was sent, in that order.
        tokens: Of their definitions, counted in the form of OpenAI's chat completions.
        at: In seconds since 1970.
        form: That the tools were written in.
        delivery: How discovered tools reach the model.
        events: What came of it, in its order.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [_ROUND]})

    number: int
    at: float
    form: str = ""
    delivery: str = ""
    tools: tuple[str, ...] = ()
    tokens: int = 0
    events: tuple[RoundEvent, ...] = ()


class SessionRounds(Answered):
    """The newest rounds of a session in their order, and what sending the whole catalog costs in each.

    Attributes:
        kept: As in `SessionPage`.
        rounds_total: How many lists of tools were asked for, with those that are not shown; what was searched
            for before the first one is round 0, which is not counted.
        session_id: Of the session.
        rounds: In their order.
        catalog_tools, catalog_tokens: How many tools the catalog has, and what all of them cost.
    """

    session_id: str
    kept: bool = True
    rounds_total: int = 0
    rounds: tuple[SessionRound, ...] = ()
    catalog_tools: int = 0
    catalog_tokens: int = 0
