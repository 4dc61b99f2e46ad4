"""`toolsearch tune`: an encoder for a catalog and for the requests that it gets."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolsearch.cli.catalogs import load_catalog
from toolsearch.cli.options import CatalogFiles, Json, Source, Strict
from toolsearch.cli.output import Column, counted, progress_bar, say, show, show_json, show_table

if TYPE_CHECKING:
    from toolsearch.catalog import Catalog
    from toolsearch.evaluation.datasets import Dataset
    from toolsearch.tuning.comparison import Gain
    from toolsearch.tuning.pairs import Example
    from toolsearch.tuning.training import StepReport
    from toolsearch.tuning.tune import TuneResult

_NEEDED = ("torch", "transformers", "onnx")
_VALIDATION_SHARE = 0.15
# Measurements without a gain, 25 steps apart, after which more steps only learn the requests by heart.
_PATIENCE = 2


def tune(
    catalog: CatalogFiles,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Write there.", show_default=False)
    ],
    *,
    queries: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help='Lines of {"id", "query", "gold": [tool ids]}; may be repeated.'),
    ] = None,
    usage: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help='Lines of {"query", "tools": [names]}: requests and calls.'),
    ] = None,
    write_queries: Annotated[
        str,
        typer.Option(
            "--write-queries",
            metavar="MODEL",
            help="A chat model that writes requests to train on: as for chat, or offline for a small one.",
            show_default=False,
        ),
    ] = "",
    base: Annotated[
        str,
        typer.Option(metavar="DIR", help="A BERT sentence encoder, or minilm; without, the bundled one."),
    ] = "",
    name: Annotated[str, typer.Option(metavar="NAME", help="Begins the embedder's id.")] = "tuned",
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many steps.")] = 150,
    minutes: Annotated[
        float, typer.Option(metavar="N", min=0.1, help="At most so long; fewer steps where they are slow.")
    ] = 12.0,
    held_out: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=0.9, help="Of the queries, to measure with.")
    ] = 0.3,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of everything that is drawn.")] = 0,
    threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Of the training.", show_default=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where it was interrupted.")] = False,
    static: Annotated[
        bool,
        typer.Option(
            "--static", help="Train nothing: write a table of the encoder's tokens, fast and weaker."
        ),
    ] = False,
    strict: Strict = False,
    source: Source = "",
    json: Json = False,
) -> None:
    """Tune the encoder on the tools of catalogs, and on queries where there are any.

    Part of the queries are held out, and the search is measured on them before and after. The folder is then
    an embedder: toolsearch index build CATALOG -o INDEX --embedder DIR.
    """
    if static:
        _distill(load_catalog(catalog, strict=strict, source=source).catalog, base, output, name, json=json)
        return
    _check_installed()
    from toolsearch.embedders.bundled import BundledEmbedder
    from toolsearch.embedders.tuned import TunedEmbedder
    from toolsearch.tuning.card import write_card
    from toolsearch.tuning.catalog_pairs import held_out_tools
    from toolsearch.tuning.comparison import compare
    from toolsearch.tuning.pairs import dataset_source
    from toolsearch.tuning.settings import TuneSettings
    from toolsearch.tuning.split import split_queries
    from toolsearch.tuning.tune import sources_for
    from toolsearch.tuning.tune import tune as run

    loaded = load_catalog(catalog, strict=strict, source=source)
    written = _written(loaded.catalog, write_queries) if write_queries else []
    asked = _queries(loaded.catalog, queries or (), usage or ())
    test: Dataset | None = None
    if asked is None:
        left_out, validation = held_out_tools(
            "held-out tools", tuple(loaded.catalog.values()), share=held_out / 2, seed=seed
        )
        sources = sources_for(loaded.catalog, without=left_out, written=written)
    else:
        learned, test = split_queries(asked, share=held_out, seed=seed)
        trained, stopping = split_queries(learned, share=_VALIDATION_SHARE if held_out else 0.0, seed=seed)
        validation = dataset_source(stopping, name="held-out queries")
        sources = sources_for(loaded.catalog, trained, written=written)
    settings = TuneSettings(
        steps=steps,
        minutes=minutes,
        seed=seed,
        threads=threads,
        evaluate_every=25,
        patience=_PATIENCE,
        checkpoint_every=25,
    )
    parts = [f"{counted(len(each), 'pair')} of {each.name}" for each in sources]
    say(f"Training on {', '.join(parts)}.")
    with _progress() as report:
        result = run(
            sources,
            out=output,
            settings=settings,
            held_out=[validation] if len(validation) else [],
            base=base,
            name=name,
            resume=resume,
            progress=report,
        )
    gains: tuple[Gain, ...] = ()
    if test is not None and any(query.gold for query in test.queries):
        answerable = replace(test, queries=tuple(query for query in test.queries if query.gold))
        gains = compare(answerable, BundledEmbedder(), TunedEmbedder(output))
    n_test = 0 if test is None else sum(bool(query.gold) for query in test.queries)
    data = [f"{counted(len(loaded.catalog), 'tool')} of {', '.join(catalog)}"]
    if written:
        data.append(f"{counted(len(written), 'request')} written by {write_queries}")
    data += [f"{source.name}: {counted(len(source), 'pair')}" for source in sources]
    write_card(result, command=_command_line(), data=data, gains=gains, n_held_out=n_test)
    if json:
        show_json({**result.to_json(), "held_out_queries": n_test, "gains": [asdict(g) for g in gains]})
        return
    _show(result, gains, n_test)


def _distill(catalog: Catalog, base: str, output: Path, name: str, *, json: bool) -> None:
    """The encoder's tokens as a table; the catalog says how often they come."""
    from toolsearch.document import render_document
    from toolsearch.embedders.bundled import BundledEmbedder
    from toolsearch.embedders.tuned import TunedEmbedder
    from toolsearch.tuning.static import distill

    encoder = TunedEmbedder(base) if base else BundledEmbedder()
    documents = list(map(render_document, catalog.values()))
    with progress_bar("Embedding tokens") as progress:
        made = distill(encoder, output, name=name, documents=documents, progress=progress)
    if json:
        show_json({"embedder_id": made.id, "distilled_from": encoder.id, "dim": made.dim})
        return
    show(f"Embedder {made.id} in {output}. Use it: --embedder {shlex.quote(_path(output))}")


