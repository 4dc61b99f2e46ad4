"""Tools that a search can hardly tell apart: the same text, or vectors close to each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Vectors
from toolsearch.index.tool_index import ToolIndex
from toolsearch.lint.finding import Finding, Rule, shortened
from toolsearch.tools import Tool

SAME_TEXT = Rule(
    code="same-text",
    severity="warning",
    title="tools with the same description and parameters",
    hint="Remove all but one, or say in each description what sets it apart.",
)
NEAR_DUPLICATE = Rule(
    code="near-duplicate",
    severity="warning",
    title="tools that mean nearly the same",
    hint="Say in the first sentence of each description what sets it apart, or merge them.",
)

NEAR_DUPLICATE_COSINE = 0.97
"""Of two tool documents under MiniLM. On public MCP servers about two tools in a hundred have such a
neighbour, and nearly all of those pairs do the same or differ in one word that is easily overlooked."""

_BLOCK = 512


def check_same_text(catalog: Catalog) -> Iterator[Finding]:
    """Groups of tools whose descriptions and parameter names are the same but for case and white space."""
    groups: dict[tuple[str, ...], list[Tool]] = {}
    for tool in catalog.values():
        description = " ".join(tool.description.casefold().split())
        if description:
            parameters = sorted(tool.input_schema.get("properties") or {})
            groups.setdefault((description, *parameters), []).append(tool)
    for group in groups.values():
        if len(group) > 1:
            yield _finding(SAME_TEXT, group, "Says the same as")


def check_near_duplicates(index: ToolIndex) -> Iterator[Finding]:
    """Each tool that has near-duplicates later in the alphabet, with these."""
    for row, others in sorted(near_duplicates(index).items()):
        later = [index.tool(other) for other in others if other > row]
        if later:
            yield _finding(NEAR_DUPLICATE, [index.tool(row), *later], "Hardly told apart from")


def near_duplicates(index: ToolIndex) -> dict[int, list[int]]:
    """For each row that has any, the other rows with a cosine of at least `NEAR_DUPLICATE_COSINE`.

    Compares all pairs: about a second for 10,000 tools on two cores, growing with the square.
    """
    n = len(index)
    vectors: Vectors = np.empty((n, index.vectors.dim), dtype=np.float32)
    for row in range(n):
        vectors[row] = index.vectors.vector(row)
    near: dict[int, list[int]] = {}
    for start in range(0, n, _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors[start:].T
        for i, j in np.argwhere(cosines >= NEAR_DUPLICATE_COSINE):
            row, other = int(start + i), int(start + j)
            if row < other:
                near.setdefault(row, []).append(other)
                near.setdefault(other, []).append(row)
    return near


def _finding(rule: Rule, group: list[Tool], says: str) -> Finding:
    one_source = len({tool.source for tool in group}) == 1
    names = [tool.name for tool in group[1:]]
    # Two servers may well offer the same; within one it is most likely an oversight.
    return rule.finding(group[0].name, f"{says} {shortened(names)}.", severity=None if one_source else "info")
