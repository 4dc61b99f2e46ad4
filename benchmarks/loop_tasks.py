"""Tasks of the loop benchmark: a request, and for each thing that it needs the tools that do it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from toolsearch.discovery.search_tool import MAX_QUERIES
from toolsearch.evaluation.datasets import BenchQuery, Dataset, read_records

REPHRASED = Path(__file__).with_name("loop_queries.jsonl")
"""Queries for each request of the demo set: what each tool should do, in a few words.

They were written by hand from the requests, without the catalog, though not blind to which tools there are.
"""

JOINED_KINDS = ("direct", "paraphrase")
"""Requests of these kinds are joined to larger ones: one tool each, in English."""

_ONE_OF = "ambiguous"
"""The kind whose relevant tools are each enough."""

_SMALL_WORDS = re.compile(r"(?:a|an|and|by|for|from|in|its|my|of|on|or|that|the|to|with)", re.IGNORECASE)

_BREAKS = re.compile(r"[,;:?.!]\s+|\s+(?:and then|and|then)\s+")
_LEADING = re.compile(r"^(?:and|then|also)\s+", re.IGNORECASE)


@dataclass(frozen=True)
class Task:
    """A request to a model that has tools.

    Attributes:
        needs: For each step, the public names of the tools that do it, the best judged first. Empty where
            nothing in the catalog serves.
        rephrased: What to search for, in the words of a tool's maker rather than the user's; see `REPHRASED`.
    """

    id: str
    text: str
    needs: tuple[tuple[str, ...], ...]
    rephrased: tuple[str, ...] = ()

    @property
    def clauses(self) -> tuple[str, ...]:
        """The request, cut into clauses where it needs several tools.

        The cut is made in the text alone: at line breaks where there are any, else at punctuation, "and" and
        "then". Beyond five clauses the shortest is joined to its neighbour, as a search takes five queries.
        """
        if len(self.needs) < 2:
            return (self.text,)
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        if len(lines) > 1:
            return _at_most(lines, MAX_QUERIES)
        pieces = [_LEADING.sub("", piece.strip(" .?!")) for piece in _BREAKS.split(self.text)]
        return _at_most([piece for piece in pieces if piece], MAX_QUERIES)


def tasks_of(dataset: Dataset, kinds: Sequence[str] | None = None) -> list[Task]:
    """A task for each query of these kinds, or of all, in order."""
    rephrased = _rephrased()
    names = {tool_id: name for name, tool_id in dataset.id_of.items()}
    return [
        Task(query.id, query.text, _needs(query, names), rephrased.get(query.id, ()))
        for query in dataset.queries
        if kinds is None or query.kind in kinds
    ]


def joined_tasks(dataset: Dataset, *, n: int = 3, seed: int = 0) -> list[Task]:
    """Requests for one tool joined to requests for `n` different tools, a line each.

    The queries of `JOINED_KINDS` are shuffled by `seed` and used at most once; what would need the same tool
    twice is passed over.
    """
    single = [task for task in tasks_of(dataset, JOINED_KINDS) if len(task.needs) == 1]
    order = np.random.default_rng(seed).permutation(len(single))
    tasks: list[Task] = []
    group: list[Task] = []
    for task in (single[i] for i in order):
        if any(set(task.needs[0]) & set(other.needs[0]) for other in group):
            continue
        group.append(task)
        if len(group) == n:
            text = "\n".join(part.text for part in group)
            needs = tuple(part.needs[0] for part in group)
            rephrased = tuple(query for part in group for query in part.rephrased)
            tasks.append(Task("+".join(part.id for part in group), text, needs, rephrased))
            group = []
    return tasks


def with_words_lost(tasks: Sequence[Task], n: int, *, seed: int = 0) -> list[Task]:
    """The tasks with `n` words less in each rephrased query, drawn by `seed`.

    Small words stay, and so does the last of the others.
    """
    random = np.random.default_rng(seed)
    return [
        replace(task, rephrased=tuple(_without(query, n, random) for query in task.rephrased))
        for task in tasks
    ]


def _without(query: str, n: int, random: np.random.Generator) -> str:
    words = query.split()
    for _ in range(n):
        telling = [i for i, word in enumerate(words) if not _SMALL_WORDS.fullmatch(word)]
        if len(telling) > 1:
            del words[int(random.choice(telling))]
    return " ".join(words)


def _needs(query: BenchQuery, names: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    if query.kind == _ONE_OF:
        return (tuple(names[gold] for gold in query.gold),)
    alternatives = query.alternatives
    return tuple(
        tuple(names[each] for each in (gold, *alternatives.get(gold, ())) if each in names)
        for gold in query.gold
    )


@cache
def _rephrased() -> Mapping[str, tuple[str, ...]]:
    return {record["id"]: tuple(record["queries"]) for _, record in read_records(REPHRASED)}


def _at_most(pieces: list[str], n: int) -> tuple[str, ...]:
    pieces = list(dict.fromkeys(pieces))
    while len(pieces) > n:
        shortest = min(range(len(pieces)), key=lambda i: len(pieces[i]))
        first = shortest - 1 if shortest == len(pieces) - 1 else shortest
        pieces[first : first + 2] = [f"{pieces[first]}, {pieces[first + 1]}"]
    return tuple(pieces)
