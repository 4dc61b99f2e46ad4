"""What is wrong with the definitions of a catalog."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from toolsearch.api.lint import LintFinding, LintPage, LintSeverity
from toolsearch.server.answers import Cursor, Known, cursor_of, number_of, versioned
from toolsearch.server.asking import Searching
from toolsearch.server.linting import Linted
from toolsearch.server.routers.catalogs import CatalogPath, check_catalog

router = APIRouter(prefix="/v1/catalogs", tags=["catalogs"])


@router.get("/{catalog}/lint", response_model=LintPage, summary="Lint a catalog", operation_id="lint_catalog")
async def lint_catalog(
    catalog: CatalogPath,
    asking: Searching,
    *,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    cursor: Cursor = None,
    severity: Annotated[LintSeverity | None, Query(description="Only findings of this one.")] = None,
    code: Annotated[str | None, Query(max_length=100, description="Only findings of this rule.")] = None,
    tool: Annotated[str | None, Query(max_length=200, description="Only findings of this tool.")] = None,
    self_retrieval: Annotated[
        bool, Query(description="Also search for each tool by its own description, which takes longer.")
    ] = False,
    known: Known = None,
) -> Response:
    """What lint says of the tools that the caller may know of; other tools count for nothing in it.

    A catalog is looked at once as long as it stays the same. A large one may take longer than a request
    may (504); asking again waits for what was begun (429 with ``Retry-After`` meanwhile).
    """
    check_catalog(asking, catalog)
    begin = number_of(cursor)
    view = asking.visible()
    linter = asking.service.linter
    linted: Linted = await asking.run(linter.linted, view, self_retrieval=self_retrieval)

    def page() -> tuple[LintPage, str]:
        wanted = [
            finding
            for finding in linted.findings
            if severity in {None, finding.severity}
            and code in {None, finding.code}
            and tool in {None, finding.tool}
        ]
        shown = wanted[begin : begin + limit]
        more = begin + limit < len(wanted)
        found = LintPage(
            findings=tuple(LintFinding(**finding.to_json()) for finding in shown),
            tools=len(view),
            total=len(wanted),
            severities=linted.severities,
            codes=linted.codes,
            next_cursor=cursor_of(str(begin + limit)) if more else None,
        )
        # The address is part of what a client keeps a version for.
        return found, f"lint.{view.fingerprint}"

    found, version = await asking.run(page)
    return versioned(known, found, version)
