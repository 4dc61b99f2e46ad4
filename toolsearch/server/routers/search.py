"""Searching: one request, or a batch."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fastapi import APIRouter
from starlette.responses import Response

from toolsearch.api.problem import Problem
from toolsearch.api.search import BatchAnswer, BatchItem, BatchQuery, Hit, SearchAnswer, SearchQuery
from toolsearch.exceptions import SearchRequestError, ToolSearchError
from toolsearch.formats import write_tools
from toolsearch.index.names import selected_names
from toolsearch.retrieval.base import ScoredTool, SearchRequest, SearchResult
from toolsearch.retrieval.query import clean_query, searched_steps
from toolsearch.retrieval.searcher import neutral_notice
from toolsearch.server.answers import answer
from toolsearch.server.asking import Asking, Searching
from toolsearch.server.problems import problem_of

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
    most = asking.service.settings.max_results
    told = []
    k, max_k = query.k, query.max_k
    if max(k or 0, max_k) > most:
        k, max_k = k and min(k, most), min(max_k, most)
        told.append(f"This service gives at most {most} hits.")
    fields = {name: getattr(query, name) for name in _FIELDS}
    request = SearchRequest(**{**fields, "k": k, "max_k": max_k, "tenant": asking.caller.tenant})
    request, notices = asking.visible().narrowed(request)
    result = asking.service.catalog.searcher.search(request)
    asking.service.usage.searched(asking.caller.tenant, result)
    return _answered(result, query, (*told, *notices, *map(neutral_notice, result.notices)))


def _found_each(asking: Asking, batch: BatchQuery) -> BatchAnswer:
    most = asking.service.settings.max_batch
    if len(batch.searches) > most:
        raise SearchRequestError(f"A batch may have {most} searches; this one has {len(batch.searches)}.")
    # Texts of about equal length are the quickest to embed together.
    order = sorted(range(len(batch.searches)), key=lambda i: max(map(len, batch.searches[i].queries)))
    texts = [text for i in order for text in _embedded(batch.searches[i])]
    with asking.service.catalog.embedder.ahead(texts):
        items = {i: _item(asking, batch.searches[i]) for i in order}
    return BatchAnswer(items=tuple(items[i] for i in range(len(items))))


def _item(asking: Asking, query: SearchQuery) -> BatchItem:
    try:
        return BatchItem(answer=_found(asking, query))
    except ToolSearchError as exc:
        problem, _ = problem_of(exc, request_id=asking.request_id)
        return BatchItem(problem=Problem.model_validate(problem.model_dump()))


def _embedded(query: SearchQuery) -> Iterator[str]:
    """The texts that the search for `query` embeds."""
    for text in query.queries:
        if selected_names(text) is not None:
            continue
        try:
            yield clean_query(text)[0]
        except SearchRequestError:
            continue
        if query.steps:
            yield from searched_steps(text)


def _answered(result: SearchResult, query: SearchQuery, notices: tuple[str, ...]) -> SearchAnswer:
    stages = {stage: round(ms, 3) for stage, ms in result.timings_ms.items()}
    tools = None if query.form is None else write_tools([hit.tool for hit in result.hits], query.form)
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
