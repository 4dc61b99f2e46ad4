"""Which tools to pin, from what the sessions of a tenant have called."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice
from statistics import fmean

from toolsearch.api.pins import Pin, PinList
from toolsearch.discovery.pins import ROUNDS, SEARCH_TOKENS, suggest_pins
from toolsearch.server.answers import MAX_NUMBER
from toolsearch.server.asking import Asking
from toolsearch.server.feedback import latest_feedback
from toolsearch.server.visible import Visible

CALLS = frozenset({"called", "succeeded", "failed"})

_SESSIONS_READ = 200
_EVENTS_READ = 200
_FEEDBACK_READ = 50_000


@dataclass
class _Seen:
    """What sessions did."""

    called: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    rounds: list[int] = field(default_factory=list)
    search_tokens: list[int] = field(default_factory=list)


def pins_of(
    asking: Asking, *, since: float, rounds: float | None, search_tokens: float | None, limit: int
) -> PinList:
    """The tools to pin, of those that the caller may know of and that are not pinned yet.

    Counted are sessions that the latest feedback since `since` names, and the latest ones whose rounds are
    kept; of those only the ones with any tool that the caller may know of, where there are others.
    """
    seen = _Seen()
    view = asking.visible()
    _read_feedback(asking, view, since, seen)
    _read_rounds(asking, view, since, seen)
    a_session = rounds or (max(fmean(seen.rounds), 1.0) if seen.rounds else ROUNDS)
    a_search = search_tokens or (fmean(seen.search_tokens) if seen.search_tokens else SEARCH_TOKENS)
    columns = view.index.columns
    tokens = {
        columns.names[row]: int(columns.tokens[row])
        for row in view.rows.tolist()
        if not columns.facts["pinned"][row]
    }
    found = suggest_pins(seen.called.values(), tokens, rounds=a_session, search_tokens=a_search)
    pins = tuple(
        Pin(
            name=pin.name,
            sessions=pin.sessions,
            share=round(pin.share, 4),
            least_share=round(pin.least_share, 4),
            tokens=pin.tokens,
            gain_tokens=round(pin.gain_tokens, 1),
        )
        for pin in found[:limit]
    )
    return PinList(
        sessions=len(seen.called), rounds=round(a_session, 2), search_tokens=round(a_search, 1), pins=pins
    )


def _read_feedback(asking: Asking, view: Visible, since: float, seen: _Seen) -> None:
    for entry in islice(latest_feedback(asking, since=since), _FEEDBACK_READ):
        if entry.session_id and entry.outcome in CALLS and _is_known(view, entry.tool):
            seen.called[entry.session_id].add(entry.tool)


def _read_rounds(asking: Asking, view: Visible, since: float, seen: _Seen) -> None:
    tenant, recorder = asking.caller.tenant, asking.service.rounds
    for _, session in recorder.sessions(tenant, before=MAX_NUMBER, limit=_SESSIONS_READ):
        if session.last_at < since:
            continue
        events = recorder.events(tenant, session.id, limit=_EVENTS_READ).events
        if view.mask is not None and not any(name in view.names for event in events for name in event.names):
            continue
        if session.rounds:
            seen.rounds.append(session.rounds)
        called = seen.called[session.id]
        for event in events:
            if event.kind == "call":
                called.update(name for name in event.names if _is_known(view, name))
            elif event.kind == "search" and event.tokens and all(_is_known(view, n) for n in event.names):
                seen.search_tokens.append(event.tokens)


def _is_known(view: Visible, name: str) -> bool:
    """Whether the caller may know of a tool, which may be gone."""
    return view.mask is None or name in view.names
