"""Several vectors a tool, of which the nearest counts, against the one of its whole text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedding import RememberingEmbedder
from benchmarks.scored import ScoredSet, Scores, score_set
from benchmarks.unseen import DENSE, FUSED, about, dense_and_fused, unseen_sets
from toolsearch.document import MAX_DESCRIPTION, MAX_PARAMETERS
from toolsearch.embedders.base import Embedder
from toolsearch.evaluation.datasets import Dataset
from toolsearch.naming import split_words
from toolsearch.retrieval.fusion import dense_weight
from toolsearch.schema import parameter_fields
from toolsearch.tools import JsonObject, Tool

GROUP = 5
"""Parameters that share a vector."""

SHARES = (1.0, 0.5, 0.25)
"""What the nearest part counts; the whole text counts the rest."""

Parts = Callable[[Tool], Sequence[str]]


def name_part(tool: Tool) -> str:
    """Source and words of the name."""
    return " ".join((*split_words(tool.source), *split_words(tool.raw_name)))


def name_and_description(tool: Tool) -> list[str]:
    """The name, and the description where there is one."""
    return [name_part(tool), *filter(None, [" ".join(tool.description[:MAX_DESCRIPTION].split())])]


def parameter_groups(tool: Tool) -> list[str]:
    """Parameters with what they are for and may be, in groups, each after the name of the tool."""
    fields = parameter_fields(tool.input_schema)[:MAX_PARAMETERS]
    told = [
        f"{' '.join(split_words(name))}: {description[:120]} {', '.join(values[:8])}".strip(": ")
        for name, description, values in fields
    ]
    groups = [told[at : at + GROUP] for at in range(0, len(told), GROUP)]
    return [f"{name_part(tool)}: {'; '.join(group)}" for group in groups]


def all_parts(tool: Tool) -> list[str]:
    """Name, description and groups of parameters."""
    return [*name_and_description(tool), *parameter_groups(tool)]


PARTS: Mapping[str, Parts] = {
    "name, description": name_and_description,
    "name, description, parameter groups": all_parts,
}


@dataclass(frozen=True)
class PartScores:
    """The cosine with the nearest part of each tool (queries, tools), and how many parts a tool has."""

    nearest: Scores
    parts_a_tool: float


def vectors(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """The whole text, the nearest of several parts, and what lies between."""
    sets = unseen_sets(datasets)
    whole = [score_set(each, embedder) for each in sets]
    rows: list[list[object]] = [["whole text", "", 1.0, *dense_and_fused(whole)]]
    for name, parts in PARTS.items():
        found = [score_parts(each, scored, embedder, parts) for each, scored in zip(sets, whole, strict=True)]
        n_parts = sum(each.parts_a_tool for each in found) / len(found)
        for share in SHARES:
            mixed = [
                replace(one, cosines=share * part.nearest + (1 - share) * one.cosines)
                for one, part in zip(whole, found, strict=True)
            ]
            n_vectors = round(n_parts + (share < 1), 2)
            rows.append([name, share, n_vectors, *dense_and_fused(mixed)])
    return {
        "title": "Several vectors a tool",
        "text": (
            "The cosine with the nearest of a tool's parts (max-sim) in place of that with its whole text, "
            "or a mean of both: the share is what the nearest part counts. Parameters are in groups of "
            f"{GROUP}, each after the tool's name. {about()} No constant was chosen by this table. The "
            "encoder was trained on whole texts, and on parts of them against the rest."
        ),
        "columns": ["vectors", "share of the nearest", "vectors a tool", *DENSE, *FUSED],
        "rows": rows,
    }


def score_parts(dataset: Dataset, scored: ScoredSet, embedder: Embedder, parts: Parts) -> PartScores:
    """Max-sim over the parts of each tool, for the queries of `scored`."""
    texts = [parts(tool) for tool in dataset.catalog.values()]
    starts = list(accumulate((len(each) for each in texts[:-1]), initial=0))
    distinct = list(dict.fromkeys(text for each in texts for text in each))
    row_of = {text: row for row, text in enumerate(distinct)}
    rows: NDArray[np.int64] = np.array([row_of[text] for each in texts for text in each], dtype=np.int64)
    queries = [query.text for query in scored.queries]
    cosines = embedder.embed_queries(queries) @ embedder.embed_documents(distinct).T
    nearest = np.maximum.reduceat(cosines[:, rows], starts, axis=1).astype(np.float64)
    reads = np.array([dense_weight(embedder.reads(text)) for text in queries])
    return PartScores(nearest * reads[:, None], len(rows) / len(texts))
