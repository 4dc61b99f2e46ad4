"""A search result as JSON and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolsearch.cli.output import Column, counted, first_line, printable, say, share, show, show_table

if TYPE_CHECKING:
    from toolsearch.retrieval.base import ScoredTool, SearchResult

_CHANNELS = ("name", "dense", "lexical")
_NEAR_SHOWN = 5


def result_json(queries: Sequence[str], result: SearchResult, *, explain: bool) -> dict[str, Any]:
    """What `toolsearch search --json` prints."""
    shown: dict[str, Any] = {
        "query": queries[0] if len(queries) == 1 else list(queries),
        "hits": [_hit_json(hit, several=len(queries) > 1, explain=explain) for hit in result.hits],
        "nothing_fits": result.nothing_fits,
        "confidence": result.confidence,
        "near": list(result.near),
        "notices": list(result.notices),
        "degraded": result.degraded,
        "returned_tokens": result.returned_tokens,
        "spared_tokens": result.spared_tokens,
        "took_ms": round(result.timings_ms.get("total", 0.0), 3),
    }
    if explain:
        shown["steps"] = {str(query): list(steps) for query, steps in result.steps.items()}
        shown["timings_ms"] = {stage: round(ms, 3) for stage, ms in result.timings_ms.items()}
    return shown


def show_result(queries: Sequence[str], result: SearchResult, *, n_tools: int, explain: bool) -> None:
    """The hits as a table, and below it what they cost of what `n_tools` tools would have cost.

    With several queries a column says which of them, by their number, found the tool best. With `explain`
    another says so of the steps of a query, which are listed below the table.
    """
    for notice in result.notices:
        say(notice)
    if result.hits:
        show_table(*_table(result.hits, queries, explain=explain), cut_last=True)
    if explain:
        for query, steps in result.steps.items():
            of = f" of query {query + 1}" if len(queries) > 1 else ""
            numbered = (f"{n} {printable(step)!r}" for n, step in enumerate(steps, start=1))
            show(f"Steps{of}: {', '.join(numbered)}")
    if result.nothing_fits:
        show("Nothing fits: no tool is likely to serve this request.")
    if result.near:
        label = "The nearest" if result.nothing_fits else "Also near"
        show(f"{label}: {', '.join(map(printable, result.near[:_NEAR_SHOWN]))}")
    if result.returned_tokens is not None and result.spared_tokens is not None:
        whole = result.returned_tokens + result.spared_tokens
        show(
            f"{len(result.hits):,} of {counted(n_tools, 'tool')}, "
            f"{counted(result.returned_tokens, 'token')} instead of "
            f"{whole:,} ({share(result.spared_tokens, whole)} spared)"
        )
    if explain:
        sure = "not measured" if result.confidence is None else f"{result.confidence:.2f}"
        stages = ", ".join(f"{stage} {ms:.1f}" for stage, ms in result.timings_ms.items())
        show(f"confidence {sure}; milliseconds: {stages}")


def _table(
    hits: Sequence[ScoredTool], queries: Sequence[str], *, explain: bool
) -> tuple[list[Column], list[list[str]]]:
    several = len(queries) > 1
    in_steps = explain and any(hit.step is not None for hit in hits)
    shown = [each for each in ("steps", "rerank") if any(each in hit.channels for hit in hits)]
    channels = (*_CHANNELS, *shown) if explain else ()
    columns: list[Column] = [
        ("", "right"),
        *((("for", "right"),) if several else ()),
        ("tool", "left"),
        ("server", "left"),
        *((("step", "right"),) if in_steps else ()),
        ("score", "right"),
        *((channel, "right") for channel in channels),
        ("description", "left"),
    ]
    rows = [
        [
            str(rank),
            *((str(hit.query + 1),) if several else ()),
            hit.name,
            hit.tool.source,
            *(("" if hit.step is None else str(hit.step + 1),) if in_steps else ()),
            f"{hit.score:.3f}",
            *(f"{hit.channels.get(channel, 0.0):.3f}" for channel in channels),
            first_line(hit.tool.description),
        ]
        for rank, hit in enumerate(hits, start=1)
    ]
    return columns, rows


def _hit_json(hit: ScoredTool, *, several: bool, explain: bool) -> dict[str, Any]:
    tool = hit.tool
    shown: dict[str, Any] = {
        "name": hit.name,
        "raw_name": tool.raw_name,
        "server": tool.source,
        "score": round(hit.score, 6),
        "description": tool.description,
        "tags": list(tool.tags),
        "read_only": tool.read_only,
        "destructive": tool.destructive,
    }
    if several:
        shown["query"] = hit.query
    if explain:
        shown["step"] = hit.step
        shown["channels"] = {channel: round(score, 6) for channel, score in hit.channels.items()}
    return shown
