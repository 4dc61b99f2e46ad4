"""Train the encoder that ships, or one that has never seen some sets.

    python -m benchmarks.train_encoder -o DIR [--data DIR] [--leave-out SET ...] [--steps N] [--seed N]

Trained on the dev queries of `QUERIED` and on the tools of `TOLD`. The sets of `NEVER` are not trained on,
nor is a tool of another set that has a description of theirs; neither are the sets left out.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, load_named
from benchmarks.results import SEED
from toolsearch.sources.files import read_catalog
from toolsearch.tools import Tool
from toolsearch.tuning.catalog_pairs import catalog_source
from toolsearch.tuning.encoder import MINILM
from toolsearch.tuning.negatives import mine_negatives
from toolsearch.tuning.pairs import Example, PairSource, dataset_source, mix
from toolsearch.tuning.settings import TuneSettings
from toolsearch.tuning.training import StepReport
from toolsearch.tuning.tune import QUERY_SHARE, tune

QUERIED = (
    "acebench",
    "apibank",
    "metatool",
    "nestful",
    "sealtools",
    "toolalpaca",
    "toolbench",
    "toollinkos",
    "tooltalk",
)
"""Bench sets whose queries are trained on."""

TOLD = (
    "composio",
    "docker_mcp",
    "github_mcp",
    "github_rest",
    "google",
    "mcp_snapshots",
    "openapi_dir",
    "slack",
    "tooleyes",
    "toolsdk",
    "toucan",
    "twilio",
)
"""Catalogs without queries: the parts of a tool are trained on."""

NEVER = ("demo", "bfcl", "bench/bfcl", "bench/livemcpbench")
MOST_QUERIES = 4000
KEEP = 0.6
"""Of the change; chosen on sets that were left out: docs/benchmarks.md."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the command line says, and write the encoder; the exit code."""
    options = _parser().parse_args(arguments)
    settings = TuneSettings(
        steps=options.steps,
        seed=options.seed,
        rank=options.rank,
        alpha=2.0 * options.rank,
        layers=options.layers,
        learning_rate=options.learning_rate,
        keep=options.keep,
        batch_pairs=options.pairs,
        hard_negatives=options.hard,
        document_tokens=96,
        threads=options.threads,
        checkpoint_every=25,
    )
    result = tune(
        training_sources(options.data, leave_out=options.leave_out),
        out=options.output,
        base=options.base,
        resume=options.resume,
        name="toolsearch-minilm",
        settings=settings,
        progress=_show,
    )
    print(result.embedder_id, result.check)
    return 0


def training_sources(data: Path, *, leave_out: Sequence[str] = ()) -> list[PairSource]:
    """What is trained on, with mined negatives; the larger a source, the more often it is drawn, by its root.

    Raises:
        EvaluationError: a set is not there, or not as it should be.
    """
    unseen = [load_named(name, data) for name in (*NEVER, *(BENCH_PREFIX + name for name in leave_out))]
    texts = {text_of(tool) for dataset in unseen for tool in dataset.catalog.values()}

    asked: list[PairSource] = []
    for name in QUERIED:
        if name not in leave_out:
            source = dataset_source(load_named(BENCH_PREFIX + name, data))
            rows = {row for row, tool in enumerate(source.tools) if text_of(tool) in texts}
            examples = [example for example in source.examples if not rows.intersection(example.positives)]
            asked.append(mine_negatives(source.with_examples(_spread(examples, MOST_QUERIES))))
            print(f"{name}: {len(asked[-1])} examples, {len(rows)} tools kept out", flush=True)

    told: list[PairSource] = []
    for name in TOLD:
        tools = read_catalog(data / name / "catalog.jsonl").catalog.values()
        kept = tuple(tool for tool in tools if text_of(tool) not in texts)
        told.append(mine_negatives(catalog_source(name, kept)))
        print(f"{name}: {len(told[-1])} examples, {len(tools) - len(kept)} tools kept out", flush=True)
    return mix((asked, QUERY_SHARE), (told, 1 - QUERY_SHARE))


def _show(report: StepReport) -> None:
    if report.step % 25 == 0:
        print(
            f"step {report.step} of {report.steps}: loss {report.loss:.3f}, {report.seconds:.0f} s",
            flush=True,
        )


def text_of(tool: Tool) -> str:
    """What a tool is told apart by: its description, or its name where that says little."""
    words = re.findall(r"\w+", tool.description.casefold())
    return " ".join(words)[:200] if len(words) > 3 else tool.name


def _spread(examples: Sequence[Example], most: int) -> list[Example]:
    """At most `most` of them, evenly over the whole."""
    return (
        [examples[at * len(examples) // most] for at in range(most)]
        if len(examples) > most
        else list(examples)
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.train_encoder", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="DIR")
    parser.add_argument("--leave-out", nargs="+", default=[], metavar="SET")
    parser.add_argument("--base", default=MINILM, metavar="DIR", help="begin with these weights")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--hard", type=int, default=1)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--keep", type=float, default=KEEP, help="share of the change that is merged")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--resume", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
