"""The values of a search: `SearchRequest` in, `SearchResult` out, and the `Retriever` between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, field_validator

from toolsearch.tools import Tool

MAX_QUERIES = 16
MAX_K = 1000


class SearchRequest(BaseModel):
    """What is sought, and among which tools. Filters apply before anything is ranked.

    Attributes:
        queries: One to 16 texts. Several are answered as one list that is fair to each.
        k: Exactly so many hits, as far as there are tools, fit or not. None lets the score margin decide.
        max_k: The most hits when `k` is None.
        sources: Only tools of these sources.
        tags: Only tools with at least one of these tags.
        allow, deny: Globs over public names, raw names and ``source/raw_name``; deny wins.
        read_only: True keeps only tools that claim to be read-only.
        within: Only tools of these public names, for permissions: the others are as if they were not there,
            in scores, too, while filters choose among the tools that there are.
        exclude: Public names left out, such as those already discovered.
        near: The most names of `SearchResult.near`.
        steps: Search for each step of a query that asks for several things, too ("refund order 7 and tell
            the customer"), so that the tools of each are found. A query of one step costs nothing more.
        tenant: Whose past requests count, where the searcher learns from use.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    queries: tuple[str, ...] = Field(min_length=1, max_length=MAX_QUERIES)
    k: int | None = Field(default=None, ge=1, le=MAX_K)
    max_k: int = Field(default=10, ge=1, le=MAX_K)
    sources: frozenset[str] | None = None
    tags: frozenset[str] | None = None
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    read_only: bool = False
    within: frozenset[str] | None = None
    exclude: frozenset[str] = frozenset()
    near: int = Field(default=10, ge=0, le=MAX_K)
    steps: bool = True
    tenant: str = ""

    @field_validator("queries", mode="before")
    @classmethod
    def _one_query_is_a_list_of_one(cls, queries: Any) -> Any:
        return (queries,) if isinstance(queries, str) else queries


@dataclass(frozen=True)
class ScoredTool:
    """A tool that a search found.

    Attributes:
        score: Higher is better; comparable between the hits of one catalog and embedder.
        channels: The parts of the score by channel: ``dense`` (cosine, -1 to 1), ``lexical``
            (BM25, 0 or more), ``name`` (0 to 1), for a query of several steps ``steps``, what the best
            of them adds (0 or more), where past requests are like the query ``usage``, what they add (0 or
            more), and with a reranker ``rerank``, its log odds (-10 to 10).
        query: Position of the query that found it best.
        step: Position of the step of that query that it serves best, in `SearchResult.steps`; None where
            the query has one step.
    """

    tool: Tool
    score: float
    channels: Mapping[str, float] = field(default_factory=dict)
    query: int = 0
    step: int | None = None

    @property
    def name(self) -> str:
        return self.tool.name


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes:
        hits: Best first, ties by name; no tool twice.
        nothing_fits: No tool is likely to serve the request. Without a fixed `k`, `hits` is then empty.
        confidence: Share (0 to 1) of requests that nothing serves which find less than this one did; 1 for
            a tool called by its name; None where it was not measured. Past requests that support a tool
            more than that make it their support.
        near: Public names beyond the cut, best first, for "did you mean".
        notices: What the caller should know, such as a query that was cut.
        steps: For each query that was searched in steps, by its position in the request, those steps. The
            best hit of each is among `hits`, if there are at least as many as steps in all.
        degraded: The encoder failed and the lexical channel answered alone.
        returned_tokens, spared_tokens: Tokens of the returned definitions, and of all other
            definitions that the request could have been sent; None where they were not counted.
        timings_ms: Milliseconds per stage.
    """

    hits: tuple[ScoredTool, ...] = ()
    nothing_fits: bool = False
    confidence: float | None = None
    near: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    steps: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    degraded: bool = False
    returned_tokens: int | None = None
    spared_tokens: int | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(hit.name for hit in self.hits)


class Retriever(Protocol):
    """Answers a request from a catalog: best first, ties by name, synchronous."""

    def search(self, request: SearchRequest) -> SearchResult:
        """The tools that fit.

        Raises:
            SearchRequestError: a request that cannot be answered as asked.
        """
