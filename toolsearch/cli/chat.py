"""`toolsearch chat`: a conversation with a model that finds its tools, and a view of what it sees."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolsearch.cli.catalogs import load_catalog
from toolsearch.cli.options import DeliveryWay, EmbedderSpec, Json, NoCache
from toolsearch.cli.output import printable, say, show, show_json

if TYPE_CHECKING:
    from toolsearch.chat.base import ChatResponse
    from toolsearch.chat.model import HttpChatModel
    from toolsearch.router import ToolRouter
    from toolsearch.telemetry.receipt import Prices

_SESSION = "chat"


def chat(
    catalog: Annotated[
        list[str] | None,
        typer.Argument(metavar="CATALOG", help="Catalog files or folders; none with -i or --python."),
    ] = None,
    *,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="openai:MODEL, openai-chat:MODEL, anthropic:MODEL, or https://HOST/v1#MODEL for any server "
            "that speaks OpenAI's Chat Completions.",
            show_default=False,
        ),
    ],
    index: Annotated[
        Path | None,
        typer.Option("-i", "--index", metavar="DIR", help="Search this index folder.", show_default=False),
    ] = None,
    python: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE[:NAME]",
            help="Tools that can run: of a module or its file, or an object, function or list in it. "
            "The model runs them without asking.",
        ),
    ] = None,
    once: Annotated[
        str | None,
        typer.Option(metavar="PROMPT", help="Answer this and end; - is standard input.", show_default=False),
    ] = None,
    system: Annotated[str, typer.Option(metavar="TEXT", help="System message.", show_default=False)] = "",
    delivery: Annotated[
        DeliveryWay, typer.Option(help="How tools that were found reach the model.")
    ] = DeliveryWay.AUTO,
    preselect: Annotated[
        int, typer.Option(metavar="N", min=0, max=20, help="Tools loaded for each message beforehand.")
    ] = 0,
    max_rounds: Annotated[int, typer.Option(metavar="N", min=1, help="Calls of the model per message.")] = 25,
    prices: Annotated[
        str,
        typer.Option(
            metavar="IN,OUT[,CACHED]", help="Prices per million tokens, for the cost.", show_default=False
        ),
    ] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="Show answers alone.")] = False,
    embedder: EmbedderSpec = "",
    no_cache: NoCache = False,
    json: Json = False,
) -> None:
    """Talk with a model that finds its tools, and see what it sees.

    Shows on standard error what the model is offered in each round, what its searches find and what that
    spares. Tools of catalogs are only known by their definitions: calls of them answer that they are not
    executable here. Ends at the end of standard input.
    """
    if json and once is None:
        raise typer.BadParameter("goes with --once.", param_hint="--json")
    with asyncio.Runner() as runner:
        connected = _model(model)
        try:
            router = _router(
                connected,
                catalog or [],
                index=index,
                python=python or [],
                embedder=embedder,
                cache=not no_cache,
                system=system,
                delivery=delivery,
                preselect=preselect,
                max_rounds=max_rounds,
                prices=_prices(prices),
                traced=not quiet,
            )
            if connected.missing_key:
                problem = f"set {connected.missing_key} to your key for {connected.id.partition(':')[0]}."
                raise typer.BadParameter(problem, param_hint="--model")
            if once is not None:
                prompt = sys.stdin.read() if once == "-" else once
                _answer(runner, router, prompt, json=json, quiet=quiet)
            else:
                _talk(runner, router, quiet=quiet)
        finally:
            runner.run(connected.aclose())


def _talk(runner: asyncio.Runner, router: ToolRouter, *, quiet: bool) -> None:
    from toolsearch.exceptions import ChatModelError, LimitExceededError

    for prompt in _prompts():
        try:
            _answer(runner, router, prompt, json=False, quiet=quiet)
        except (ChatModelError, LimitExceededError) as exc:
            say(f"Error: {exc}")


def _prompts() -> Iterator[str]:
    asks = sys.stdin.isatty() and sys.stderr.isatty()
    while True:
        if asks:
            print("> ", end="", file=sys.stderr, flush=True)  # noqa: T201
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _answer(runner: asyncio.Runner, router: ToolRouter, prompt: str, *, json: bool, quiet: bool) -> None:
    if json:
        show_json(_as_json(runner.run(router.run(prompt, session_id=_SESSION))))
        return
    response = runner.run(_streamed(router, prompt))
    if response.finish_reason not in {"stop", "return_direct"}:
        say(f"[end] {response.finish_reason}")
    if not quiet:
        from toolsearch.cli.trace import receipt_lines

        for line in receipt_lines(response.metadata["receipt"]):
            say(line)


async def _streamed(router: ToolRouter, prompt: str) -> ChatResponse:
    """The response; its text, and what the model says on the way, is shown as it arrives."""
    from toolsearch.advisors.chain import closing, response_of
    from toolsearch.chat.base import ChatEvent, RoundFinished, TextDelta

    written = False

    async def shown() -> Any:
        nonlocal written
        async with closing(router.stream(prompt, session_id=_SESSION)) as events:
            event: ChatEvent
            async for event in events:
                if isinstance(event, TextDelta):
                    written = True
                    print(printable(event.text, keep="\n"), end="", flush=True)  # noqa: T201
                elif isinstance(event, RoundFinished) and written:
                    written = False
                    show()
                yield event

    response = await response_of(shown())
    if response.finish_reason in {"limit", "return_direct"}:
        show(printable(response.text, keep="\n"))
    return response


def _as_json(response: ChatResponse) -> dict[str, Any]:
    from toolsearch.messages import MESSAGES

    return {
        "answer": response.text,
        "finish_reason": response.finish_reason,
        "model": response.model,
        "messages": MESSAGES.dump_python(tuple(response.metadata["messages"]), mode="json"),
        "receipt": response.metadata["receipt"].to_json(),
    }


def _router(
    model: HttpChatModel,
    paths: list[str],
    *,
    index: Path | None,
    python: list[str],
    embedder: str,
    cache: bool,
    system: str,
    delivery: DeliveryWay,
    preselect: int,
    max_rounds: int,
    prices: Prices | None,
    traced: bool,
) -> ToolRouter:
    from toolsearch.advisors.limits import LoopLimits
    from toolsearch.advisors.memory.store import MemoryConversationStore
    from toolsearch.catalog import Catalog
    from toolsearch.cli.embedding import open_embedder, open_embedder_of
    from toolsearch.cli.executable import python_tools, with_stand_ins
    from toolsearch.cli.trace import TraceObserver
    from toolsearch.index.tool_index import ToolIndex
    from toolsearch.retrieval.lazy import CatalogSearcher
    from toolsearch.retrieval.searcher import ToolSearcher
    from toolsearch.router import ToolRouter

    if not (paths or index or python):
        raise typer.BadParameter("give a catalog, an index (-i) or Python tools (--python).")
    for path in paths:
        if path.endswith(".py"):
            raise typer.BadParameter(f"{path!r} is Python: give it with --python.", param_hint="CATALOG")
    tools = [tool for reference in python for tool in python_tools(reference)]
    catalog = load_catalog(paths).catalog if paths else Catalog()
    older = None
    if index is None:
        chosen = open_embedder(embedder, cache=cache).embedder
    else:
        chosen = open_embedder_of(index, embedder, cache=cache).embedder
        older = ToolSearcher(ToolIndex.load(index, chosen), chosen)
        catalog = older.index.catalog.with_tools(*catalog.values(), replace=True)
    catalog = with_stand_ins(catalog, tools)
    if older is not None and catalog.fingerprint == older.index.catalog.fingerprint:
        searcher: ToolSearcher | CatalogSearcher = older
    else:
        searcher = CatalogSearcher(catalog, chosen, older=older)
    return ToolRouter(
        model,
        catalog=catalog,
        searcher=searcher,
        memory=MemoryConversationStore(),
        limits=LoopLimits(rounds=max_rounds),
        system=system,
        delivery=delivery.value,
        preselect=preselect,
        prices=prices,
        observers=[TraceObserver()] if traced else [],
    )


def _model(spec: str) -> HttpChatModel:
    from toolsearch.chat.load import load_chat_model

    try:
        return load_chat_model(spec)
    except ValueError as exc:
        raise typer.BadParameter(str(exc), param_hint="--model") from exc


def _prices(text: str) -> Prices | None:
    from toolsearch.telemetry.receipt import Prices

    if not text:
        return None
    try:
        return Prices(*map(float, text.split(",")))
    except (TypeError, ValueError) as exc:
        problem = f"{text!r} is not IN,OUT or IN,OUT,CACHED."
        raise typer.BadParameter(problem, param_hint="--prices") from exc
