"""Mined hard negatives: tools that look right for a query and are not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from toolsearch.index.lexical import LexicalIndex
from toolsearch.tuning.pairs import Example, PairSource

LEXICAL = 6
SAME_SERVER = 2


def mine_negatives(
    source: PairSource,
    *,
    lexical: int = LEXICAL,
    same_server: int = SAME_SERVER,
    progress: Callable[[int, int], None] | None = None,
) -> PairSource:
    """The source with `hard` negatives for every example.

    First the `lexical` best tools by BM25 that do not serve the query, then `same_server` tools of the
    positives' server, those nearest to the query by BM25. Near-duplicates of a relevant tool are left out.
    """
    if not source.tools:
        return source
    miner = _Miner(source)
    mined = []
    for done, example in enumerate(source.examples):
        if progress is not None:
            progress(done, len(source.examples))
        mined.append(replace(example, hard=miner.mine(example, lexical, same_server)))
    return replace(source, examples=tuple(mined))


class _Miner:
    """The lexical index of a source, and the rows of each of its servers."""

    def __init__(self, source: PairSource) -> None:
        self.source = source
        self.index = LexicalIndex.build(source.tools)
        self.by_server: dict[str, list[int]] = defaultdict(list)
        for row, server in enumerate(source.servers):
            if server:
                self.by_server[server].append(row)

    def mine(self, example: Example, lexical: int, same_server: int) -> tuple[int, ...]:
        source = self.source
        relevant = {source.keys[row] for row in example.relevant}
        scores = self.index.scores(example.query).raw
        # Near-duplicates of relevant tools take up places at the top.
        n = min(len(scores), lexical + len(example.relevant) + 16)
        best = np.argpartition(-scores, n - 1)[:n]
        ranked = [int(row) for row in best[np.lexsort((best, -scores[best]))] if scores[row] > 0]
        found = _first(source, ranked, relevant, lexical)
        servers = {source.servers[row] for row in example.positives}
        siblings = np.array(sorted(row for server in servers for row in self.by_server.get(server, ())), int)
        nearest = siblings[np.argsort(-scores[siblings], kind="stable")].tolist()
        barred = relevant | {source.keys[row] for row in found}
        return (*found, *_first(source, nearest, barred, same_server))


def _first(source: PairSource, rows: list[int], barred: set[str], n: int) -> tuple[int, ...]:
    """The first `n` rows, one of each key, none with a key that is barred."""
    found: dict[str, int] = {}
    for row in rows:
        if len(found) == n:
            break
        if source.keys[row] not in barred:
            found.setdefault(source.keys[row], row)
    return tuple(found.values())
