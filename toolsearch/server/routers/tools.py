"""The tools of the catalog: list, get, put, patch, delete, and many at once."""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request
from starlette.responses import Response, StreamingResponse

from toolsearch.api.tools import ToolEntry, ToolPage, UploadProgress, UploadReport
from toolsearch.catalog import tool_record
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import DefinitionError
from toolsearch.formats import FORMATS
from toolsearch.index.tool_index import ToolIndex
from toolsearch.server.answers import (
    LINES_TYPE,
    Conditional,
    Cursor,
    Known,
    answer,
    cursor_of,
    json_bytes,
    place_of,
    versioned,
)
from toolsearch.server.asking import Asking, Managing, Searching
from toolsearch.server.audit import uploaded
from toolsearch.server.changes import (
    Doomed,
    Upload,
    change,
    changed,
    check_any,
    check_complete,
    read_definition,
    read_upload,
    report,
)
from toolsearch.server.listing import listed_rows
from toolsearch.server.problems import problem_response
from toolsearch.server.visible import Visible
from toolsearch.tools import JsonObject, Tool

router = APIRouter(prefix="/v1/tools", tags=["tools"])

MAX_PAGE = 500

ToolNamePath = Annotated[str, Path(max_length=200, description="A public name.")]
_EXAMPLE = {
    "name": "send_email",
    "server": "mail",
    "description": "Send an email to one or more people.",
    "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}},
}
Definition = Annotated[
    dict[str, Any],
    Body(description="A definition in any form that catalogs may have.", examples=[_EXAMPLE]),
]
UPLOAD_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            LINES_TYPE: {"schema": {"type": "string"}, "example": '{"name": "ping", "description": "…"}\n'},
            "application/json": {"schema": {}, "example": {"tools": [_EXAMPLE]}},
        },
    },
    "responses": {"200": {"content": {LINES_TYPE: {"schema": {"type": "string"}}}}},
}


@router.get("", response_model=ToolPage, summary="List tools", operation_id="list_tools")
async def list_tools(
    asking: Searching,
    *,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100,
    cursor: Cursor = None,
    source: Annotated[str | None, Query(max_length=200)] = None,
    tag: Annotated[str | None, Query(max_length=200)] = None,
    text: Annotated[
        str | None,
        Query(max_length=200, description="Only tools whose names, texts, tags or arguments have it."),
    ] = None,
) -> Response:
    """Tools in the order of their names. What is added or removed meanwhile moves no tool out of a page."""

    def page() -> ToolPage:
        view = asking.visible()
        return _page(view, listed_rows(view, source=source, tag=tag, text=text), limit, cursor)

    return answer(await asking.run(page))


@router.post(
    "/bulk",
    response_model=UploadReport,
    summary="Put many tools",
    operation_id="put_tools",
    openapi_extra=UPLOAD_BODY,
)
async def put_tools(
    request: Request,
    asking: Managing,
    conditions: Conditional,
    *,
    source: Annotated[str, Query(max_length=200, description="Of definitions that name none.")] = "",
) -> Response:
    """Add the tools of JSON Lines, or of one JSON value, or put them in place of their namesakes.

    With ``Accept: application/x-ndjson`` the answer is lines that tell how far it is; the last has
    the report. ``If-Match`` and ``If-None-Match`` with the ``ETag`` of the catalog are heeded.
    """

    def checked(index: ToolIndex) -> tuple[str, ...]:
        conditions.check(Visible(index, asking.caller.rule).fingerprint, FORMATS)
        return ()

    return await upload(request, asking, checked, source=source, is_whole=False)


@router.get("/{name}", response_model=ToolEntry, summary="Get a tool", operation_id="get_tool")
async def get_tool(name: ToolNamePath, asking: Searching, known: Known = None) -> Response:
    """The tool, and its version as ``ETag``."""
    entry = await asking.run(_entry_named, asking.visible(), name)
    return versioned(known, entry, entry.digest)


@router.put(
    "/{name}",
    response_model=ToolEntry,
    responses={201: {"model": ToolEntry, "description": "There was no such tool."}},
    summary="Put a tool",
    operation_id="put_tool",
)
async def put_tool(
    name: ToolNamePath, definition: Definition, asking: Managing, conditions: Conditional
) -> Response:
    """Add the tool, or put it in place of its namesake: 201 or 200.

    Source and name of the definition must make this public name, and nothing of it may have to be mended.
    ``If-Match`` and ``If-None-Match: *`` are heeded.
    """

    def put() -> tuple[ToolEntry, bool]:
        tool = _named(read_definition(definition), name)
        asking.check_may_change(tool)

        def checked(index: ToolIndex) -> tuple[str, ...]:
            # First, as the version of a tool tells what it holds to whoever guesses that.
            asking.check_may_replace(index, (tool,))
            row = index.row_of(name)
            conditions.check(None if row is None else Visible(index, asking.caller.rule).digest(row))
            return ()

        older, newer = asking.service.catalog.change(change((tool,), doomed=checked))
        return _entry_named(Visible(newer, asking.caller.rule), name), older.row_of(name) is None

    entry, is_new = await asking.change(put)
    return answer(entry, 201 if is_new else 200, {"ETag": f'"{entry.digest}"'})


