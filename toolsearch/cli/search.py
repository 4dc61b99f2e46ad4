"""`toolsearch search`: the tools that serve a request."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.cli.catalogs import load_catalog
from toolsearch.cli.options import AllowedTools, DeniedTools, EmbedderSpec, Json, OnlyServers, RerankerSpec
from toolsearch.cli.output import progress_bar, show_json
from toolsearch.cli.results import result_json, show_result

if TYPE_CHECKING:
    from toolsearch.embedders.base import Embedder
    from toolsearch.index.tool_index import ToolIndex


def search(
    query: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY",
            help="What the tool should do, or its name; each argument is one query. "
            "With - they are the lines of standard input.",
            show_default=False,
        ),
    ],
    index: Annotated[
        Path | None,
        typer.Option("-i", "--index", metavar="DIR", help="The index folder.", show_default=False),
    ] = None,
    *,
    catalog: Annotated[
        list[str] | None,
        typer.Option(
            "-c",
            "--catalog",
            metavar="CATALOG",
            help="In place of an index: what index build takes, such as a configuration of MCP servers or an "
            "OpenAPI document; embedded now, as far as no earlier run has.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("-k", metavar="N", help="Exactly N tools, fit or not. Without it the scores decide."),
    ] = None,
    max_k: Annotated[int, typer.Option(metavar="N", help="The most tools where -k is not given.")] = 10,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the parts of each score and the time of each stage.")
    ] = False,
    server: OnlyServers = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Only tools with one of these tags.")
    ] = None,
    allow: AllowedTools = None,
    deny: DeniedTools = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Only tools that claim to change nothing.")
    ] = False,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Leave these tools out, as already known.")
    ] = None,
    steps: Annotated[
        bool,
        typer.Option(
            "--steps/--no-steps", help="Search also for each step of a query that asks for several things."
        ),
    ] = True,
    embedder: EmbedderSpec = "",
    rerank: RerankerSpec = "",
    json: Json = False,
) -> None:
    """Find the tools that serve a request.

    Several queries are answered as one list that is fair to each. "select:NAME,NAME" takes tools by name.
    Options with NAME, TAG or GLOB may be given several times.
    """
    from toolsearch.rerankers.load import load_reranker
    from toolsearch.retrieval.base import SearchRequest
    from toolsearch.retrieval.filters import allowed_rows
    from toolsearch.retrieval.searcher import ToolSearcher

    queries = _queries(query)
    request = SearchRequest(
        queries=queries,
        k=k,
        max_k=max_k,
        sources=_set(server),
        tags=_set(tag),
        allow=tuple(allow) if allow else None,
        deny=tuple(deny or ()),
        read_only=read_only,
        exclude=frozenset(exclude or ()),
        steps=steps,
    )
    reranker = load_reranker(rerank) if rerank else None
    loaded, chosen = _opened(index, catalog or [], embedder)
    # So that the time of the search is not that of loading the models.
    chosen.embed_queries(())
    if reranker is not None:
        reranker.scores("search tools", ["search tools"])
    result = ToolSearcher(loaded, chosen, reranker=reranker).search(request)
    if json:
        show_json(result_json(queries, result, explain=explain))
        return
    allowed = allowed_rows(loaded, request)
    n_tools = len(loaded) if allowed is None else int(allowed.sum())
    show_result(queries, result, n_tools=n_tools, explain=explain)


def _opened(index: Path | None, catalogs: Sequence[str], embedder: str) -> tuple[ToolIndex, Embedder]:
    """The index in a folder, or one of catalogs, and the embedder that it was built with."""
    from toolsearch.cli.embedding import open_embedder, open_embedder_of
    from toolsearch.index.tool_index import ToolIndex
    from toolsearch.retrieval.building import build_index

    if (index is None) == (not catalogs):
        raise typer.BadParameter("give an index (-i) or catalogs (-c), and not both.", param_hint="-i")
    if index is not None:
        chosen = open_embedder_of(index, embedder, cache=False).embedder
        return ToolIndex.load(index, chosen), chosen
    loaded = load_catalog(catalogs)
    chosen = open_embedder(embedder, cache=True).embedder
    with progress_bar("Embedding") as progress:
        return build_index(loaded.catalog, chosen, progress=progress), chosen


def _queries(arguments: Sequence[str]) -> tuple[str, ...]:
    """The queries that are meant by the arguments, with the lines of standard input in place of ``-``."""
    queries: list[str] = []
    for argument in arguments:
        if argument != "-":
            queries.append(argument)
            continue
        lines = sys.stdin.buffer.read().decode("utf-8", "replace").splitlines()
        queries += [line for line in lines if line.strip()]
    if not queries:
        raise typer.BadParameter("standard input holds no query.", param_hint="QUERY")
    return tuple(queries)


def _set(values: Sequence[str] | None) -> frozenset[str] | None:
    return frozenset(values) if values else None
