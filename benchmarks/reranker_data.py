"""What the reranker is trained on: queries with the tools that a search puts forward, serving or not.

The queries of `train_encoder.QUERIED` over at most `MOST_TOOLS` tools of their catalogs; and first sentences
of descriptions over tools without theirs, of `train_encoder.TOLD`. What `train_encoder.NEVER` holds is left
out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.data import BENCH_PREFIX, load_named
from benchmarks.peers.comparison import sampled
from benchmarks.train_encoder import NEVER, QUERIED, TOLD, text_of
from toolsearch.embedders.base import Vectors
from toolsearch.index.lexical import LexicalIndex
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT
from toolsearch.sources.files import read_catalog
from toolsearch.tools import Tool
from toolsearch.tuning.catalog_pairs import first_sentence, imperative
from toolsearch.tuning.pairs import Example, PairSource, dataset_source, tool_source

MOST_QUERIES = 600
MOST_TOOLS = 800
MOST_TOLD = 250
DEPTH = 20
CANDIDATES = 12
_RANDOM = 2
_ABSENT = 0.25
_NOISED = 0.3
_DROPPED = 0.15

Embed = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True)
class Ranked:
    """A source whose examples have in `hard` what a search puts forward and does not serve, best first."""

    source: PairSource
    share: float


@dataclass(frozen=True)
class Group:
    """A query with `CANDIDATES` documents, and which of them serve it: none where its tools are absent."""

    query: str
    documents: tuple[str, ...]
    relevant: tuple[bool, ...]


def training_data(data: Path, embed: Embed, *, seed: int, without: Sequence[str] = ()) -> list[Ranked]:
    """All sources but those of `without`, ranked by the default search over the vectors that `embed` gives.

    Raises:
        EvaluationError: a set is not there, or not as it should be.
    """
    never = {text_of(tool) for name in NEVER for tool in load_named(name, data).catalog.values()}
    found = []
    for name in QUERIED:
        if name not in without:
            source = _thinned(
                dataset_source(sampled(load_named(BENCH_PREFIX + name, data), MOST_QUERIES)), seed
            )
            barred = {row for row, tool in enumerate(source.tools) if text_of(tool) in never}
            kept = [example for example in source.examples if not barred.intersection(example.positives)]
            found.append(source.with_examples(kept, name=name))
    for name in TOLD:
        tools = [
            t for t in read_catalog(data / name / "catalog.jsonl").catalog.values() if text_of(t) not in never
        ]
        found.append(told_source(name, tools, seed))
    return [
        Ranked(_ranked(source, embed), source.share * (1 if source.name in QUERIED else 0.5))
        for source in found
    ]


def told_source(name: str, tools: Sequence[Tool], seed: int) -> PairSource:
    """Tools without the first sentences of their descriptions, asked for by these."""
    able = [tool for tool in tools if len(first_sentence(tool.description)[0].split()) > 2]
    able = [
        tool for tool in able if first_sentence(tool.description)[1] or tool.input_schema.get("properties")
    ]
    random.Random(f"{seed} {name}").shuffle(able)  # noqa: S311
    chosen = able[:MOST_TOLD]
    shortened = [
        replace(tool, description=first_sentence(tool.description)[1], search_hint="") for tool in chosen
    ]
    examples = [
        Example(imperative(first_sentence(tool.description)[0])[:300], (row,))
        for row, tool in enumerate(chosen)
    ]
    source = tool_source(name, shortened)
    return replace(source, keys=tool_source(name, chosen).keys, examples=tuple(examples))


def groups(ranked: Sequence[Ranked], *, seed: int) -> Iterator[Group]:
    """Groups without end, from sources drawn by their shares; the same for the same seed."""
    drawn = random.Random(seed)  # noqa: S311
    left: list[list[Example]] = [[] for _ in ranked]
    everything = [document for each in ranked for document in each.source.documents]
    shares = [each.share for each in ranked]
    while True:
        which = drawn.choices(range(len(ranked)), shares)[0]
        source = ranked[which].source
        if not left[which]:
            left[which] = drawn.sample(source.examples, len(source.examples))
        yield _group(source, left[which].pop(), everything, drawn)


def _group(source: PairSource, example: Example, everything: Sequence[str], drawn: random.Random) -> Group:
    positives = list(example.positives)
    drawn.shuffle(positives)
    positives = [] if drawn.random() < _ABSENT else positives[: CANDIDATES // 3]
    n_hard = CANDIDATES - len(positives) - _RANDOM
    hard = list(example.hard[: n_hard // 2])
    rest = list(example.hard[n_hard // 2 :])
    hard += drawn.sample(rest, min(n_hard - len(hard), len(rest)))
    documents = [source.documents[row] for row in (*positives, *hard)]
    documents += drawn.choices(everything, k=CANDIDATES - len(documents))
    relevant = [True] * len(positives) + [False] * (CANDIDATES - len(positives))
    return Group(noised(example.query, drawn), tuple(documents), tuple(relevant))


def noised(query: str, drawn: random.Random) -> str:
    """The query, at times without some of its words, so that no single one decides."""
    words = query.split()
    if len(words) < 5 or drawn.random() >= _NOISED:
        return query
    return " ".join([word for word in words if drawn.random() >= _DROPPED] or words)


def _thinned(source: PairSource, seed: int) -> PairSource:
    """The source with at most `MOST_TOOLS` tools, those that serve its queries among them."""
    wanted = {row for example in source.examples for row in example.relevant}
    others = [row for row in range(len(source.tools)) if row not in wanted]
    random.Random(f"{seed} {source.name}").shuffle(others)  # noqa: S311
    rows = sorted(wanted | set(others[: max(0, MOST_TOOLS - len(wanted))]))
    place = {row: i for i, row in enumerate(rows)}
    examples = tuple(
        replace(
            example,
            positives=tuple(place[row] for row in example.positives),
            alternatives=tuple(tuple(place[row] for row in each) for each in example.alternatives),
        )
        for example in source.examples
    )
    return replace(
        source,
        documents=tuple(source.documents[row] for row in rows),
        servers=tuple(source.servers[row] for row in rows),
        keys=tuple(source.keys[row] for row in rows),
        tools=tuple(source.tools[row] for row in rows),
        examples=examples,
    )


def _ranked(source: PairSource, embed: Embed) -> PairSource:
    lexicon = LexicalIndex.build(source.tools)
    cosines = embed([example.query for example in source.examples]) @ embed(source.documents).T
    keys = np.array(source.keys)
    examples = []
    for example, row in zip(source.examples, cosines, strict=True):
        scores = row + LEXICAL_WEIGHT * lexicon.scores(example.query).raw
        scores[np.isin(keys, keys[list(example.relevant)])] = -np.inf
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        examples.append(replace(example, hard=tuple(int(i) for i in best if np.isfinite(scores[i]))))
    print(f"{source.name}: {len(examples)} examples, {len(source.tools)} tools", flush=True)
    return source.with_examples(examples)
