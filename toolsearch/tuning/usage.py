"""A log of requests and the tools that were called for them, as queries to train on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from toolsearch.evaluation.datasets import BenchQuery, read_records
from toolsearch.exceptions import EvaluationError


def read_usage(path: Path | str) -> tuple[BenchQuery, ...]:
    """The requests of a JSONL file of ``{"query", "tools": [names or ids]}``, in its order.

    Lines of the same request make one query, to which the tools of all of them are relevant. Lines without
    tools are passed over: that nothing was called does not say that nothing would have served.

    Raises:
        EvaluationError: with path and line.
    """
    tools: dict[str, dict[str, None]] = {}
    for line, record in read_records(path):
        query, called = record.get("query"), record.get("tools")
        if not isinstance(query, str) or not isinstance(called, list):
            raise EvaluationError("a line needs 'query' and 'tools', a list of names.", path=path, line=line)
        if not all(isinstance(name, str) for name in called):
            raise EvaluationError("'tools' must be a list of names.", path=path, line=line)
        if query.strip() and called:
            tools.setdefault(query.strip(), {}).update(dict.fromkeys(called))
    return tuple(
        BenchQuery(id=f"usage-{number}", text=query, gold=tuple(names), kind="usage")
        for number, (query, names) in enumerate(tools.items(), start=1)
    )


def known_only(queries: Iterable[BenchQuery], names: Iterable[str]) -> tuple[BenchQuery, ...]:
    """The queries with those of their tools that are among `names`; queries without any are left out."""
    known = set(names)
    kept = (replace(query, gold=tuple(name for name in query.gold if name in known)) for query in queries)
    return tuple(query for query in kept if query.gold)