@router.patch("/{name}", response_model=ToolEntry, summary="Change a tool", operation_id="patch_tool")
async def patch_tool(
    name: ToolNamePath, patch: Definition, asking: Managing, conditions: Conditional
) -> Response:
    """Change parts of the definition in our own form, by the rules of JSON Merge Patch (RFC 7396)."""

    def patched() -> ToolEntry:
        asking.check_may_change()

        def make(index: ToolIndex, embedder: Embedder) -> ToolIndex:
            view = Visible(index, asking.caller.rule)
            row = view.row(name)
            conditions.check(view.digest(row))
            older = tool_record(view.tool(name))
            tool = _named(read_definition(_merged(older, patch), older=older), name)
            asking.check_may_change(tool)
            return changed(index, embedder, (tool,))

        _, newer = asking.service.catalog.change(make)
        return _entry_named(Visible(newer, asking.caller.rule), name)

    entry = await asking.change(patched)
    return answer(entry, headers={"ETag": f'"{entry.digest}"'})


@router.delete("/{name}", status_code=204, summary="Delete a tool", operation_id="delete_tool")
async def delete_tool(name: ToolNamePath, asking: Managing, conditions: Conditional) -> Response:
    """Take the tool out of the catalog. ``If-Match`` is heeded."""

    def delete() -> None:
        def doomed(index: ToolIndex) -> tuple[str, ...]:
            view = Visible(index, asking.caller.rule)
            conditions.check(view.digest(view.row(name)))
            return (name,)

        asking.check_may_change()
        asking.service.catalog.change(change((), doomed=doomed))

    await asking.change(delete)
    return Response(status_code=204)


async def upload(
    request: Request,
    asking: Asking,
    doomed: Doomed,
    *,
    source: str = "",
    is_whole: bool = True,
    of_source: bool = False,
) -> Response:
    """Change the catalog to what the body says: at once, or told line by line where that is asked for.

    With `is_whole` nothing is changed unless the whole of the body can be used, as what it lacks is to go.
    `doomed` also checks the version of what is there.
    The answer has the new version of the catalog, or with `of_source` that of the source.
    """
    data: bytes = request.state.body
    is_lines = request.headers.get("content-type", "").partition(";")[0].strip() != "application/json"

    versions: list[str | None] = []

    def work(tell: Callable[[UploadProgress], None]) -> UploadReport:
        asking.check_may_change()
        read = read_upload(data, is_lines=is_lines, source=source)
        tell(UploadProgress(stage="read", done=len(read.tools), total=read.n_read))
        asking.check_may_change(*read.tools)
        if is_whole:
            check_complete(read, data)
        else:
            check_any(read)
        done, view = _uploaded(asking, read, doomed, tell)
        versions.append(view.fingerprint_of(source) if of_source else view.fingerprint)
        return done

    if LINES_TYPE not in request.headers.get("accept", ""):
        done = await asking.change_long(work, _silent)
        request.state.subject = uploaded(done)
        (version,) = versions
        return answer(done, headers=None if version is None else {"ETag": f'"{version}"'})
    request.state.told_status = None
    return StreamingResponse(_told(request, asking, work), media_type=LINES_TYPE)


def _uploaded(
    asking: Asking, read: Upload, doomed: Doomed, tell: Callable[[UploadProgress], None]
) -> tuple[UploadReport, Visible]:
    def embedding(done: int, total: int) -> None:
        tell(UploadProgress(stage="embed", done=done, total=total))

    def saving() -> None:
        tell(UploadProgress(stage="save"))

    def checked(index: ToolIndex) -> Iterable[str]:
        asking.check_may_replace(index, read.tools)
        return doomed(index)

    older, newer = asking.service.catalog.change(
        change(read.tools, doomed=checked, progress=embedding), on_save=saving
    )
    view = Visible(newer, asking.caller.rule)
    return report(read, older, newer, view.fingerprint), view


async def _told(
    request: Request, asking: Asking, work: Callable[[Callable[[UploadProgress], None]], UploadReport]
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[UploadProgress | None] = asyncio.Queue()

    def tell(progress: UploadProgress) -> None:
        loop.call_soon_threadsafe(lines.put_nowait, progress)

    async def worked() -> None:
        try:
            done = await asking.change_long(work, tell)
            told = UploadProgress(stage="done", report=done)
            request.state.subject, request.state.told_status = uploaded(done), 200
        except Exception as exc:  # noqa: BLE001 - the status is sent, so the last line says what went wrong
            response = problem_response(exc, request_id=asking.request_id)
            told = UploadProgress(stage="failed", problem=_json(response))
            request.state.told_status = response.status_code
        lines.put_nowait(told)
        lines.put_nowait(None)

    task = asyncio.create_task(worked())
    while (progress := await lines.get()) is not None:
        yield json_bytes(progress) + b"\n"
    await task


def _silent(progress: UploadProgress) -> None:
    del progress


def _json(response: Response) -> JsonObject:
    problem: JsonObject = json.loads(bytes(response.body))
    return problem


def _page(view: Visible, rows: list[int], limit: int, cursor: str | None) -> ToolPage:
    names = view.index.columns.names
    begin = bisect_right(rows, place_of(cursor), key=names.__getitem__) if cursor else 0
    shown = rows[begin : begin + limit]
    more = begin + limit < len(rows)
    return ToolPage(
        tools=tuple(_entry(view, row) for row in shown),
        total=len(rows),
        next_cursor=cursor_of(names[shown[-1]]) if more else None,
    )


def _entry(view: Visible, row: int) -> ToolEntry:
    tool = view.index.tool(row)
    tokens = int(view.index.columns.tokens[row])
    return ToolEntry(name=tool.name, digest=view.digest(row), tokens=tokens, definition=tool_record(tool))


def _entry_named(view: Visible, name: str) -> ToolEntry:
    return _entry(view, view.row(name))


def _named(tool: Tool, name: str) -> Tool:
    if tool.name != name:
        raise DefinitionError(
            tool.name, f"its source and name make the public name {tool.name!r}, and the path has {name!r}."
        )
    return tool


def _merged(record: Any, patch: Any) -> Any:
    """RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(record) if isinstance(record, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
