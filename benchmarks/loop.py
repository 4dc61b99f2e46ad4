"""Whole conversations over a catalog, with tool search and without: what is selected, and what it costs.

    python -m benchmarks.loop [--data DIR]
    python -m benchmarks.loop --model SPEC [--tasks N] [--arms append,bridge]

A scripted selector (see `benchmarks/loop_selector.py` for what it assumes) or a real model goes through the
real tool-calling loop and the real search, in each arm of `benchmarks/loop_arms.py`. Tokens are counted with
one tokenizer in all arms, whatever the model. The scripted benchmark writes benchmarks/results/loop.json; a
real model's outcome is printed, and written where --output says.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, is_there, load_named
from benchmarks.embedding import RememberingEmbedder, make_embedder
from benchmarks.loop_arms import ARMS, Bench, Outcome, run_task
from benchmarks.loop_break_even import break_even
from benchmarks.loop_prompt import CACHED_PRICE, LEAST_CACHED_TOKENS
from benchmarks.loop_selector import ASSUMPTIONS, MAX_SEARCHES, WORDS, Selector
from benchmarks.loop_summary import arms_summary, print_arms
from benchmarks.loop_tasks import Task, joined_tasks, tasks_of, with_words_lost
from benchmarks.machine import describe_machine
from benchmarks.results import RESULTS, SEED, write_json
from toolsearch.chat import ChatModel
from toolsearch.chat.load import KNOWN_SPECS, load_chat_model
from toolsearch.evaluation.datasets import Dataset
from toolsearch.evaluation.report import measured_versions
from toolsearch.exceptions import ToolSearchError
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.tokens import DEFAULT_ENCODING, catalog_tokens
from toolsearch.tools import JsonObject

LOOP = RESULTS / "loop.json"

SETS = ("livemcpbench", "toolbench", "acebench", "sealtools", "toollinkos", "metatool", "nestful")
"""Bench sets with at least 100 tools, whose requests are searched for verbatim."""

TASKS_OF_A_SET = 60
TASKS_OF_A_MODEL = 20

MODEL_ARMS = ("oracle", "append", "bridge", "native")
"""What a real model is measured in unless others are asked for: OpenAI takes no more than 128 tools."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.model:
            result = asyncio.run(with_model(options))
            output = options.output
        else:
            result = asyncio.run(scripted(options.data))
            output = options.output or LOOP
    except (ToolSearchError, ValueError) as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2
    if output is not None:
        write_json(result, output)
    return 0


async def scripted(data: Path) -> JsonObject:
    """The whole scripted benchmark over the demo set, and over the bench sets that are under `data`."""
    demo, embedder = load_named("demo", data), make_embedder("bundled")
    bench = _bench(demo, embedder)
    several = tasks_of(demo, ["several"])
    three = [task for task in several if len(task.needs) == 3] + joined_tasks(demo, seed=SEED)
    groups = {
        "three tools": three,
        "several tools, as written": several,
        "one tool": [t for t in tasks_of(demo, ["direct", "paraphrase", "ambiguous"]) if t.needs],
        "other languages": tasks_of(demo, ["language"]),
        "nothing serves": tasks_of(demo, ["nothing"]),
    }
    result: JsonObject = {
        "command": "python -m benchmarks.loop",
        **_circumstances(demo, embedder),
        "assumptions": list(ASSUMPTIONS),
        "words": dict(WORDS),
        "searches_allowed": MAX_SEARCHES,
        "groups": {},
    }
    for name, tasks in groups.items():
        found = {words: await _all_arms(bench, tasks, partial(Selector, words=words)) for words in WORDS}
        result["groups"][name] = {
            "tasks": len(tasks),
            "needs": sum(len(task.needs) for task in tasks),
            **{words: arms_summary(outcomes) for words, outcomes in found.items()},
        }
        for words, outcomes in found.items():
            print_arms(f"{name}, {words}", arms_summary(outcomes))
    result["by_searches"] = {
        "rephrased": await _by_searches(bench, three),
        "rephrased, a word less": await _by_searches(bench, with_words_lost(three, 1, seed=SEED)),
        "rephrased, two words less": await _by_searches(bench, with_words_lost(three, 2, seed=SEED)),
        "verbatim": await _by_searches(bench, three, "verbatim"),
    }
    result["break_even"] = await break_even(demo.catalog, three, embedder, seed=SEED)
    result["sets"] = {
        name: await _set(name, data, embedder) for name in SETS if is_there(BENCH_PREFIX + name, data)
    }
    return result


