"""From rankings to a `SearchResult`: what to keep, in which order, and what it costs and spares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import ScoredTool, SearchRequest, SearchResult
from toolsearch.retrieval.cut import adaptive_k, in_turn, with_leaders
from toolsearch.retrieval.ranking import Ranking
from toolsearch.retrieval.timings import StageTimer


@dataclass(frozen=True)
class Answer:
    """The ranking of one query and how sure it is; `confidence` is None where it was not measured.

    `query` is the position of the query in the request, `steps` are its steps where it has several.
    """

    query: int
    ranking: Ranking
    confidence: float | None
    steps: tuple[str, ...] = ()

    def fits(self, nothing_fits_below: float) -> bool:
        """Whether anything is likely to serve the query."""
        if self.confidence is None:
            return len(self.ranking.rows) > 0
        return self.confidence >= nothing_fits_below and len(self.ranking.rows) > 0


def assemble(
    index: ToolIndex,
    request: SearchRequest,
    answers: Sequence[Answer],
    *,
    allowed: NDArray[np.bool_] | None,
    excluded: NDArray[np.int64],
    nothing_fits_below: float,
    notices: Sequence[str],
    degraded: bool,
    timer: StageTimer,
) -> SearchResult:
    """One result from the answer to each query of `request`."""
    with timer.stage("cut"):
        fitting = [answer.fits(nothing_fits_below) for answer in answers]
        rankings = [answer.ranking.without(excluded) for answer in answers]
        kept = [_kept(ranking, request, fits) for ranking, fits in zip(rankings, fitting, strict=True)]
        selected = sum(len(ranking.rows) for ranking in rankings if ranking.complete)
        limit = request.k or max(request.max_k, selected)
        taken = with_leaders(in_turn(kept, limit), _leaders(rankings, kept), limit)
        hits = _hits(index, rankings, taken, [answer.query for answer in answers])
        n_shown = len(taken) + request.near
        rest = in_turn([ranking.rows[:n_shown].tolist() for ranking in rankings], n_shown)
        hit_rows = {row for row, _ in taken}
        near = [index.columns.names[row] for row, _ in rest if row not in hit_rows][: request.near]
        tokens = index.columns.tokens
        returned = int(tokens[np.array([row for row, _ in taken], dtype=np.int64)].sum())
        offered = index.columns.total_tokens if allowed is None else int(tokens.sum(where=allowed))
    confidences = [answer.confidence for answer in answers if answer.confidence is not None]
    return SearchResult(
        hits=hits,
        nothing_fits=not any(fitting),
        confidence=max(confidences) if len(confidences) == len(answers) else None,
        near=tuple(near),
        notices=tuple(notices),
        steps={answer.query: answer.steps for answer in answers if answer.steps},
        degraded=degraded,
        returned_tokens=returned,
        spared_tokens=offered - returned,
        timings_ms=timer.finish(),
    )


def _kept(ranking: Ranking, request: SearchRequest, fits: bool) -> list[int]:
    """The rows of one query's ranking that may become hits."""
    if request.k is not None:
        return list(ranking.rows[: request.k].tolist())
    if ranking.complete:
        return list(ranking.rows.tolist())
    if not fits:
        return []
    channels = ranking.channels
    k = adaptive_k(channels.content(), ranking.named, request.max_k, learned=channels.learned())
    return list(ranking.rows[:k].tolist())


def _leaders(rankings: Sequence[Ranking], kept: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """The best row of each step of each query, best first, with its ranking; none where nothing is kept."""
    leaders = []
    for i, (ranking, rows) in enumerate(zip(rankings, kept, strict=True)):
        if rows:
            in_order = ranking.rows.tolist()
            leaders += [(row, i) for row in sorted(ranking.leaders, key=in_order.index)]
    return leaders


def _hits(
    index: ToolIndex,
    rankings: Sequence[Ranking],
    taken: Sequence[tuple[int, int]],
    positions: Sequence[int],
) -> tuple[ScoredTool, ...]:
    """The hits of `taken`, pairs of a row and the ranking that it comes from."""
    hits = []
    for row, i in taken:
        ranking = rankings[i]
        place = int(np.flatnonzero(ranking.rows == row)[0])
        channels = ranking.channels
        parts = {
            "dense": float(channels.dense[place]),
            "lexical": float(channels.lexical[place]),
            "name": float(channels.name[place]),
        }
        if channels.odds is not None:
            parts["rerank"] = float(channels.odds[place])
        if channels.usage is not None:
            parts["usage"] = float(channels.usage[place])
        step = None
        if channels.lift is not None and ranking.steps is not None:
            parts["steps"] = float(channels.lift[place])
            step = int(ranking.steps.served[place])
        hits.append(ScoredTool(index.tool(row), float(ranking.scores[place]), parts, positions[i], step))
    return tuple(hits)
