"""From how many tools on a search costs less than sending them all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.loop_arms import Bench, run_task
from benchmarks.loop_selector import Selector
from benchmarks.loop_tasks import Task
from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Embedder
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.tools import JsonObject

SIZES = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 374)
ARMS = ("send-all", "append", "bridge", "native", "preselect")
MEASURES = ("tokens", "cost_cold", "cost_warm")
TASKS = 24


async def break_even(
    catalog: Catalog,
    tasks: Sequence[Task],
    embedder: Embedder,
    *,
    seed: int,
    sizes: Sequence[int] = SIZES,
    n_tasks: int = TASKS,
) -> JsonObject:
    """Mean tokens for a task over growing catalogs, and for each arm the size from which it costs less.

    For each size and each of `n_tasks` tasks drawn by `seed`, the catalog is the task's relevant tools and
    others drawn from `catalog`; a larger one holds the smaller. Sizes between two measured ones are
    interpolated; None where the arm never costs less.
    """
    random = np.random.default_rng(seed)
    drawn = [tasks[i] for i in sorted(random.choice(len(tasks), min(n_tasks, len(tasks)), replace=False))]
    orders = [_order(task, catalog, random) for task in drawn]
    sizes = [size for size in sizes if size <= len(catalog)]
    means: dict[str, dict[str, list[float]]] = {m: {arm: [] for arm in ARMS} for m in MEASURES}
    for size in sizes:
        outcomes: dict[str, list[tuple[float, float, float]]] = {arm: [] for arm in ARMS}
        for i, (task, order) in enumerate(zip(drawn, orders, strict=True)):
            part = Catalog(catalog[name] for name in order[:size])
            bench = Bench.of(part, ToolSearcher(build_index(part, embedder), embedder))
            for arm in ARMS:
                outcome = await run_task(bench, arm, task, Selector, after=drawn[i - 1])
                outcomes[arm].append((outcome.all_tokens, outcome.cost(warm=False), outcome.cost(warm=True)))
        for arm, rows in outcomes.items():
            for measure, mean in zip(MEASURES, np.mean(rows, axis=0), strict=True):
                means[measure][arm].append(round(float(mean), 1))
    return {
        "tasks": len(drawn),
        "sizes": sizes,
        **means,
        "break_even": {
            measure: {
                arm: crossing(sizes, by_arm["send-all"], by_arm[arm]) for arm in ARMS if arm != "send-all"
            }
            for measure, by_arm in means.items()
        },
    }


def crossing(sizes: Sequence[int], whole: Sequence[float], search: Sequence[float]) -> int | None:
    """The size from which `search` stays below `whole`, between two sizes by a straight line; None for none.

    >>> crossing([10, 20], [100, 200], [150, 150])
    15
    """
    gaps = [a - b for a, b in zip(whole, search, strict=True)]
    if gaps[-1] <= 0:
        return None
    last = max((i for i, gap in enumerate(gaps) if gap <= 0), default=-1)
    if last < 0:
        return sizes[0]
    share = -gaps[last] / (gaps[last + 1] - gaps[last])
    return round(sizes[last] + share * (sizes[last + 1] - sizes[last]))


def _order(task: Task, catalog: Catalog, random: np.random.Generator) -> list[str]:
    relevant = [need[0] for need in task.needs]
    others = [name for name in catalog if name not in relevant]
    return [*relevant, *(others[i] for i in random.permutation(len(others)))]
