"""Whether the service lives, whether it can search, and what it has answered."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from toolsearch.api.base import Answered
from toolsearch.api.health import Alive, Places, Ready
from toolsearch.exceptions import NotReadyError
from toolsearch.server.asking import Administering
from toolsearch.server.metrics import CONTENT_TYPE
from toolsearch.server.service import Service

router = APIRouter(tags=["health"])


@router.head("/", include_in_schema=False)
@router.get("/", response_model=Places, summary="Where things are", operation_id="index")
async def index(request: Request) -> JSONResponse:
    """What else there is; it says nothing of the catalog, and takes no key."""
    service: Service = request.app.state.service
    return _told(Places(page="/ui" if service.settings.ui else None))


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", response_model=Alive, summary="Whether the process lives", operation_id="health")
async def health() -> JSONResponse:
    """It does, whatever else is busy."""
    return _told(Alive())


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=Ready, summary="Whether a search has an answer", operation_id="ready")
async def ready(request: Request) -> JSONResponse:
    """503 until the index is loaded, and when it does not answer any more.

    Of a PostgreSQL database it says whether that answers. Searches do without it, so they are ready all the
    same.
    """
    service: Service = request.app.state.service
    if not await service.catalog.answers():
        raise NotReadyError("The index does not answer.")
    if service.database is None:
        return _told(Ready())
    return _told(Ready(database="away" if service.database.is_away else "answers"))


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    operation_id="metrics",
    response_class=PlainTextResponse,
)
async def metrics(asking: Administering) -> Response:
    """Counts and times since the process began. It takes the scope ``admin``."""
    service = asking.service
    loaded = service.catalog.is_loaded
    gauges = {
        "toolsearch_ready": ("Whether an index is loaded.", float(loaded)),
        "toolsearch_tools": (
            "Tools in the catalog.",
            float(len(service.catalog.searcher.index)) if loaded else 0.0,
        ),
        "toolsearch_work": (
            "Requests that run or wait for a thread.",
            float(service.work.taken + service.changing.taken),
        ),
    }
    if service.database is not None:
        told = "Whether the database answered when it was last asked."
        gauges["toolsearch_database_up"] = (told, float(not service.database.is_away))
    return PlainTextResponse(service.metrics.text(gauges), media_type=CONTENT_TYPE)


def _told(told: Answered) -> JSONResponse:
    return JSONResponse(told.model_dump(exclude_none=True))