def _check_installed() -> None:
    from toolsearch.exceptions import TuningError

    missing = [module for module in _NEEDED if find_spec(module) is None]
    if missing:
        raise TuningError(
            f"Tuning needs {', '.join(missing)}. Install the extra: pip install 'toolsearch[tune]'"
        )


def _queries(
    catalog: Catalog, queries: list[Path] | tuple[()], usage: list[Path] | tuple[()]
) -> Dataset | None:
    """The queries of all files over the catalog; those about tools that it lacks are left out and counted."""
    from toolsearch.evaluation.datasets import make_dataset, read_queries, tool_id
    from toolsearch.tuning.usage import known_only, read_usage

    files = [file for path in queries for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
    asked = [query for file in files for query in read_queries(file)]
    names = {name for tool in catalog.values() for name in (tool.name, tool_id(tool))}
    logged = [query for file in usage for query in read_usage(file)]
    known = known_only(logged, names)
    if len(known) < len(logged):
        say(f"{counted(len(logged) - len(known), 'request')} of the log called no tool of the catalog.")
    if not asked and not known:
        return None
    numbered = [replace(query, id=f"usage-{number}") for number, query in enumerate(known, start=1)]
    dataset = make_dataset("queries", catalog, [*asked, *numbered], drop_missing=True)
    if dataset.dropped:
        count = counted(len(dataset.dropped), "query")
        say(f"{count} left out: the catalog lacks tools that they need.")
    return dataset


def _written(catalog: Catalog, spec: str) -> list[Example]:
    """What the model writes for each tool, as far as the untuned search finds the tool by it."""
    import asyncio

    from toolsearch.chat.load import load_chat_model
    from toolsearch.document import render_document
    from toolsearch.embedders.bundled import BundledEmbedder
    from toolsearch.tuning.offline import offline_model
    from toolsearch.tuning.written import keep_findable, write_queries

    tools = tuple(catalog.values())

    async def write() -> list[Example]:
        with progress_bar("Writing requests") as progress:
            if spec == "offline":
                async with offline_model() as model:
                    return await write_queries(tools, model, progress=progress)
            hosted = load_chat_model(spec)
            try:
                return await write_queries(tools, hosted, at_once=4, progress=progress)
            finally:
                await hosted.aclose()

    try:
        examples = asyncio.run(write())
    except ValueError as exc:
        raise typer.BadParameter(str(exc), param_hint="--write-queries") from exc
    kept = keep_findable(examples, list(map(render_document, tools)), BundledEmbedder())
    say(f"{counted(len(kept), 'request')} kept of {len(examples):,} that {spec} wrote.")
    return kept


@contextmanager
def _progress() -> Iterator[Callable[[StepReport], None]]:
    """Draws a bar on a terminal; elsewhere only what was measured is said."""
    with progress_bar("Training") as draw:

        def report(step: StepReport) -> None:
            if draw is not None:
                draw(step.step, step.steps)
            if step.ndcg is not None:
                loss = "" if step.step == 0 else f"loss {step.loss:.3f}, "
                say(
                    f"step {step.step} of {step.steps}: {loss}NDCG@10 held out {step.ndcg:.3f}, "
                    f"{step.seconds / 60:.1f} min"
                )

        yield report


def _show(result: TuneResult, gains: tuple[Gain, ...], n_test: int) -> None:
    if gains:
        columns: list[Column] = [
            ("search", "left"),
            ("measure", "left"),
            ("before", "right"),
            ("after", "right"),
            ("gain", "right"),
            ("95 %", "left"),
        ]
        rows = [
            (
                gain.retriever,
                gain.measure,
                f"{gain.before:.3f}",
                f"{gain.after:.3f}",
                f"{gain.after - gain.before:+.3f}",
                f"[{gain.low:+.3f}, {gain.high:+.3f}]",
            )
            for gain in gains
        ]
        show(f"On {counted(n_test, 'query')} held out:")
        show_table(columns, rows)
    folder = shlex.quote(_path(result.folder))
    show(f"Embedder {result.embedder_id} in {result.folder}. Use it: --embedder {folder}")


def _path(folder: Path) -> str:
    """The folder so that `load_embedder` takes it for one."""
    return str(folder) if folder.is_absolute() else f"./{folder.as_posix()}"


def _command_line() -> str:
    arguments: list[Any] = sys.argv[1:]
    return shlex.join(["toolsearch", *map(str, arguments)])
