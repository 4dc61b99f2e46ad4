"""One query against one index: the rows that any channel puts forward, scored in full and ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Vectors
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.fusion import Channels
from toolsearch.retrieval.timings import StageTimer

Rows = NDArray[np.int64]

DEPTH = 100
"""How many rows the dense and the lexical channel each put forward, at least."""


@dataclass(frozen=True)
class Ranking:
    """Rows best first, ties by row; `scores` (m,) and `channels` are parallel to `rows`.

    Attributes:
        best_content: The best score by content, names aside; -inf where there are no rows.
        complete: Every row that counts was asked for by name, so that nothing is left to calibrate or cut.
    """

    rows: Rows
    scores: NDArray[np.float64]
    channels: Channels
    complete: bool = False

    @property
    def best_content(self) -> float:
        content = self.channels.content()
        return float(content.max()) if len(content) else -np.inf

    @property
    def is_read(self) -> bool:
        """Whether the encoder reads more than half of the query, so that a low score means something."""
        return self.channels.reads > 0.5

    @property
    def named(self) -> NDArray[np.bool_]:
        """Which rows the query calls by name."""
        return self.channels.name > 0

    def without(self, rows: Rows) -> Ranking:
        """This ranking less `rows`."""
        return self._taken(np.flatnonzero(~np.isin(self.rows, rows))) if len(rows) else self

    def _taken(self, places: NDArray[np.intp]) -> Ranking:
        channels = self.channels.taken(places)
        return Ranking(channels.rows, self.scores[places], channels, self.complete)


def rank(
    index: ToolIndex,
    text: str,
    vector: Vectors | None,
    allowed: NDArray[np.bool_] | None,
    *,
    depth: int = DEPTH,
    reads: float = 1.0,
    lexical: bool = True,
    names: bool = True,
    timer: StageTimer | None = None,
) -> Ranking:
    """The ranking of the rows that some channel puts forward.

    Each channel puts forward its best `depth` rows, and every one of them is scored in every channel. A row
    that is left out could only reach the top if it were nearly as good as the `depth`-th in both channels.

    Args:
        vector: The query as a unit row (dim,), or None to leave out the dense channel.
        allowed: Mask (n,) of the rows that count; None for all.
        reads: Share of the query that the encoder reads, 0 to 1.
        lexical, names: Whether these channels take part.
    """
    timer = timer or StageTimer()
    found: list[Rows] = []
    with timer.stage("names"):
        matches = {
            match.row: match.confidence
            for match in (index.name_index.resolve(text) if names else ())
            if allowed is None or allowed[match.row]
        }
        found.append(np.array(list(matches), dtype=np.int64))
    with timer.stage("dense"):
        if vector is not None:
            found.append(index.vectors.search(vector[None, :], depth, allowed)[0].rows)
    with timer.stage("lexical"):
        everything = index.lexicon.scores(text).raw if lexical else np.zeros(len(index), dtype=np.float32)
        found.append(_best_positive(everything, depth, allowed))
    with timer.stage("fuse"):
        rows = np.unique(np.concatenate(found))
        dense = np.zeros(len(rows)) if vector is None else index.vectors.similarity(vector, rows)
        name = np.zeros(len(rows))
        name[np.searchsorted(rows, list(matches))] = list(matches.values())
        lexical_scores = everything[rows].astype(np.float64)
        channels = Channels(rows, dense.astype(np.float64), lexical_scores, name, reads)
        return _ranked(channels)


def selection(rows: Sequence[int]) -> Ranking:
    """The ranking of tools that were asked for by name: `rows` as they come."""
    n = len(rows)
    channels = Channels(np.array(rows, dtype=np.int64), np.zeros(n), np.zeros(n), np.ones(n))
    return Ranking(channels.rows, channels.fused(), channels, complete=True)


def _ranked(channels: Channels) -> Ranking:
    scores = channels.fused()
    # Rows ascend, so a stable sort settles ties by row, which is by name.
    order = np.argsort(-scores, kind="stable")
    channels = channels.taken(order)
    return Ranking(channels.rows, scores[order], channels)


def _best_positive(scores: NDArray[np.float32], depth: int, allowed: NDArray[np.bool_] | None) -> Rows:
    """The rows of the best `depth` scores above 0, and all that tie with the last of them."""
    rows = np.flatnonzero(scores > 0 if allowed is None else (scores > 0) & allowed)
    if len(rows) > depth:
        kept = scores[rows]
        rows = rows[kept >= np.partition(kept, len(kept) - depth)[len(kept) - depth]]
    return rows
