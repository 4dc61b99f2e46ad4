"""What the steps of a request add to the scores of the tools that serve them.

A request for three things is like none of the three tools. So each step is scored by itself, and a tool that
serves a step better than the whole request is lifted: towards the step's score, never down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolsearch.retrieval.fusion import NAME_WEIGHT, Channels, Scores

STEP_SHARE = 0.5
"""How far a tool is lifted towards its score by the best step. Chosen on the dev sets: docs/benchmarks.md."""


@dataclass(frozen=True)
class StepScores:
    """How rows serve the steps of a query.

    Attributes:
        alone: Score of each row by each step, as a search for this step alone gives it (s, m).
        served: The step that a row serves best (m,), the first of equals.
    """

    alone: Scores
    served: NDArray[np.int64]

    def taken(self, places: NDArray[np.intp]) -> StepScores:
        """The same for the rows at `places`, in that order."""
        return StepScores(self.alone[:, places], self.served[places])


def lifted(whole: Channels, steps: Sequence[Channels]) -> tuple[Channels, StepScores]:
    """The channels of a query with what its steps add, and how the rows serve them; all of the same rows.

    A step is a shorter text and reaches lower scores than the query. So its content scores are stretched
    until the best of them equals the query's best: each step counts the same, and none outdoes the whole.
    Then ``lift = max(0, 0.5 * (best step - query))``. A row that a step calls by its name is named.

    The best content score is that of the query alone, so steps never change how sure a search is.
    """
    content = whole.content()
    top = max(float(content.max(initial=0.0)), 0.0)
    stretched = np.array([_stretched(step.content(), top) for step in steps])
    lift = np.maximum(STEP_SHARE * (stretched.max(axis=0) - content), 0.0)
    names = np.array([step.name for step in steps])
    name = np.maximum(whole.name, names.max(axis=0))
    served = np.argmax(stretched + NAME_WEIGHT * names, axis=0)
    alone = np.array([step.fused() for step in steps])
    return replace(whole, name=name, lift=lift), StepScores(alone, served)


def _stretched(content: Scores, top: float) -> Scores:
    """`content` times what makes its best score `top`; unlike anything where no row is like the step."""
    best = float(content.max(initial=0.0))
    return content * (top / best) if best > 0 else np.full(len(content), -np.inf)
