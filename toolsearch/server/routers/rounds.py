"""Sessions seen from outside: which were in use, and what each did round by round."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from toolsearch.api.rounds import SessionPage, SessionRounds
from toolsearch.server.answers import MAX_NUMBER, Cursor, Known, answer, cursor_of, number_of, versioned
from toolsearch.server.asking import Searching
from toolsearch.server.rounds import rounds_of
from toolsearch.server.routers.sessions import SessionPath

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

EVENTS_READ = 1000


@router.get("", response_model=SessionPage, summary="List sessions", operation_id="list_sessions")
async def list_sessions(
    asking: Searching,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Cursor = None,
) -> Response:
    """The sessions of the tenant that asked for tools or searched, the last one first."""
    before = number_of(cursor, default=MAX_NUMBER)

    def page() -> SessionPage:
        recorder = asking.service.rounds
        found = recorder.sessions(asking.caller.tenant, before=before, limit=limit + 1)
        more = cursor_of(str(found[limit - 1][0])) if len(found) > limit else None
        sessions = tuple(summary for _, summary in found[:limit])
        return SessionPage(sessions=sessions, kept=recorder.store is not None, next_cursor=more)

    return answer(await asking.run(page))


@router.get(
    "/{session_id}/rounds",
    response_model=SessionRounds,
    summary="Watch a session",
    operation_id="session_rounds",
)
async def session_rounds(
    session_id: SessionPath,
    asking: Searching,
    limit: Annotated[int, Query(ge=1, le=500, description="The newest rounds.")] = 100,
    known: Known = None,
) -> Response:
    """What the session sent and found, round by round, with an ``ETag`` for asking again.

    A round begins with each list of tools that is asked for. Looking here changes nothing of the session.
    Tools that are gone, or that the caller may not know of, are left out.
    """

    def rounds() -> tuple[SessionRounds, str]:
        view = asking.visible()
        recorder = asking.service.rounds
        stored = recorder.events(asking.caller.tenant, session_id, limit=EVENTS_READ)
        named = {name for event in stored.events for name in event.names}
        shown = rounds_of(stored, view.tokens_of(named))[-limit:]
        found = SessionRounds(
            session_id=session_id,
            kept=recorder.store is not None,
            rounds_total=stored.rounds_total,
            rounds=shown,
            catalog_tools=len(view),
            catalog_tokens=view.tokens,
        )
        return found, f"{stored.last_id}.{limit}.{view.fingerprint}"

    found, version = await asking.run(rounds)
    return versioned(known, found, version)
