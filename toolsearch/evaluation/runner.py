"""Running a retriever over a data set, and scoring runs that were saved."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolsearch.evaluation.datasets import BenchQuery, Dataset, read_records
from toolsearch.evaluation.report import EvaluationReport, QueryOutcome, RunSettings, make_report
from toolsearch.exceptions import EvaluationError, ToolSearchError
from toolsearch.retrieval.base import MAX_K, Retriever, SearchRequest, SearchResult

Progress = Callable[[int, int], None]
"""Called with (done, total) queries."""

# Joining near-duplicates shortens a ranking; five times k leaves k different tools on all but odd queries.
_NEAR_DEPTH = 5


def evaluate(
    retriever: Retriever,
    dataset: Dataset,
    *,
    k: int = 10,
    depth: int | None = None,
    retriever_id: str = "",
    embedder_id: str = "",
    seed: int = 0,
    strict: bool = False,
    progress: Progress | None = None,
) -> EvaluationReport:
    """The measures at `k` of `retriever` over the queries of `dataset`, each asked alone.

    A query that cannot be answered as asked is an error: the search raised, a score is not a finite
    number, a tool is listed twice or is none of the data set's, or the encoder failed and another channel
    stood in. Errors are counted in the report and left out of every mean; nothing stands in for them.

    Args:
        depth: How many tools each search asks for, at least `k`. By default `k`, and five times that where
            the data set groups near-duplicates, as joining them shortens a ranking.
        retriever_id, embedder_id: Written to the report, to tell what was measured.
        seed: Of the bootstrap; the rankings do not depend on it.
        strict: The first error ends the evaluation.

    Raises:
        EvaluationError: every query was an error, or the first one with `strict`; or there are none; or
            `k` and `depth` do not fit each other.
    """
    settings = RunSettings(k, _depth(dataset, k, depth), seed, retriever_id, embedder_id)
    outcomes: list[QueryOutcome] = []
    # The first search may load a model, which is no part of what a search takes.
    for query in dataset.queries[:1]:
        _ask(retriever, dataset, query, settings.depth)
    for query in dataset.queries:
        outcome = _ask(retriever, dataset, query, settings.depth)
        if outcome.error and strict:
            raise EvaluationError(f"Query {query.id!r} failed: {outcome.error}", ids=(query.id,))
        outcomes.append(outcome)
        if progress is not None:
            progress(len(outcomes), len(dataset.queries))
    return make_report(dataset, outcomes, settings)


def score_run(
    run: Path | str | Mapping[str, Sequence[str]],
    dataset: Dataset,
    *,
    k: int = 10,
    retriever_id: str = "",
    embedder_id: str = "",
    seed: int = 0,
) -> EvaluationReport:
    """The measures of a saved run, scored as `evaluate` does; without times and confidences.

    `run` is a file of ``{"id", "ranked": [tool ids]}`` lines, as `EvaluationReport.write_run` leaves it, or
    the rankings by query id. A line with ``"error"`` is a query that failed.

    Raises:
        EvaluationError: the run misses a query of the data set, has one that the data set does not, names
            a tool that the catalog does not have, or a line cannot be read.
    """
    if isinstance(run, Mapping):
        found = {query_id: (tuple(ranked), "") for query_id, ranked in run.items()}
    else:
        found = _read_run(Path(run))
    _check_covers(found, dataset)
    _check_k(k)
    depth = max((k, *(len(ranked) for ranked, _ in found.values())))
    settings = RunSettings(k, depth, seed, retriever_id, embedder_id)
    outcomes = [
        QueryOutcome(query, ranked=found[query.id][0], error=found[query.id][1]) for query in dataset.queries
    ]
    return make_report(dataset, outcomes, settings)


def _depth(dataset: Dataset, k: int, depth: int | None) -> int:
    _check_k(k)
    if depth is None:
        return min(MAX_K, k * _NEAR_DEPTH) if dataset.near_duplicates else k
    if not k <= depth <= MAX_K:
        raise EvaluationError(f"depth is {depth}; it must be from k, here {k}, to {MAX_K}.")
    return depth


def _check_k(k: int) -> None:
    if not 1 <= k <= MAX_K:
        raise EvaluationError(f"k is {k}; it must be from 1 to {MAX_K}.")


def _ask(retriever: Retriever, dataset: Dataset, query: BenchQuery, depth: int) -> QueryOutcome:
    request = SearchRequest(queries=(query.text,), k=depth)
    started = time.perf_counter()
    try:
        result = retriever.search(request)
    except ToolSearchError as exc:
        return QueryOutcome(query, error=f"{type(exc).__name__}: {exc}")
    took_ms = (time.perf_counter() - started) * 1000
    error = _fault(result, dataset, depth)
    if error:
        return QueryOutcome(query, took_ms=took_ms, error=error)
    return QueryOutcome(
        query,
        ranked=tuple(dataset.id_of[name] for name in result.names),
        confidence=result.confidence,
        best_score=result.hits[0].score if result.hits else -math.inf,
        took_ms=took_ms,
        nothing_fits=result.nothing_fits,
    )


def _fault(result: SearchResult, dataset: Dataset, depth: int) -> str:
    """Why this is no answer to what was asked; empty if it is one."""
    if result.degraded:
        return "the encoder failed and another channel answered alone"
    for hit in result.hits:
        if not math.isfinite(hit.score):
            return f"tool {hit.name!r} has score {hit.score}"
        if hit.name not in dataset.id_of:
            return f"tool {hit.name!r} is not in the data set's catalog"
    if len(set(result.names)) < len(result.hits):
        return "a tool is listed twice"
    if len(result.hits) > depth:
        return f"{len(result.hits)} tools came back where {depth} were asked for"
    return ""


def _read_run(path: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    """(ranking, error) by query id."""
    found: dict[str, tuple[tuple[str, ...], str]] = {}
    for line, record in read_records(path):
        query_id, ranked = record.get("id"), record.get("ranked")
        if not isinstance(query_id, str):
            raise EvaluationError("a line of a run needs 'id', a string.", path=path, line=line)
        if not isinstance(ranked, list) or not all(isinstance(tool_id, str) for tool_id in ranked):
            raise EvaluationError(
                "'ranked' must be a list of tool ids.", path=path, line=line, ids=(query_id,)
            )
        if query_id in found:
            raise EvaluationError(
                f"query {query_id!r} is there twice.", path=path, line=line, ids=(query_id,)
            )
        found[query_id] = (tuple(ranked), str(record.get("error") or ""))
    return found


def _check_covers(found: Mapping[str, tuple[tuple[str, ...], str]], dataset: Dataset) -> None:
    asked = {query.id for query in dataset.queries}
    tools = set(dataset.id_of.values())
    for what, ids in (
        ("queries of the data set are not in the run", asked - found.keys()),
        ("queries of the run are not in the data set", found.keys() - asked),
        (
            "tools of the run are not in the catalog",
            {t for ranked, _ in found.values() for t in ranked} - tools,
        ),
    ):
        if ids:
            shown = tuple(sorted(ids))
            raise EvaluationError(
                f"{len(shown)} {what} {dataset.name!r} (such as {', '.join(map(repr, shown[:5]))}).",
                ids=shown,
            )
