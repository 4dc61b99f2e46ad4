"""One query against one index: the rows that any channel puts forward, scored in full and ranked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Embedder, Vectors, cosine_scale
from toolsearch.index.lexical import LexicalQuery
from toolsearch.index.part import IndexPart
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.fusion import Channels
from toolsearch.retrieval.learned import Learned
from toolsearch.retrieval.lift import StepScores, lifted
from toolsearch.retrieval.timings import StageTimer

Rows = NDArray[np.int64]

_NO_ROWS: Rows = np.empty(0, dtype=np.int64)

DEPTH = 100
"""How many rows the dense and the lexical channel each put forward, at least."""


@dataclass(frozen=True)
class Wording:
    """A text to search by: a whole query, or one of its steps.

    Attributes:
        vector: Its unit row (dim,), or None to leave out the dense channel.
        reads: Share of it that the encoder reads, 0 to 1.
        scale: Of the encoder, see `toolsearch.embedders.base.cosine_scale`.
        nearest: The rows that the dense channel puts forward.
    """

    text: str
    vector: Vectors | None
    reads: float
    scale: float
    nearest: Rows


def wordings(
    index: ToolIndex,
    texts: Iterable[str],
    vectors: Mapping[str, Vectors],
    embedder: Embedder | None,
    allowed: NDArray[np.bool_] | None,
    *,
    depth: int = DEPTH,
) -> dict[str, Wording]:
    """Each of `texts` as it is searched by, and with the rows nearest to it, which are found together.

    Args:
        vectors: Unit rows (dim,) by `embedder`; a text without one leaves out the dense channel.
        allowed: As for `rank`.
        depth: As for `rank`.
    """
    texts = list(dict.fromkeys(texts))
    compared = [text for text in texts if text in vectors]
    nearest: dict[str, Rows] = {}
    if compared:
        found = index.vectors.search(np.stack([vectors[text] for text in compared]), depth, allowed)
        nearest = {text: scored.rows for text, scored in zip(compared, found, strict=True)}
    scale = cosine_scale(embedder)
    return {
        text: Wording(
            text,
            vectors.get(text),
            1.0 if embedder is None else embedder.reads(text),
            scale,
            nearest.get(text, _NO_ROWS),
        )
        for text in texts
    }


@dataclass(frozen=True)
class Ranking:
    """Rows best first, ties by row; `scores` (m,) and `channels` are parallel to `rows`.

    Attributes:
        best_content: The best score by content, names aside; -inf where there are no rows.
        complete: Every row that counts was asked for by name, so that nothing is left to calibrate or cut.
        steps: How the rows serve the steps of the query; None where it has one step.
        support: The most that past requests support a row, 0 to 1.
    """

    rows: Rows
    scores: NDArray[np.float64]
    channels: Channels
    complete: bool = False
    steps: StepScores | None = None
    support: float = 0.0

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

    @property
    def leaders(self) -> list[int]:
        """The best row of each step, in order, or of the query where it has one step; each once.

        A step that no row is like has none.
        """
        if self.steps is None or not len(self.rows):
            return [int(row) for row in self.rows[:1]]
        led = (own for own in self.steps.alone if own.max() > 0)
        return list(dict.fromkeys(int(self.rows[own == own.max()].min()) for own in led))

    def without(self, rows: Rows) -> Ranking:
        """This ranking less `rows`."""
        return self._taken(np.flatnonzero(~np.isin(self.rows, rows))) if len(rows) else self

    def sorted(self) -> Ranking:
        """This ranking by its scores, ties by row."""
        return self._taken(np.lexsort((self.rows, -self.scores)))

    def _taken(self, places: NDArray[np.intp]) -> Ranking:
        channels = self.channels.taken(places)
        steps = None if self.steps is None else self.steps.taken(places)
        scores = self.scores[places]
        return Ranking(channels.rows, scores, channels, self.complete, steps, self.support)


def rank(
    index: ToolIndex,
    wording: Wording,
    allowed: NDArray[np.bool_] | None,
    *,
    part: IndexPart | None = None,
    steps: Sequence[Wording] = (),
    depth: int = DEPTH,
    lexical: bool = True,
    names: bool = True,
    learned: Learned | None = None,
    timer: StageTimer | None = None,
) -> Ranking:
    """The ranking of the rows that some channel puts forward, for the query or for one of its steps.

    Each channel puts forward its best `depth` rows, and every one of them is scored in every channel. A row
    that is left out could only reach the top if it were nearly as good as the `depth`-th in both channels.

    Args:
        wording: The whole query.
        allowed: Mask (n,) of the rows that count; None for all.
        part: The tools that there are at all, which `allowed` chooses among; None for those of `index`.
        steps: Those of the query, where it has several; they lift the rows that serve them.
        lexical, names: Whether these channels take part.
        learned: What past requests add; None leaves everything as it is without them.
    """
    timer = timer or StageTimer()
    wordings = (wording, *steps)
    part = part or index.whole
    found = [
        _put_forward(part, one, allowed, depth=depth, lexical=lexical, names=names, timer=timer)
        for one in wordings
    ]
    with timer.stage("fuse"):
        put_forward = [each.rows for each in found] + ([] if learned is None else [learned.rows])
        rows = np.unique(np.concatenate(put_forward))
        whole, *parts = (_channels(index, one, each, rows) for one, each in zip(wordings, found, strict=True))
        channels, served = lifted(whole, parts) if parts else (whole, None)
        if learned is not None:
            channels = learned.lifted(channels)
        return _ranked(channels, served, support=0.0 if learned is None else learned.best)


@dataclass(frozen=True)
class _Found:
    """What the channels say to one wording: `names` the confidence by row, `lexical` None where left out."""

    rows: Rows
    names: dict[int, float]
    lexical: LexicalQuery | None


def _put_forward(
    part: IndexPart,
    wording: Wording,
    allowed: NDArray[np.bool_] | None,
    *,
    depth: int,
    lexical: bool,
    names: bool,
    timer: StageTimer,
) -> _Found:
    with timer.stage("names"):
        matches = {
            match.row: match.confidence
            for match in (part.name_index.resolve(wording.text) if names else ())
            if allowed is None or allowed[match.row]
        }
        found = [np.array(list(matches), dtype=np.int64), wording.nearest]
    with timer.stage("lexical"):
        weighed = part.lexicon.weigh(wording.text) if lexical else None
        if weighed is not None:
            found.append(weighed.best(depth, allowed))
    return _Found(np.concatenate(found), matches, weighed)


def _channels(index: ToolIndex, wording: Wording, found: _Found, rows: Rows) -> Channels:
    """The parts of the scores of `rows`, which ascend and hold those of `found`."""
    dense = np.zeros(len(rows))
    if wording.vector is not None:
        dense = wording.scale * index.vectors.similarity(wording.vector, rows).astype(np.float64)
    name = np.zeros(len(rows))
    name[np.searchsorted(rows, list(found.names))] = list(found.names.values())
    lexical = np.zeros(len(rows))
    if found.lexical is not None:
        lexical = found.lexical.of(rows).astype(np.float64)
    return Channels(rows, dense, lexical, name, wording.reads)


def selection(rows: Sequence[int]) -> Ranking:
    """The ranking of tools that were asked for by name: `rows` as they come."""
    n = len(rows)
    channels = Channels(np.array(rows, dtype=np.int64), np.zeros(n), np.zeros(n), np.ones(n))
    return Ranking(channels.rows, channels.fused(), channels, complete=True)


def _ranked(channels: Channels, steps: StepScores | None = None, *, support: float = 0.0) -> Ranking:
    return Ranking(channels.rows, channels.fused(), channels, steps=steps, support=support).sorted()
