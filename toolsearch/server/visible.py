"""`Visible`: the part of an index that one caller may know of. Every name and count comes from here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolsearch.exceptions import UnknownToolError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import SearchRequest
from toolsearch.retrieval.filters import allowed_rows, unknown_among
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.tools import Tool

_NEAR_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Visible:
    """The tools of `index` that `rule` permits."""

    index: ToolIndex
    rule: ToolFilter

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Of the tools, in the order of their names."""
        return np.arange(len(self.index)) if self.mask is None else np.flatnonzero(self.mask)

    @cached_property
    def mask(self) -> NDArray[np.bool_] | None:
        """(n,) over the rows of the index; None where all are permitted."""
        return allowed_rows(self.index, self._permitted())

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def names(self) -> frozenset[str]:
        """Public names."""
        return frozenset(self.index.columns.names[row] for row in self.rows.tolist())

    @property
    def tokens(self) -> int:
        """What sending all definitions costs."""
        return int(self.index.columns.tokens[self.rows].sum())

    def tokens_of(self, names: Iterable[str]) -> dict[str, int]:
        """What each of these tools costs, of those that are there."""
        rows = {name: self._row(name) for name in names}
        return {name: int(self.index.columns.tokens[row]) for name, row in rows.items() if row is not None}

    @cached_property
    def sources(self) -> Mapping[str, NDArray[np.int64]]:
        """The rows of each source that has any, by name, sorted."""
        return self._permitted_of(self.index.columns.source_rows)

    @cached_property
    def tags(self) -> Mapping[str, NDArray[np.int64]]:
        """The rows of each tag that any has, by name, sorted."""
        return self._permitted_of(self.index.columns.tag_rows)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with anything that is stored of the tools; what is hidden leaves no trace in it."""
        if self.mask is None:
            return self.index.columns.fingerprint
        return self._fingerprint(self.rows)

    def fingerprint_of(self, source: str) -> str | None:
        """Changes with anything that is stored of the tools of a source; None where it has none."""
        rows = self.sources.get(source)
        return None if rows is None else self._fingerprint(rows)

    def digest(self, row: int) -> str:
        """Changes with anything that is stored of the tool, as 32 hex digits."""
        return str(self.index.columns.facts["tool_digest"][row].tobytes()[:16].hex())

    def row(self, name: str) -> int:
        """The row of the tool of that public name.

        Raises:
            UnknownToolError: there is none, or none that the caller may know of.
        """
        row = self._row(name)
        if row is None:
            raise UnknownToolError(name, self._near(name))
        return row

    def tool(self, name: str) -> Tool:
        """The tool of that public name; raises as `row`."""
        return self.index.tool(self.row(name))

    def tools(self, names: Iterable[str]) -> tuple[Tool, ...]:
        """The tools of these public names, each once; raises as `row`."""
        return tuple(self.tool(name) for name in dict.fromkeys(names))

    def narrowed(self, request: SearchRequest) -> tuple[SearchRequest, list[str]]:
        """`request` over no more than these tools, and what to tell of labels that none of them has."""
        if self.mask is None:
            return request, []
        notices: list[str] = []
        changes: dict[str, Any] = {}
        for kind, wanted, known in (
            ("source", request.sources, self.sources),
            ("tag", request.tags, self.tags),
        ):
            if wanted is None:
                continue
            # The searcher would name those near among all tools, so it sees only what there is here.
            notices += unknown_among(kind, wanted, known)
            changes[f"{kind}s"] = wanted & known.keys()
        changes["within"] = self.names if request.within is None else self.names & request.within
        return request.model_copy(update=changes), notices

    def _fingerprint(self, rows: NDArray[np.int64]) -> str:
        digests = self.index.columns.facts["tool_digest"][rows]
        return hashlib.sha256(digests.tobytes()).hexdigest()

    def _row(self, name: str) -> int | None:
        row = self.index.row_of(name)
        return row if row is None or self.mask is None or self.mask[row] else None

    def _permitted(self) -> SearchRequest:
        # A request must have a query; the filters do not look at it.
        rule = self.rule
        return SearchRequest(
            queries=("-",),
            sources=rule.sources,
            tags=rule.tags,
            allow=rule.allow,
            deny=rule.deny,
            read_only=rule.read_only,
        )

    def _permitted_of(self, rows_of: Mapping[str, NDArray[np.int64]]) -> Mapping[str, NDArray[np.int64]]:
        if self.mask is None:
            return rows_of
        kept = {label: rows[self.mask[rows]] for label, rows in rows_of.items()}
        return {label: rows for label, rows in kept.items() if len(rows)}

    def _near(self, name: str) -> tuple[str, ...]:
        part = self.index.whole if self.mask is None else self.index.part(self.names)
        return tuple(self.index.columns.names[row] for row in part.name_index.near(name, _NEAR_SHOWN))
