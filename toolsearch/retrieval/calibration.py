"""How sure a best score is: compared with the best scores of requests that nothing in the catalog serves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Embedder
from toolsearch.index.part import IndexPart
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.fusion import FUSION_VERSION
from toolsearch.retrieval.ranking import rank, wordings
from toolsearch.tools import JsonObject

CALIBRATION_VERSION = f"1.{FUSION_VERSION}"
"""Changes with the probes and with the scores, so that what was measured otherwise is measured anew."""

_PROBE_DEPTH = 20


@cache
def unserved_requests() -> tuple[str, ...]:
    """A hundred requests of everyday life that tools seldom serve: the probes of a catalog."""
    text = resources.files("toolsearch.retrieval").joinpath("data/unserved_requests.txt").read_text("utf-8")
    return tuple(text.splitlines())


@dataclass(frozen=True)
class Calibration:
    """The best score that each probe reached in one catalog, ascending.

    Best scores depend on the catalog: among thousands of tools an idle request finds a higher one than
    among thirty. So a catalog is asked a hundred requests that it most likely cannot serve, and a search
    is as sure as the share of them that it beats. A few probes that some tool does serve do little harm.
    """

    best_scores: tuple[float, ...]

    @classmethod
    def of(cls, best_scores: Iterable[float]) -> Calibration:
        """A calibration from scores in any order; those below the least that a search reports count as 0."""
        return cls(tuple(sorted(round(max(score, 0.0), 6) for score in best_scores)))

    def confidence(self, best_score: float) -> float:
        """Share of the probes with a lower best score, 0 to 1."""
        return bisect_left(self.best_scores, best_score) / len(self.best_scores)

    def to_json(self) -> JsonObject:
        """What an index keeps of it."""
        return {"version": CALIBRATION_VERSION, "best_scores": list(self.best_scores)}

    @classmethod
    def from_json(cls, data: JsonObject | None) -> Calibration | None:
        """What `to_json` gave; None for nothing, or for what another version measured."""
        if data is None or data.get("version") != CALIBRATION_VERSION:
            return None
        return cls(tuple(data["best_scores"]))


def calibrate(
    index: ToolIndex,
    embedder: Embedder | None,
    *,
    allowed: NDArray[np.bool_] | None = None,
    part: IndexPart | None = None,
    lexical: bool = True,
) -> Calibration:
    """The best content score of each probe among the rows that `allowed` lets through, of those of `part`.

    Without an embedder, or without `lexical`, that channel takes no part, as in the searches to be measured.
    """
    probes = unserved_requests()
    vectors = {} if embedder is None else dict(zip(probes, embedder.embed_queries(probes), strict=False))
    worded = wordings(index, probes, vectors, embedder, allowed, depth=_PROBE_DEPTH)
    best = (
        rank(index, each, allowed, part=part, depth=_PROBE_DEPTH, lexical=lexical, names=False).best_content
        for each in worded.values()
    )
    return Calibration.of(best)
