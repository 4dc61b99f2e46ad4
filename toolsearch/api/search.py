"""Searches: what is asked for, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from toolsearch.api.base import Answered, Asked, Form, Name, Text
from toolsearch.api.problem import Problem
from toolsearch.globs import is_glob

MAX_QUERIES = 16
MAX_K = 1000
MAX_BATCH = 64
MAX_BATCH_QUERIES = 256
MAX_NAMES = 1000
MAX_GLOBS = 100
MAX_BATCH_GLOBS = 256
MAX_QUERY_CHARACTERS = 100_000

_K = Annotated[int, Field(strict=True, ge=1, le=MAX_K)]
_Names = Annotated[frozenset[Name], Field(max_length=MAX_NAMES)]
_Globs = Annotated[tuple[Name, ...], Field(max_length=MAX_NAMES)]
_Query = Annotated[Text, Field(max_length=MAX_QUERY_CHARACTERS)]


_Queries = Annotated[tuple[_Query, ...], Field(min_length=1, max_length=MAX_QUERIES)]


def _one_query_is_a_list_of_one(queries: Any) -> Any:
    return (queries,) if isinstance(queries, str) else queries


class SearchQuery(Asked):
    """What is sought, and among which tools.

    Attributes:
        queries: One to 16 texts, or one text. Several are answered as one list that is fair to each.
        allow, deny: Up to 1,000 names each; up to 100 of both together may be globs.
        k: Exactly so many hits, fit or not. Without it the scores decide, up to `max_k`.
        form: Also give the definitions of the hits in this form, ready to be sent to a model.
        explain: Also give the parts of each score, and how long each stage took.
        max_k: At most so many hits, of those whose scores fit.
        sources: Only tools of these sources; None for all.
        tags: Only tools with one of these tags; None for all.
        read_only: Only tools that say that they change nothing.
        exclude: Public names to be left out, such as those that were found before.
        near: At most so many names of tools that came near.
        steps: Search for each step of a query that asks for several things, too.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"queries": ["refund an order"], "max_k": 5},
                {"queries": ["send an email", "book a room"], "k": 4, "sources": ["mail", "calendar"]},
            ]
        }
    )

    queries: Annotated[
        _Queries,
        BeforeValidator(_one_query_is_a_list_of_one, json_schema_input_type=_Query | _Queries),
    ]
    k: _K | None = None
    max_k: _K = 10
    sources: _Names | None = None
    tags: _Names | None = None
    allow: _Globs | None = None
    deny: _Globs = ()
    read_only: bool = False
    exclude: _Names = frozenset()
    near: Annotated[int, Field(strict=True, ge=0, le=MAX_K)] = 10
    steps: bool = True
    form: Form | None = None
    explain: bool = False

    @model_validator(mode="after")
    def _not_too_many_globs(self) -> Self:
        n_globs = sum(map(is_glob, (*(self.allow or ()), *self.deny)))
        if n_globs > MAX_GLOBS:
            raise ValueError(f"it has {n_globs} globs; at most {MAX_GLOBS} fit beside names")
        return self


class Hit(Answered):
    """A tool that was found; `channels` only with `explain`. A higher score is better.

    Attributes:
        name: Its public name.
        raw_name: The name that its source knows.
        source: Where it comes from.
        score: How well it fits; comparable within one answer.
        title: For people.
        description: What the model is told of it.
        tags: Its tags.
        read_only: Whether it changes nothing; None where its source does not say.
        destructive: Whether what it changes may be lost; None where its source does not say.
        query: The query that found it, by its position in the request from 0.
        step: The step of that query, from 0; None where the whole query found it.
        channels: The parts of the score by what gave them, such as ``dense`` and ``lexical``; None
            without `explain`.
    """

    name: str
    raw_name: str
    source: str
    score: float
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    read_only: bool | None = None
    destructive: bool | None = None
    query: int = 0
    step: int | None = None
    channels: Mapping[str, float] | None = None


class SearchAnswer(Answered):
    """What was found, best first.

    Attributes:
        tools: The definitions of the hits in their order, in the form that was asked for.
        hits: Best first, ties by name.
        nothing_fits: No tool is likely to serve the request. Without `k` there are no hits then.
        confidence: Share (0 to 1) of requests that nothing serves which find less than this one
            did; None where it was not measured.
        near: Public names of tools that came near, best first.
        notices: What the caller should know, such as a query that was cut.
        steps: The steps of each query that was searched in steps, by the position of the query from
            0.
        degraded: The encoder failed, and words alone decided.
        returned_tokens: Of the definitions of the hits; None where they were not counted.
        spared_tokens: Of all other definitions that could have been sent; None where they were not
            counted.
        took_ms: Milliseconds that the search took.
        timings_ms: Milliseconds of each stage; None without `explain`.
    """

    hits: tuple[Hit, ...] = ()
    nothing_fits: bool = False
    confidence: float | None = None
    near: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    steps: Mapping[int, tuple[str, ...]] = Field(default_factory=dict)
    degraded: bool = False
    returned_tokens: int | None = None
    spared_tokens: int | None = None
    took_ms: float = 0.0
    timings_ms: Mapping[str, float] | None = None
    tools: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(hit.name for hit in self.hits)


class BatchQuery(Asked):
    """Up to 64 searches of 256 queries in all, which are answered each for itself and embedded together.

    They may have 256 globs in all; the same list of them counts once.

    Attributes:
        searches: Each is answered, or refused, for itself.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"searches": [{"queries": ["refund an order"]}, {"queries": ["send an email"]}]}]
        }
    )

    searches: Annotated[tuple[SearchQuery, ...], Field(min_length=1, max_length=MAX_BATCH)]

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        n_queries = sum(len(search.queries) for search in self.searches)
        if n_queries > MAX_BATCH_QUERIES:
            raise ValueError(f"it has {n_queries} queries; at most {MAX_BATCH_QUERIES} fit")
        lists = {globs for search in self.searches for globs in (search.allow or (), search.deny)}
        n_globs = sum(is_glob(glob) for globs in lists for glob in globs)
        if n_globs > MAX_BATCH_GLOBS:
            raise ValueError(f"it has {n_globs} globs; at most {MAX_BATCH_GLOBS} fit")
        return self

    @classmethod
    def of(cls, *searches: SearchQuery | str) -> Self:
        """A batch of these; a text stands for a search for it."""
        return cls(searches=tuple(SearchQuery(queries=(s,)) if isinstance(s, str) else s for s in searches))


class BatchItem(Answered):
    """The answer of one search of a batch, or why it has none.

    Attributes:
        answer: What was found; None for a problem.
        problem: Why there is no answer; None for an answer.
    """

    answer: SearchAnswer | None = None
    problem: Problem | None = None


class BatchAnswer(Answered):
    """One item for each search, in their order.

    Attributes:
        items: In the order of the searches.
    """

    items: tuple[BatchItem, ...]
