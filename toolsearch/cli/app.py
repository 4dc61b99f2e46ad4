"""The command `toolsearch`."""

from __future__ import annotations

from typing import Annotated

import typer

from toolsearch.cli import (
    calling,
    catalogs,
    chat,
    database,
    demo,
    evaluation,
    gateway,
    indexing,
    keys,
    lint,
    mcp,
    pins,
    search,
    serving,
    sources,
    tokens,
    trust,
    tuning,
)
from toolsearch.cli.errors import EXIT_CODES, Commands

app = typer.Typer(
    name="toolsearch",
    help="Find the tools that serve a request among many, and know what they cost.",
    epilog=EXIT_CODES,
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(indexing.group, name="index")
app.command("search", epilog=EXIT_CODES)(search.search)
app.command("call", epilog=EXIT_CODES)(calling.call)
app.command("chat", epilog=EXIT_CODES)(chat.chat)
app.command("eval", epilog=EXIT_CODES)(evaluation.evaluate)
app.command("lint", epilog=EXIT_CODES)(lint.lint)
app.command("tune", epilog=EXIT_CODES)(tuning.tune)
app.command("tokens", epilog=EXIT_CODES)(tokens.tokens)
app.add_typer(catalogs.group, name="catalog")
app.add_typer(sources.group, name="sources")
app.add_typer(trust.group, name="trust")
app.add_typer(mcp.group, name="mcp")
app.add_typer(gateway.group, name="gateway")
app.command("serve", epilog=EXIT_CODES)(serving.serve)
app.add_typer(keys.group, name="keys")
app.command("pins", epilog=EXIT_CODES)(pins.pins)
app.add_typer(database.group, name="db")
app.command("demo", epilog=EXIT_CODES)(demo.demo)


def main() -> None:
    """Run the command that the process was started with."""
    app(prog_name=app.info.name)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("toolsearch")
        except PackageNotFoundError:
            number = "(from source, not installed)"
        typer.echo(f"toolsearch {number}")
        raise typer.Exit


@app.callback()
def _toolsearch(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    del version
