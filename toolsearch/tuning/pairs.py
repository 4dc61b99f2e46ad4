"""Training examples: a query, and the tools of one catalog that serve it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from toolsearch.document import render_document
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.tools import Tool
from toolsearch.tuning.duplicates import duplicate_keys


@dataclass(frozen=True)
class Example:
    """A query and the tools that serve it, by row of its source.

    Attributes:
        positives: Rows of the relevant tools, at least one; each draw trains on one of them.
        alternatives: Rows that serve as well as some positive; never negatives, and as good when measured.
        text: Stands in for the document of the positive where that would hold the query itself.
        hard: Rows of mined negatives, hardest first.
    """

    query: str
    positives: tuple[int, ...]
    alternatives: tuple[tuple[int, ...], ...] = ()
    text: str = ""
    hard: tuple[int, ...] = ()

    @property
    def relevant(self) -> tuple[int, ...]:
        """Every row that is never a negative of this query."""
        return (*self.positives, *(row for rows in self.alternatives for row in rows))


@dataclass(frozen=True)
class PairSource:
    """Examples over one catalog.

    Attributes:
        documents: The text of each tool, as it is indexed.
        servers: The tool source of each.
        keys: Equal for tools that a reader would call the same; such are never each other's negatives,
            also across sources.
        weight: How often the source is drawn, times the square root of its number of examples.
    """

    name: str
    documents: tuple[str, ...]
    servers: tuple[str, ...]
    keys: tuple[str, ...]
    examples: tuple[Example, ...]
    weight: float = 1.0
    tools: tuple[Tool, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def share(self) -> float:
        """What the chance to be drawn is proportional to."""
        return float(self.weight * len(self.examples) ** 0.5)

    def weighted(self, weight: float) -> PairSource:
        """The same source, drawn more or less often."""
        return replace(self, weight=weight)

    def with_examples(self, examples: Iterable[Example], *, name: str = "") -> PairSource:
        """The same tools under other examples."""
        return replace(self, examples=tuple(examples), name=name or self.name)


def dataset_source(dataset: Dataset, *, weight: float = 1.0, name: str = "") -> PairSource:
    """The queries of a data set that some tool serves, over its catalog."""
    tools = tuple(dataset.catalog.values())
    row_of = {tool_id: row for row, tool_id in enumerate(dataset.id_of.values())}
    examples = tuple(
        _example(query, row_of) for query in dataset.queries if query.gold and query.text.strip()
    )
    source = tool_source(name or dataset.name, tools, groups=_rows(dataset.near_duplicates, row_of))
    return replace(source, examples=examples, weight=weight)


def tool_source(
    name: str, tools: Sequence[Tool], *, groups: Iterable[Sequence[int]] = (), weight: float = 1.0
) -> PairSource:
    """The tools as a source without examples; row i is ``tools[i]``, `groups` are rows of near-duplicates."""
    return PairSource(
        name=name,
        documents=tuple(map(render_document, tools)),
        servers=tuple(tool.source for tool in tools),
        keys=duplicate_keys(tools, groups),
        examples=(),
        weight=weight,
        tools=tuple(tools),
    )


def mix(*parts: tuple[Sequence[PairSource], float]) -> list[PairSource]:
    """All sources, weighted so that each part as a whole is drawn in proportion to its share.

    Within a part the sources keep their proportions. ``mix((with_queries, 0.75), (catalogs, 0.25))``.
    """
    mixed: list[PairSource] = []
    for sources, share in parts:
        whole = sum(source.share for source in sources)
        mixed += [source.weighted(source.weight * share / whole) for source in sources if whole]
    return mixed


def _example(query: BenchQuery, row_of: dict[str, int]) -> Example:
    others = tuple(
        tuple(row_of[other] for other in query.alternatives.get(gold, ()) if other in row_of)
        for gold in query.gold
    )
    return Example(query.text, tuple(row_of[gold] for gold in query.gold), others)


def _rows(groups: Iterable[Sequence[str]], row_of: dict[str, int]) -> list[list[int]]:
    return [[row_of[member] for member in group if member in row_of] for group in groups]
