"""Searching: one request, or a batch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fastapi import APIRouter
from starlette.responses import Response

from toolsearch.api.problem import Problem
from toolsearch.api.search import BatchAnswer, BatchItem, BatchQuery, Hit, SearchAnswer, SearchQuery
from toolsearch.exceptions import SearchRequestError, ToolSearchError
from toolsearch.formats.bounded import bounded
from toolsearch.retrieval.base import ScoredTool, SearchRequest, SearchResult
from toolsearch.retrieval.searcher import neutral_notice
from toolsearch.server.answers import answer
from toolsearch.server.asking import Asking, Searching
from toolsearch.server.problems import problem_of
from toolsearch.server.visible import Visible
from toolsearch.server.written import served_tools

router = APIRouter(prefix="/v1/search", tags=["search"])

_FIELDS = ("queries", "max_k", "sources", "tags", "allow", "deny", "read_only", "exclude", "near", "steps")


@router.post("", response_model=SearchAnswer, summary="Find tools", operation_id="search")
async def search(query: SearchQuery, asking: Searching) -> Response:
    """The tools that serve a request, best first. Only those that the caller may know of are ranked."""
    return answer(await asking.run(_found, asking, query))


@router.post(
    "/batch",
    response_model=BatchAnswer,
    summary="Find tools several times",
    operation_id="search_batch",
)
async def search_batch(batch: BatchQuery, asking: Searching) -> Response:
    """An answer or a problem for each search, in their order."""
    return answer(await asking.run(_found_each, asking, batch))


def _found(asking: Asking, query: SearchQuery) -> SearchAnswer:
    (found,) = _found_together(asking, [query])
    if isinstance(found, ToolSearchError):
        raise found
    return found


def _found_each(asking: Asking, batch: BatchQuery) -> BatchAnswer:
    most = asking.service.settings.max_batch
    if len(batch.searches) > most:
        raise SearchRequestError(f"A batch may have {most} searches; this one has {len(batch.searches)}.")
    found = _found_together(asking, batch.searches)
    return BatchAnswer(items=tuple(_item(asking, each) for each in found))


def _item(asking: Asking, found: SearchAnswer | ToolSearchError) -> BatchItem:
    if isinstance(found, ToolSearchError):
        problem, _ = problem_of(found, request_id=asking.request_id)
        return BatchItem(problem=Problem.model_validate(problem.model_dump()))
    return BatchItem(answer=found)


def _found_together(asking: Asking, queries: Sequence[SearchQuery]) -> list[SearchAnswer | ToolSearchError]:
    """What each search finds, or why it finds nothing, in their order."""
    visible = asking.visible()
    asked = [_request(asking, visible, query) for query in queries]
    results = asking.service.catalog.searcher.search_many(
        [request for request, _ in asked], index=visible.index
    )
    return [
        _told(asking, query, notices, result)
        for query, (_, notices), result in zip(queries, asked, results, strict=True)
    ]


def _request(asking: Asking, visible: Visible, query: SearchQuery) -> tuple[SearchRequest, list[str]]:
    """What to search for, and what to tell of it beside what the search itself tells."""
    most = asking.service.settings.max_results
    told = []
    k, max_k = query.k, query.max_k
    if max(k or 0, max_k) > most:
        k, max_k = k and min(k, most), min(max_k, most)
        told.append(f"This service gives at most {most} hits.")
    fields = {name: getattr(query, name) for name in _FIELDS}
    request = SearchRequest(**{**fields, "k": k, "max_k": max_k, "tenant": asking.caller.tenant})
    request, notices = visible.narrowed(request)
    return request, [*told, *notices]


def _told(
    asking: Asking, query: SearchQuery, notices: Sequence[str], result: SearchResult | ToolSearchError
) -> SearchAnswer | ToolSearchError:
    if isinstance(result, ToolSearchError):
        return result
    try:
        told = _answered(result, query, (*notices, *map(neutral_notice, result.notices)))
    except ToolSearchError as exc:
        # Not every form can be written of any tools; the others of a batch have their answers all the same.
        return exc
    asking.service.usage.searched(asking.caller.tenant, result)
    return told


def _answered(result: SearchResult, query: SearchQuery, notices: tuple[str, ...]) -> SearchAnswer:
    stages = {stage: round(ms, 3) for stage, ms in result.timings_ms.items()}
    tools = (
        None if query.form is None else served_tools([bounded(hit.tool) for hit in result.hits], query.form)
    )
    return SearchAnswer(
        hits=tuple(_hit(hit, explain=query.explain) for hit in result.hits),
        nothing_fits=result.nothing_fits,
        confidence=result.confidence,
        near=result.near,
        notices=notices,
        steps=result.steps,
        degraded=result.degraded,
        returned_tokens=result.returned_tokens,
        spared_tokens=result.spared_tokens,
        took_ms=round(result.timings_ms.get("total", 0.0), 3),
        timings_ms=stages if query.explain else None,
        tools=tools,
    )


def _hit(hit: ScoredTool, *, explain: bool) -> Hit:
    tool = hit.tool
    return Hit(
        name=hit.name,
        raw_name=tool.raw_name,
        source=tool.source,
        score=_finite(hit.score),
        title=tool.title,
        description=tool.description,
        tags=tool.tags,
        read_only=tool.read_only,
        destructive=tool.destructive,
        query=hit.query,
        step=hit.step,
        channels={name: _finite(part) for name, part in hit.channels.items()} if explain else None,
    )


def _finite(score: float) -> float:
    """The score as JSON can say it."""
    return round(score, 6) if math.isfinite(score) else 0.0
