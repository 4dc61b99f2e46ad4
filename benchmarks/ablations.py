"""What the constants of a search were chosen by: one table each, over the dev queries of the bench sets.

    python -m benchmarks.ablations [--table NAME] [--data DIR] [--encoders DIR] [--reranker DIR]

Writes benchmarks/results/tables/NAME.json, which `python -m benchmarks.report` shows. In all but the table of
names, names take no part. The table of averages needs the trainings, in the folders final, fold1, fold2 and
fold3 of `--encoders`, that of reranking what `benchmarks.train_reranker` wrote.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.absent import absent
from benchmarks.averages import averages
from benchmarks.conditions import read_conditions
from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, is_there, load_named
from benchmarks.documents import COMPOSITIONS
from benchmarks.embedding import RememberingEmbedder, make_embedder
from benchmarks.encoder_speed import encoder_speed
from benchmarks.graph import graph
from benchmarks.int8 import int8
from benchmarks.languages import languages
from benchmarks.late import late
from benchmarks.machine import describe_machine
from benchmarks.names import names
from benchmarks.rerank import rerank
from benchmarks.results import REFERENCE, RESULTS, write_json
from benchmarks.scored import DEPTH, ScoredSet, Scores, score_set
from benchmarks.static import static
from benchmarks.steps import steps
from benchmarks.unread import unread
from benchmarks.vectors import vectors
from toolsearch.document import render_document
from toolsearch.evaluation import metrics
from toolsearch.evaluation.datasets import Dataset
from toolsearch.evaluation.report import measured_versions
from toolsearch.evaluation.retrievers import make_retriever
from toolsearch.evaluation.runner import evaluate
from toolsearch.exceptions import EvaluationError, ToolSearchError
from toolsearch.retrieval.cut import MARGIN, MIN_K
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT
from toolsearch.retrieval.searcher import NOTHING_FITS_BELOW
from toolsearch.tools import JsonObject

TABLES_FOLDER = RESULTS / "tables"

EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
WEIGHTS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.1, 0.15)
MARGINS = (0.5, 0.6, 0.7, 0.8)
FIXED = (3, 5, 7, 10)
THRESHOLDS = (0.5, 0.7, 0.8, 0.85, 0.88, 0.9, 0.95)

Table: TypeAlias = Callable[[Sequence[Dataset], RememberingEmbedder], JsonObject]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the tables that the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ablations", description="Measure alternatives."
    )
    parser.add_argument(
        "--table", action="append", choices=[*TABLES, *NEEDED], help="only this one; may be repeated"
    )
    parser.add_argument(
        "--data", type=Path, default=DEFAULT_DATA, metavar="DIR", help="folder of the bench sets"
    )
    parser.add_argument("--results", type=Path, default=TABLES_FOLDER, metavar="DIR")
    parser.add_argument("--encoders", type=Path, metavar="DIR", help="trainings, for the table of averages")
    parser.add_argument("--reranker", type=Path, metavar="DIR", help="a training, for the table of reranking")
    options = parser.parse_args(arguments)
    tables: dict[str, Table] = {
        **TABLES,
        "averages": partial(averages, encoders=options.encoders),
        "rerank": partial(rerank, folder=options.reranker),
    }
    lacking = {name for name, option in NEEDED.items() if not getattr(options, option)}
    asked = options.table or [name for name in tables if name not in lacking]
    for name in lacking.intersection(asked):
        parser.error(f"The table of {name} needs --{NEEDED[name]}, the folder of what was trained.")
    embedder = make_embedder("bundled")
    try:
        datasets = _datasets(options.data)
    except ToolSearchError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2
    for name in asked:
        print(f"measuring {name}", flush=True)
        table = {
            **tables[name](datasets, embedder),
            "command": _command(name),
            "embedder": embedder.id,
            "machine": describe_machine(),
            "versions": measured_versions(),
            "fingerprints": {dataset.name: dataset.catalog.fingerprint for dataset in datasets},
        }
        write_json(table, options.results / f"{name}.json")
    return 0


def fusion(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """The power of the ceiling that BM25 is divided by, and the weight of the result."""
    scored = [score_set(dataset, embedder) for dataset in datasets]
    middle = float(np.median(np.concatenate([s.ceilings for s in scored])))
    rows = []
    for exponent in EXPONENTS:
        scale = middle**exponent
        tried = {
            weight: _means(scored, partial(ScoredSet.fused, weight=weight * scale, exponent=exponent))
            for weight in WEIGHTS
        }
        best = max(tried, key=lambda weight: tried[weight]["ndcg@10"])
        shown = WEIGHTS if exponent == 0 else (best,)
        rows += [[exponent, weight, *tried[weight].values()] for weight in shown]
    return {
        "title": "Weight and scale of the lexical channel",
        "text": (
            "The score is the cosine plus a weight times BM25 over a power of the most that the query could "
            "reach. For each exponent the best weight is shown, for 0, which is BM25 itself, all of them; "
            "weights of other exponents are scaled so that the middle query weighs the same. The default is "
            f"0 and {LEXICAL_WEIGHT}."
        ),
        "columns": ["exponent", "weight", "recall@1", "recall@5", "completeness@10", "NDCG@10"],
        "rows": rows,
    }


def cut(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """How many hits a search gives: a fixed number, or those near enough to the best."""
    scored = [score_set(dataset, embedder) for dataset in datasets]
    keeps: dict[str, Callable[[Scores], int]] = {f"k = {k}": partial(_fixed, k=k) for k in FIXED}
    keeps |= {f"within {margin} of the best": partial(kept_by_margin, margin=margin) for margin in MARGINS}
    rows = [[name, *_cut_figures(scored, keep)] for name, keep in keeps.items()]
    return {
        "title": "How many hits",
        "text": (
            "A fixed k against keeping the hits whose score is at least a share of the best one's, at least "
            f"{MIN_K} and at most {DEPTH}. The default share is {MARGIN}."
        ),
        "columns": [
            "rule",
            "hits, mean",
            "relevant tools found",
            "queries answered in full",
            "share relevant",
        ],
        "rows": rows,
    }


def nothing_fits(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """The confidence under which a search says that nothing fits, on the demo set."""
    del datasets
    demo = load_named("demo", DEFAULT_DATA)
    report = evaluate(make_retriever("hybrid", demo.catalog, embedder), demo)
    asked = [outcome for outcome in report.outcomes if not outcome.error]
    sides = [
        np.array(
            [1.0 if o.confidence is None else o.confidence for o in asked if bool(o.query.gold) is served]
        )
        for served in (False, True)
    ]
    return {
        "title": "When nothing fits",
        "text": (
            f"On the demo set: of {len(sides[0])} requests that nothing serves and {len(sides[1])} that some "
            "tool does, the share that is told that nothing fits when the confidence is below a threshold. A "
            "request that the encoder cannot read is never told so. "
            f"The default threshold is {NOTHING_FITS_BELOW}."
        ),
        "columns": ["threshold", "of those that nothing serves", "of the others"],
        "rows": [[t, *(round(float((side < t).mean()), 4) for side in sides)] for t in THRESHOLDS],
    }


def documents(datasets: Sequence[Dataset], embedder: RememberingEmbedder) -> JsonObject:
    """What the text of a tool that is embedded is made of, with the dense channel alone and fused."""
    rows = []
    for name, compose in {**COMPOSITIONS, "the default": render_document}.items():
        scored = [score_set(dataset, embedder, compose) for dataset in datasets]
        dense = _means(scored, partial(ScoredSet.fused, weight=0.0, exponent=0.0))
        fused = _means(scored, partial(ScoredSet.fused, weight=LEXICAL_WEIGHT, exponent=0.0))
        rows.append([name, dense["recall@5"], dense["ndcg@10"], fused["recall@5"], fused["ndcg@10"]])
    return {
        "title": "What is embedded of a tool",
        "text": "Each text of a tool with the dense channel alone and fused with the same lexical channel.",
        "columns": ["text", "dense recall@5", "dense NDCG@10", "fused recall@5", "fused NDCG@10"],
        "rows": rows,
    }


TABLES: Mapping[str, Table] = {
    "documents": documents,
    "fusion": fusion,
    "cut": cut,
    "names": names,
    "nothing-fits": nothing_fits,
    "absent": absent,
    "unread": unread,
    "languages": languages,
    "encoder-speed": encoder_speed,
    "graph": graph,
    "steps": steps,
    "vectors": vectors,
    "late": late,
    "static": static,
    "int8": int8,
}

NEEDED: Mapping[str, str] = {"averages": "encoders", "rerank": "reranker"}
"""Tables that need more than the bench sets, and the option that says where it is."""


def _command(name: str) -> str:
    option = f" --{NEEDED[name]} DIR" if name in NEEDED else ""
    return f"python -m benchmarks.ablations --table {name}{option}"


def _fixed(scores: Scores, k: int) -> int:
    return min(k, len(scores))


def kept_by_margin(scores: Scores, margin: float) -> int:
    """How many of the ranked `scores` are at least `margin` of the best, within the least and the most."""
    close = int(np.count_nonzero(scores >= margin * scores[0])) if scores[0] > 0 else 0
    return min(DEPTH, max(close, MIN_K))


def _means(scored: Sequence[ScoredSet], scores_of: Callable[[ScoredSet], Scores]) -> dict[str, float]:
    """Measures averaged within each set and then over the sets."""
    per_set = []
    for one in scored:
        columns: dict[str, list[float]] = {
            "recall@1": [],
            "recall@5": [],
            "completeness@10": [],
            "ndcg@10": [],
        }
        for query, ids, _ in one.rankings(scores_of(one)):
            gold, other = query.gold, query.alternatives
            columns["recall@1"].append(metrics.recall_at_k(ids, gold, 1, alternatives=other))
            columns["recall@5"].append(metrics.recall_at_k(ids, gold, 5, alternatives=other))
            columns["completeness@10"].append(metrics.completeness_at_k(ids, gold, DEPTH, alternatives=other))
            columns["ndcg@10"].append(metrics.ndcg_at_k(ids, gold, DEPTH, alternatives=other))
        per_set.append({name: metrics.mean(column) for name, column in columns.items()})
    return {name: round(metrics.mean(row[name] for row in per_set), 4) for name in per_set[0]}


def _cut_figures(scored: Sequence[ScoredSet], keep: Callable[[Scores], int]) -> list[float]:
    per_set = []
    for one in scored:
        figures = []
        for query, ids, scores in one.rankings(one.fused(LEXICAL_WEIGHT, 0.0)):
            kept = ids[: keep(scores)]
            arguments = (kept, query.gold, len(kept))
            figures.append(
                (
                    len(kept),
                    metrics.recall_at_k(*arguments, alternatives=query.alternatives),
                    metrics.completeness_at_k(*arguments, alternatives=query.alternatives),
                    metrics.precision_at_k(*arguments, alternatives=query.alternatives),
                )
            )
        per_set.append([metrics.mean(column) for column in zip(*figures, strict=True)])
    return [round(metrics.mean(column), 4) for column in zip(*per_set, strict=True)]


def _datasets(data: Path) -> list[Dataset]:
    names = [name for name in read_conditions()[REFERENCE].expected if name.startswith(BENCH_PREFIX)]
    found = [load_named(name, data) for name in names if is_there(name, data)]
    if not found:
        raise EvaluationError(f"There is no bench set under {data}. Name their folder with --data.")
    return found


if __name__ == "__main__":
    sys.exit(main())
