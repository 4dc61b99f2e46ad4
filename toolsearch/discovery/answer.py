"""What a search says to the model, and apart from it what it says to programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from toolsearch.delivery.base import Delivery, shown
from toolsearch.messages import TextPart, ToolResult
from toolsearch.retrieval.searcher import neutral_notice
from toolsearch.tools import JsonObject, Tool

GIVE_UP = "do not search for it again. Go on with the tools that you have, or say what is missing."


@dataclass(frozen=True)
class Findings:
    """What one search came to.

    Attributes:
        loaded: Tools that it made known, best first.
        already_loaded: Names of tools that fit and were known before.
        left_out: Names of tools that fit and for which there was no room.
        evicted: Names of tools that made room.
        near: Names of other tools that come near.
        nothing_fits: No tool is likely to serve.
        notices: Of the searcher.
        facts: For programs: the key of the search, scores, confidence …
    """

    loaded: tuple[Tool, ...] = ()
    already_loaded: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    nothing_fits: bool = False
    notices: tuple[str, ...] = ()
    facts: JsonObject = field(default_factory=dict)


def answer(findings: Findings, delivery: Delivery, *, max_tools: int | None, nudge: str = "") -> ToolResult:
    """The result of a search: text for the model, names and numbers apart."""
    text = "\n".join(line for line in (*_paragraphs(findings, delivery, max_tools), nudge) if line)
    return ToolResult(
        (TextPart(text=text),),
        discovered=tuple(tool.name for tool in findings.loaded),
        structured={
            **findings.facts,
            "already_loaded": list(findings.already_loaded),
            "left_out": list(findings.left_out),
            "evicted": list(findings.evicted),
            "near": list(findings.near),
            "nothing_fits": findings.nothing_fits,
            "shown": shown(findings.loaded),
        },
    )


def _paragraphs(findings: Findings, delivery: Delivery, max_tools: int | None) -> Iterable[str]:
    loaded = findings.loaded
    if loaded:
        yield delivery.heading(len(loaded))
        yield from map(delivery.entry, loaded)
    if findings.left_out:
        yield (
            f"{len(findings.left_out)} more fit but were not loaded, as there is room for {max_tools} tools "
            f"in all: {_listed(findings.left_out)}."
        )
    if findings.evicted:
        yield f"No longer loaded, to make room: {_listed(findings.evicted)}."
    if findings.already_loaded:
        yield f"Already loaded: {_listed(findings.already_loaded)}."
    if findings.nothing_fits or not (loaded or findings.already_loaded or findings.left_out):
        yield _nothing(findings.near)
    elif findings.near:
        yield f"Near, but not loaded: {_listed(findings.near)}. {_select('one')}"
    yield from map(neutral_notice, findings.notices)


def _nothing(near: Sequence[str]) -> str:
    if not near:
        return f"No tool fits: {GIVE_UP}"
    return (
        f"No tool fits. The nearest are {_listed(near)}. {_select('one if it does what you need')} "
        f"Otherwise {GIVE_UP}"
    )


def _select(what: str) -> str:
    return f"Load {what} with the query 'select:NAME'."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
