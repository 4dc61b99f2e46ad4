"""Catalogs and the sources in them. There is one catalog now; its name is in every path all the same."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from toolsearch.api.base import Form
from toolsearch.api.tools import (
    CatalogEntry,
    CatalogList,
    Definitions,
    SourceEntry,
    SourceList,
    TagEntry,
    TagList,
    UploadReport,
)
from toolsearch.exceptions import UnknownResourceError
from toolsearch.formats import FORMATS
from toolsearch.index.tool_index import ToolIndex
from toolsearch.server.answers import Conditional, Known, answer, version_in, versioned
from toolsearch.server.asking import Administering, Asking, Managing, Searching
from toolsearch.server.changes import change
from toolsearch.server.routers.tools import UPLOAD_BODY, upload
from toolsearch.server.visible import Visible
from toolsearch.server.written import served_tools

router = APIRouter(prefix="/v1", tags=["catalogs"])

CatalogPath = Annotated[str, Path(max_length=200, examples=["default"])]
SourcePath = Annotated[
    str,
    Path(
        max_length=200,
        examples=["mail"],
        description="Slashes in it may be escaped; empty for the tools that have no source.",
    ),
]


@router.get("/catalogs", response_model=CatalogList, summary="List catalogs", operation_id="list_catalogs")
async def list_catalogs(asking: Searching) -> Response:
    """The catalogs, as far as the caller may know of them."""
    return answer(CatalogList(catalogs=(await asking.run(_catalog, asking),)))


@router.get(
    "/catalogs/{catalog}", response_model=CatalogEntry, summary="Get a catalog", operation_id="get_catalog"
)
async def get_catalog(catalog: CatalogPath, asking: Searching, known: Known = None) -> Response:
    """What is in it. Its ``ETag`` changes with any tool that the caller may know of, and with no other."""
    check_catalog(asking, catalog)
    entry = await asking.run(_catalog, asking)
    return versioned(known, entry, entry.fingerprint)


@router.get(
    "/catalogs/{catalog}/tools",
    response_model=Definitions,
    summary="Get all definitions",
    operation_id="get_definitions",
)
async def get_definitions(
    catalog: CatalogPath, asking: Searching, form: Form = "own", known: Known = None
) -> Response:
    """Every definition in a form, with the ``ETag`` of the catalog in that form."""
    check_catalog(asking, catalog)

    def written(view: Visible) -> Definitions:
        tools = [view.index.tool(row) for row in view.rows.tolist()]
        return Definitions(form=form, tools=served_tools(tools, form), tokens=view.tokens)

    view = asking.visible()
    version = await asking.run(lambda: version_in(form, view.fingerprint))
    return versioned(known, await asking.run(written, view), version)


@router.put(
    "/catalogs/{catalog}/tools",
    response_model=UploadReport,
    summary="Replace a catalog",
    operation_id="put_catalog",
    openapi_extra=UPLOAD_BODY,
)
async def put_catalog(
    catalog: CatalogPath, request: Request, asking: Managing, conditions: Conditional
) -> Response:
    """Have the catalog hold exactly these tools, of those that the caller may know of.

    ``If-Match`` and ``If-None-Match`` with the ``ETag`` of the catalog, also in a form, are heeded. The
    answer has the new one.
    """
    check_catalog(asking, catalog)

    def doomed(index: ToolIndex) -> frozenset[str]:
        view = Visible(index, asking.caller.rule)
        conditions.check(view.fingerprint, FORMATS)
        return view.names

    return await upload(request, asking, doomed)


@router.post(
    "/catalogs/{catalog}/reload",
    response_model=CatalogEntry,
    summary="Load a catalog again",
    operation_id="reload_catalog",
)
async def reload_catalog(catalog: CatalogPath, asking: Administering) -> Response:
    """Read the index folder again. Requests that run finish with what was there before."""
    check_catalog(asking, catalog)
    await asking.change(asking.service.catalog.load)
    return answer(await asking.run(_catalog, asking))


@router.get("/sources", response_model=SourceList, summary="List sources", operation_id="list_sources")
async def list_sources(asking: Searching) -> Response:
    """The sources that have any tool, by name."""
    view = asking.visible()
    return answer(await asking.run(lambda: SourceList(sources=tuple(_source(view, n) for n in view.sources))))


@router.get("/tags", response_model=TagList, summary="List tags", operation_id="list_tags")
async def list_tags(asking: Searching) -> Response:
    """The tags that any tool has, by name."""
    view = asking.visible()

    def listed() -> TagList:
        return TagList(tags=tuple(TagEntry(name=tag, tools=len(rows)) for tag, rows in view.tags.items()))

    return answer(await asking.run(listed))


@router.get(
    "/sources/{source:path}", response_model=SourceEntry, summary="Get a source", operation_id="get_source"
)
async def get_source(source: SourcePath, asking: Searching, known: Known = None) -> Response:
    """How many tools a source has, and what sending them costs. Its ``ETag`` changes with any of them."""
    entry = await asking.run(_source, asking.visible(), source)
    return versioned(known, entry, entry.fingerprint)


@router.put(
    "/sources/{source:path}",
    response_model=UploadReport,
    summary="Replace the tools of a source",
    operation_id="put_source",
    openapi_extra=UPLOAD_BODY,
)
async def put_source(
    source: SourcePath,
    request: Request,
    asking: Managing,
    conditions: Conditional,
) -> Response:
    """Have the source hold exactly these tools. Definitions that name another source belong to that one.

    ``If-Match`` and ``If-None-Match`` with the ``ETag`` of the source are heeded. The answer has the new one.
    """

    def doomed(index: ToolIndex) -> tuple[str, ...]:
        view = Visible(index, asking.caller.rule)
        conditions.check(view.fingerprint_of(source))
        return _names_of(view, source)

    return await upload(request, asking, doomed, source=source, of_source=True)


@router.delete(
    "/sources/{source:path}", status_code=204, summary="Delete a source", operation_id="delete_source"
)
async def delete_source(source: SourcePath, asking: Managing, conditions: Conditional) -> Response:
    """Take all tools of the source out of the catalog. ``If-Match`` is heeded."""

    def doomed(index: ToolIndex) -> tuple[str, ...]:
        view = Visible(index, asking.caller.rule)
        names = _names_of(view, source)
        if not names:
            raise UnknownResourceError("source", source)
        conditions.check(view.fingerprint_of(source))
        return names

    asking.check_may_change()
    await asking.change(asking.service.catalog.change, change((), doomed=doomed))
    return Response(status_code=204)


def check_catalog(asking: Asking, catalog: str) -> None:
    """Does nothing where there is a catalog of that name.

    Raises:
        UnknownResourceError: there is none.
    """
    if catalog != asking.service.catalog.name:
        raise UnknownResourceError("catalog", catalog)


def _catalog(asking: Asking) -> CatalogEntry:
    view = asking.visible()
    return CatalogEntry(
        name=asking.service.catalog.name,
        fingerprint=view.fingerprint,
        tools=len(view),
        tokens=view.tokens,
        sources=tuple(view.sources),
        embedder_id=view.index.embedder_id,
        vectors=view.index.vectors.kind,
    )


def _source(view: Visible, source: str) -> SourceEntry:
    rows = view.sources.get(source)
    fingerprint = view.fingerprint_of(source)
    if rows is None or fingerprint is None:
        raise UnknownResourceError("source", source)
    tokens = int(view.index.columns.tokens[rows].sum())
    return SourceEntry(name=source, fingerprint=fingerprint, tools=len(rows), tokens=tokens)


def _names_of(view: Visible, source: str) -> tuple[str, ...]:
    rows = view.sources.get(source)
    return () if rows is None else tuple(view.index.columns.names[row] for row in rows.tolist())
