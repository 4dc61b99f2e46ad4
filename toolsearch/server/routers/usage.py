"""Feedback on tools, and what a tenant has used."""

from __future__ import annotations

import time
from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from toolsearch.api.pins import PinList
from toolsearch.api.scopes import KeyScope
from toolsearch.api.usage import FeedbackBody, FeedbackEntry, FeedbackPage, UsageAnswer
from toolsearch.server.answers import Cursor, answer, cursor_of, number_of
from toolsearch.server.asking import Managing, Searching
from toolsearch.server.feedback import forget_feedback, kept_feedback, known_feedback
from toolsearch.server.pins import pins_of

router = APIRouter(prefix="/v1", tags=["usage"])


@router.post(
    "/feedback",
    response_model=FeedbackEntry,
    status_code=201,
    summary="Tell what became of a tool",
    operation_id="give_feedback",
)
async def give_feedback(feedback: FeedbackBody, asking: Searching) -> Response:
    """Kept for the tenant, and for no other. The tool must be one that the caller may know of.

    The text of the query is kept only if the service is set so. Where it learns from use, it learns from the
    query, or without one from the search by which the session found the tool.
    """

    return answer(await asking.run(kept_feedback, asking, feedback), 201)


@router.get("/feedback", response_model=FeedbackPage, summary="List feedback", operation_id="list_feedback")
async def list_feedback(
    asking: Searching,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    cursor: Cursor = None,
) -> Response:
    """The feedback of the tenant on tools that the caller may know of, the oldest first."""
    after = number_of(cursor)

    def page() -> FeedbackPage:
        known, last = known_feedback(asking, after=after, limit=limit)
        return FeedbackPage(feedback=known, next_cursor=cursor_of(str(last.id)) if last else None)

    return answer(await asking.run(page))


@router.delete("/feedback", status_code=204, summary="Drop feedback", operation_id="delete_feedback")
async def delete_feedback(
    request: Request,
    asking: Managing,
    tenant: Annotated[
        str | None,
        Query(max_length=128, description="Another than that of the key, for keys with scope admin."),
    ] = None,
) -> Response:
    """All feedback of the tenant, and all that was learned from it. It takes the scope ``manage``."""
    if tenant is not None and tenant != asking.caller.tenant:
        asking.caller.require(KeyScope.ADMIN)
    whose = asking.caller.tenant if tenant is None else tenant
    await asking.run(forget_feedback, asking, whose)
    request.state.subject = {"tenant": whose}
    return Response(status_code=204)


@router.get(
    "/usage/pins", response_model=PinList, summary="Tools that are worth pinning", operation_id="get_pins"
)
async def get_pins(
    asking: Searching,
    days: Annotated[int, Query(ge=1, le=3650, description="Look back so many days.")] = 30,
    rounds: Annotated[
        float | None, Query(ge=1, le=1000, description="Of a session; counted if left out.")
    ] = None,
    search_tokens: Annotated[
        float | None,
        Query(ge=1, le=1_000_000, description="What a search costs; counted if left out."),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """Those that so many sessions of the tenant call that sending them always costs less than searching."""
    since = time.time() - days * 24 * 3600.0
    found = await asking.run(
        pins_of, asking, since=since, rounds=rounds, search_tokens=search_tokens, limit=limit
    )
    return answer(found)


@router.get("/usage", response_model=UsageAnswer, summary="What was used", operation_id="get_usage")
async def get_usage(
    asking: Searching,
    since: Annotated[
        date | None, Query(description="The first day, in UTC; the first with any use if left out.")
    ] = None,
    until: Annotated[date | None, Query(description="The last day; today if left out.")] = None,
) -> Response:
    """Searches of the tenant by day, and the tokens that they returned and spared."""
    last = asking.service.usage.today() if until is None else until.isoformat()
    first = None if since is None else since.isoformat()
    usage = asking.service.usage
    return answer(await asking.run(usage.used, asking.caller.tenant, since=first, until=last))
