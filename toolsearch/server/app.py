"""`create_app`: the service as an ASGI application."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from toolsearch import __version__
from toolsearch.embedders.base import Embedder, warm_up
from toolsearch.given import Tools
from toolsearch.index.tool_index import ToolIndex
from toolsearch.rerankers.base import Reranker
from toolsearch.server.settings import ServerSettings

if TYPE_CHECKING:
    from fastapi import FastAPI, Request
    from starlette.responses import Response

    from toolsearch.server.proxy.upstream import Upstream


def create_app(
    index: ToolIndex | Path | str | None,
    settings: ServerSettings | None = None,
    *,
    embedder: Embedder | None = None,
    tools: Tools = (),
    read_settings: Callable[[], ServerSettings] | None = None,
    reranker: Reranker | None = None,
    own_process: bool = False,
) -> FastAPI:
    """An application that answers from `index`, which is loaded when it starts.

    Args:
        index: The folder of an index, or one in memory, whose changes are lost with the process. With a
            PostgreSQL database it fills an empty catalog; None for the catalog that is there.
        embedder: The one that the index was built with; by default what the settings name.
        tools: What may be called over HTTP; none by default.
        read_settings: Reads the settings again on a reload, where limits and keys may have changed.
        reranker: By default what the settings name.
        own_process: Whether nothing else runs in this process: then the garbage collector leaves alone what
            was there when the index was loaded.

    Raises:
        ImportError: the extra ``server`` is not installed, or ``postgres`` where the database needs it.
        RerankerError: the reranker of the settings cannot be loaded.
        ServerSettingsError: it would be open to everybody in the network, or has nothing to serve.
        DatabaseError, StoreError, sqlite3.Error: the database cannot be used.
    """
    settings = settings or ServerSettings()
    embedder = embedder or _embedder(settings.embedder)
    # Beside what follows: to build the application takes as long as to load the encoder.
    threading.Thread(target=_warmed_up, args=(embedder,), name="toolsearch-warm-up", daemon=True).start()
    try:
        from fastapi import Depends
        from fastapi.exceptions import RequestValidationError
        from starlette.exceptions import HTTPException
        from starlette.middleware.cors import CORSMiddleware
    except ImportError as exc:
        raise ImportError("The service needs FastAPI. Install it: pip install 'toolsearch[server]'") from exc

    from toolsearch.exceptions import ToolSearchError
    from toolsearch.server.audit import Audit
    from toolsearch.server.current import CurrentSettings
    from toolsearch.server.document import DescribedApi, problems
    from toolsearch.server.edge import REQUEST_ID, Edge
    from toolsearch.server.idempotency import REPLAYED, Idempotency
    from toolsearch.server.parameters import check_parameters
    from toolsearch.server.proxy.providers import providers_of
    from toolsearch.server.routers import (
        calls,
        catalogs,
        handling,
        health,
        keys,
        lint,
        rounds,
        search,
        sessions,
        usage,
    )
    from toolsearch.server.routers import tools as tools_router
    from toolsearch.server.service import Service

    given = Path(index) if isinstance(index, str) else index
    if reranker is None and settings.rerank:
        reranker = _reranker(settings.rerank)
    current = CurrentSettings(settings, read_settings)
    service = Service.open(given, current, embedder, tools, reranker=reranker, own_process=own_process)

    providers = providers_of(settings)
    upstream = _upstream(settings) if providers else None

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service.running(), nullcontext() if upstream is None else aclosing(upstream):
            yield

    app = DescribedApi(
        title="toolsearch",
        version=__version__,
        description="Finds the tools that serve a request, and keeps what conversations have discovered.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        responses=problems(),
        dependencies=[Depends(check_parameters)],
    )
    app.state.service = service
    for kind in (HTTPException, RequestValidationError, ToolSearchError):
        app.add_exception_handler(kind, _told)
    resources = [health, search, tools_router, catalogs, lint, sessions, handling, rounds, usage, keys]
    if service.callable_tools:
        resources.append(calls)
    for resource in resources:
        app.include_router(resource.router)
    if settings.ui:
        from toolsearch.server.routers import page

        app.include_router(page.router)
    # The last one added is the first to be passed.
    app.add_middleware(Idempotency, records=service.records)
    if upstream is not None:
        from toolsearch.server.proxy.proxies import Proxies

        app.add_middleware(Proxies, service=service, providers=providers, upstream=upstream)
    app.add_middleware(
        Edge,
        settings=current,
        keys=service.keys,
        metrics=service.metrics,
        providers=providers,
        audit=Audit([route for resource in resources for route in resource.router.routes]),
    )
    if settings.allow_origin:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allow_origin,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match"],
            expose_headers=["ETag", "Retry-After", REQUEST_ID, REPLAYED],
        )
    return app


async def _told(request: Request, error: Exception) -> Response:
    """The problem document of any error that a request ends with."""
    from toolsearch.server.explained import explained
    from toolsearch.server.problems import problem_response

    return problem_response(explained(request, error), request_id=request.state.request_id)


def _warmed_up(embedder: Embedder) -> None:
    # What keeps it from being loaded is told by the load of the index, whose first search needs it.
    with contextlib.suppress(Exception):
        warm_up(embedder)


def _reranker(spec: str) -> Reranker:
    from toolsearch.rerankers.load import load_reranker

    reranker = load_reranker(spec)
    # What cannot be loaded ends the start, rather than each search going without.
    reranker.scores("search tools", ["search tools"])
    return reranker


def _upstream(settings: ServerSettings) -> Upstream:
    from toolsearch.server.proxy.upstream import Upstream

    return Upstream(settings)


def _embedder(spec: str) -> Embedder:
    from toolsearch.embedders.load import load_embedder

    return load_embedder(spec or "default")
