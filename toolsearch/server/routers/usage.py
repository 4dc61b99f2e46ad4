"""Feedback on tools, and what a tenant has used."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from toolsearch.api.usage import FeedbackBody, FeedbackEntry, FeedbackPage, UsageAnswer
from toolsearch.exceptions import RequestRefusedError
from toolsearch.server.answers import answer, cursor_of, place_of
from toolsearch.server.asking import Searching

router = APIRouter(prefix="/v1", tags=["usage"])

_FIRST_DAY = date(2020, 1, 1)


@router.post(
    "/feedback",
    response_model=FeedbackEntry,
    status_code=201,
    summary="Tell what became of a tool",
    operation_id="give_feedback",
)
async def give_feedback(feedback: FeedbackBody, asking: Searching) -> Response:
    """Kept for the tenant, and for no other. The tool must be one that the caller may know of."""

    def kept() -> FeedbackEntry:
        asking.visible().row(feedback.tool)
        return asking.service.records.add_feedback(asking.caller.tenant, feedback)

    return answer(await asking.run(kept), 201)


@router.get("/feedback", response_model=FeedbackPage, summary="List feedback", operation_id="list_feedback")
async def list_feedback(
    asking: Searching,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> Response:
    """The feedback of the tenant, the oldest first."""
    place = place_of(cursor) or "0"
    if not (place.isascii() and place.isdecimal() and len(place) < 19):
        raise RequestRefusedError("The cursor is none of this list. Begin without one.")

    def page() -> FeedbackPage:
        found = asking.service.records.feedback(asking.caller.tenant, after=int(place), limit=limit + 1)
        more = cursor_of(str(found[limit - 1].id)) if len(found) > limit else None
        names = asking.visible().names
        shown = tuple(entry for entry in found[:limit] if entry.tool in names)
        return FeedbackPage(feedback=shown, next_cursor=more)

    return answer(await asking.run(page))


@router.get("/usage", response_model=UsageAnswer, summary="What was used", operation_id="get_usage")
async def get_usage(
    asking: Searching,
    since: Annotated[date, Query(description="The first day, in UTC.")] = _FIRST_DAY,
    until: Annotated[date | None, Query(description="The last day; today if left out.")] = None,
) -> Response:
    """Searches of the tenant by day, and the tokens that they returned and spared."""
    last = asking.service.usage.today() if until is None else until.isoformat()
    usage = asking.service.usage
    return answer(await asking.run(usage.used, asking.caller.tenant, since=since.isoformat(), until=last))