async def with_model(options: argparse.Namespace) -> JsonObject:
    """The chosen arms over some of the demo's three-tool tasks, with a real model."""
    model = load_chat_model(options.model)
    demo, embedder = load_named("demo", options.data), make_embedder("bundled")
    bench = _bench(demo, embedder)
    three = [task for task in tasks_of(demo, ["several"]) if len(task.needs) == 3] + joined_tasks(
        demo, seed=SEED
    )
    tasks = _some(three, options.tasks or TASKS_OF_A_MODEL)
    default = MODEL_ARMS if model.native_search else [arm for arm in MODEL_ARMS if arm != "native"]
    arms = options.arms.split(",") if options.arms else default
    outcomes = {arm: await _arm(bench, arm, tasks, lambda _: model) for arm in arms}
    summary = arms_summary(outcomes)
    print_arms(f"{len(tasks)} three-tool tasks, {model.id}", summary)
    return {"model": model.id, **_circumstances(demo, embedder), "tasks": len(tasks), "arms": summary}


async def _set(name: str, data: Path, embedder: RememberingEmbedder) -> JsonObject:
    dataset = load_named(BENCH_PREFIX + name, data)
    bench = _bench(dataset, embedder)
    tasks = _some([task for task in tasks_of(dataset) if task.needs], TASKS_OF_A_SET)
    arms = ["oracle", "send-all", "append", "bridge"]
    summary = arms_summary(await _all_arms(bench, tasks, partial(Selector, words="verbatim"), arms))
    print_arms(f"{name}, {len(dataset.catalog):,} tools, verbatim", summary)
    return {
        "tools": len(dataset.catalog),
        "fingerprint": dataset.catalog.fingerprint,
        "definition_tokens": sum(catalog_tokens(dataset.catalog.values()).values()),
        "tasks": len(tasks),
        "needs": sum(len(task.needs) for task in tasks),
        "verbatim": summary,
    }


async def _by_searches(bench: Bench, tasks: Sequence[Task], words: str = "rephrased") -> list[JsonObject]:
    """What is selected, and at which cost, when at most one, two … searches are allowed."""
    rows = []
    for n in range(1, MAX_SEARCHES + 1):
        found = await _arm(bench, "append", tasks, partial(Selector, words=words, max_searches=n))
        row = arms_summary({"append": found})["append"]
        rows.append({"searches": n, **{key: row[key] for key in ("selection", "resolved", "per_resolved")}})
    return rows


async def _all_arms(
    bench: Bench,
    tasks: Sequence[Task],
    model_for: Callable[[Task], ChatModel],
    arms: Sequence[str] = tuple(ARMS),
) -> dict[str, list[Outcome]]:
    return {arm: await _arm(bench, arm, tasks, model_for) for arm in arms}


async def _arm(
    bench: Bench, arm: str, tasks: Sequence[Task], model_for: Callable[[Task], ChatModel]
) -> list[Outcome]:
    return [await run_task(bench, arm, task, model_for, after=tasks[i - 1]) for i, task in enumerate(tasks)]


def _bench(dataset: Dataset, embedder: RememberingEmbedder) -> Bench:
    return Bench.of(dataset.catalog, ToolSearcher(build_index(dataset.catalog, embedder), embedder))


def _some(tasks: Sequence[Task], n: int) -> list[Task]:
    """`n` of the tasks, drawn by the benchmark's seed, in their order; all where there are fewer."""
    if len(tasks) <= n:
        return list(tasks)
    drawn = np.random.default_rng(SEED).choice(len(tasks), n, replace=False)
    return [tasks[i] for i in sorted(drawn)]


def _circumstances(demo: Dataset, embedder: RememberingEmbedder) -> JsonObject:
    return {
        "machine": describe_machine(),
        "versions": measured_versions(),
        "seed": SEED,
        "embedder": embedder.id,
        "tokenizer": DEFAULT_ENCODING,
        "cached_price": CACHED_PRICE,
        "least_cached_tokens": LEAST_CACHED_TOKENS,
        "catalog": {
            "tools": len(demo.catalog),
            "fingerprint": demo.catalog.fingerprint,
            "definition_tokens": sum(catalog_tokens(demo.catalog.values()).values()),
        },
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.loop",
        description="Whole conversations with tool search and without, by a scripted or a real model.",
    )
    add = parser.add_argument
    add("--data", type=Path, default=DEFAULT_DATA, metavar="DIR", help="folder of the bench sets")
    add("--model", metavar="SPEC", help=f"a real model: {KNOWN_SPECS}")
    add("--tasks", type=int, metavar="N", help=f"tasks for a real model, {TASKS_OF_A_MODEL} by default")
    add("--arms", metavar="ARM,ARM", help=f"for a real model, of {', '.join(ARMS)}")
    add("--output", type=Path, metavar="FILE", help="where the result goes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
