"""How many hits a search gives, and how the hits of several queries become one list."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MARGIN = 0.6
MIN_K = 3


def adaptive_k(
    content: NDArray[np.float64],
    named: NDArray[np.bool_],
    max_k: int,
    *,
    learned: NDArray[np.float64] | None = None,
) -> int:
    """How many of the best rows stand out, at most `max_k`.

    Kept are the rows that the query names and those whose content score is at least 0.6 times the best one,
    but never fewer than three. All arrays are in ranked order. On the dev sets this finds two points more
    of the relevant tools than a fixed k of the same mean size: see docs/benchmarks.md.

    With past requests, `learned` is the content score with what they add. It is compared with what the best
    content score is without, so that they never make the hits fewer.
    """
    if not len(content):
        return 0
    n_named = int(np.count_nonzero(named))
    others = (content if learned is None else learned)[n_named:]
    close = int(np.count_nonzero(others >= MARGIN * max(content.max(), 0.0))) if content.max() > 0 else 0
    least = MIN_K if not n_named else 0
    return min(max_k, len(content), max(n_named + close, least))


def in_turn(rankings: Sequence[Sequence[int]], k: int) -> list[tuple[int, int]]:
    """Up to `k` pairs (row, ranking it came from): first each ranking's best, then each one's second, …

    A row that several rankings hold is taken once, from the first of them that reaches it, and does not
    cost a later ranking its turn.
    """
    if len(rankings) == 1:
        return [(row, 0) for row in dict.fromkeys(rankings[0])][:k]
    taken: dict[int, int] = {}
    iterators = [iter(ranking) for ranking in rankings]
    alive = list(range(len(rankings)))
    while alive and len(taken) < k:
        for i in list(alive):
            row = next((row for row in iterators[i] if row not in taken), None)
            if row is None:
                alive.remove(i)
                continue
            taken[row] = i
            if len(taken) == k:
                break
    return list(taken.items())


def with_leaders(
    taken: Sequence[tuple[int, int]], leaders: Sequence[tuple[int, int]], k: int
) -> list[tuple[int, int]]:
    """`taken` with every row of `leaders`, as far as `k` allows it: the last of the others make room.

    Both hold pairs (row, ranking it came from). Where `k` is less than the number of leaders, `taken` stays
    as it is: none of them has a claim before the better rows.
    """
    due = dict(leaders)
    rows = {row for row, _ in taken}
    missing = [pair for pair in due.items() if pair[0] not in rows]
    if not missing or len(due) > k:
        return list(taken)
    n_spare = len(taken) + len(missing) - k
    spare = [row for row, _ in taken if row not in due][::-1][: max(n_spare, 0)]
    return [pair for pair in taken if pair[0] not in spare] + missing
