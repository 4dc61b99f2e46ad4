"""`toolsearch eval`: how well a retriever finds what queries ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli.options import EmbedderSpec, Json, NoCache, RerankerSpec
from toolsearch.cli.output import Column, counted, progress_bar, say, show, show_json, show_table

if TYPE_CHECKING:
    from toolsearch.evaluation.report import EvaluationReport


def evaluate(
    catalog: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The tools: a JSONL file or a folder of them.", show_default=False),
    ],
    queries: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help='Lines of {"id", "query", "gold": [tool ids]}: a JSONL file or a folder of them.',
            show_default=False,
        ),
    ],
    *,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="Deepest rank that counts.")] = 10,
    retriever: Annotated[str, typer.Option(help="hybrid, whole, dense, lexical, names or rrf.")] = "hybrid",
    embedder: EmbedderSpec = "",
    rerank: RerankerSpec = "",
    near_duplicates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='Lines of {"ids": [tool ids]}: tools to count as one.'),
    ] = None,
    run: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the rankings there, as JSONL.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the bootstrap.")] = 0,
    no_cache: NoCache = False,
    json: Json = False,
) -> None:
    """Measure a retriever on judged queries.

    Recall, hit rate, completeness and NDCG at k, and MRR, with 95 % bootstrap intervals; times; and how well
    "nothing fits" is told where some queries have no tool.
    """
    from toolsearch.cli.embedding import open_embedder
    from toolsearch.evaluation.datasets import load_dataset
    from toolsearch.evaluation.retrievers import make_retriever
    from toolsearch.evaluation.runner import evaluate as evaluate_retriever
    from toolsearch.rerankers.load import load_reranker

    reranker = load_reranker(rerank) if rerank else None
    dataset = load_dataset(catalog, queries, near_duplicates)
    chosen = open_embedder(embedder, cache=not no_cache).embedder
    searcher = make_retriever(retriever, dataset.catalog, chosen, reranker=reranker)
    with progress_bar("Searching") as progress:
        report = evaluate_retriever(
            searcher,
            dataset,
            k=k,
            retriever_id=retriever if reranker is None else f"{retriever} + {reranker.id}",
            embedder_id=chosen.id,
            seed=seed,
            progress=progress,
        )
    if run is not None:
        report.write_run(run)
    if json:
        show_json(report.to_json())
        return
    _show(report)
    if run is not None:
        say(f"The rankings are in {run}.")


def _show(report: EvaluationReport) -> None:
    show(
        f"{report.dataset}: {counted(len(report.scored), 'query')} with known tools "
        f"over {counted(report.n_tools, 'tool')}, "
        f"{report.settings.retriever_id}, {report.settings.embedder_id}"
    )
    columns: list[Column] = [("measure", "left"), ("mean", "right"), ("95 % interval", "left")]
    rows = [
        [name, f"{mean:.3f}", f"{report.intervals[name].low:.3f} to {report.intervals[name].high:.3f}"]
        for name, mean in report.means.items()
    ]
    if report.near:
        columns.append(("near", "right"))
        for row in rows:
            row.append(f"{report.near[row[0]]:.3f}")
    show_table(columns, rows)
    if report.kinds:
        measures = [name for name in report.means if name in _BY_KIND]
        by_kind: list[Column] = [("kind", "left"), ("queries", "right")]
        show()
        show_table(
            by_kind + [(name, "right") for name in measures],
            [
                [kind, f"{row['queries']:.0f}", *(f"{row[name]:.3f}" for name in measures)]
                for kind, row in report.kinds.items()
            ],
        )
    show()
    if report.abstention is not None:
        some = report.abstention
        told = "" if some.auroc is None else f", AUROC {some.auroc:.3f}"
        asked = counted(some.unanswerable, "query")
        show(
            f"nothing fits: said of {some.abstained:.1%} of {asked} without a tool "
            f"and of {some.false_alarms:.1%} of the others{told}"
        )
    middle, slow = report.query_ms(50), report.query_ms(95)
    if middle is not None and slow is not None:
        show(f"a search takes {middle:.1f} ms (median), {slow:.1f} ms (95th percentile)")
    if report.errors:
        failed = counted(len(report.errors), "failed query")
        say(f"{failed} left out of the means; the first error: {report.errors[0].error}")


_BY_KIND = ("recall@1", "recall@5", "recall@10", "completeness@10", "ndcg@10", "mrr")
