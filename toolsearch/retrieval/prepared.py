"""`Prepared`: a request as it is searched for: its texts, and the rows that it may find."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolsearch.exceptions import SearchRequestError
from toolsearch.index.names import selected_names
from toolsearch.index.part import IndexPart
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import SearchRequest
from toolsearch.retrieval.filters import allowed_rows, excluded_rows, unknown_labels
from toolsearch.retrieval.query import clean_query, searched_steps
from toolsearch.retrieval.ranking import DEPTH

Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Query:
    """What is searched for: a text, with its steps if it has several, or the names of a selection.

    `position` is that in the request.
    """

    position: int
    text: str
    names: tuple[str, ...] | None = None
    steps: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """Those that are compared as vectors."""
        return () if self.names is not None else (self.text, *self.steps)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A request over one index.

    Attributes:
        queries: Each text once.
        notices: What to tell of queries that were cut or left out, and of labels that no tool has.
        part: The tools that there are for the request; the filters choose among them.
        allowed: (n,) over the rows of the index; None where all count.
        excluded: Rows that count as found.
    """

    request: SearchRequest
    queries: tuple[Query, ...]
    notices: tuple[str, ...]
    part: IndexPart
    allowed: Mask | None
    excluded: NDArray[np.int64]

    @cached_property
    def allowed_key(self) -> bytes:
        """Equal where `part` and `allowed` are; empty where all rows count."""
        return b"" if self.allowed is None else self.part.key + np.packbits(self.allowed).tobytes()

    @property
    def depth(self) -> int:
        """How many rows each channel puts forward, at least."""
        request = self.request
        return max(DEPTH, (request.k or request.max_k) + request.near + len(self.excluded))

    @property
    def texts(self) -> list[str]:
        """Those that are compared as vectors, each once."""
        return list(dict.fromkeys(text for query in self.queries for text in query.texts))


def prepare(index: ToolIndex, request: SearchRequest) -> Prepared:
    """`request` over `index`.

    Raises:
        SearchRequestError: no query has a word to search for.
    """
    queries, notices = _searchable(request)
    return Prepared(
        request,
        queries,
        (*notices, *unknown_labels(index, request)),
        index.whole if request.within is None else index.part(request.within),
        allowed_rows(index, request),
        excluded_rows(index, request),
    )


def _searchable(request: SearchRequest) -> tuple[tuple[Query, ...], list[str]]:
    """The queries to search for, each text once, and what to tell of those that were cut or left out."""
    queries: dict[str, Query] = {}
    notices: list[str] = []
    refused: SearchRequestError | None = None
    for position, query in enumerate(request.queries):
        names = selected_names(query)
        if names:
            queries.setdefault(query, Query(position, query, names))
            continue
        try:
            text, notice = clean_query(query) if names is None else _no_name(query)
        except SearchRequestError as exc:
            refused = exc
            notices.append(str(exc))
            continue
        steps = searched_steps(query) if request.steps else ()
        queries.setdefault(text, Query(position, text, steps=steps))
        if notice:
            notices.append(notice)
    if not queries and refused is not None:
        raise refused
    return tuple(queries.values()), notices


def _no_name(query: str) -> NoReturn:
    raise SearchRequestError(
        f"The query {query[:40]!r} lacks a name. Name the tools behind the colon: 'select:NAME,NAME'."
    )
