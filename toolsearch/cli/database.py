"""`toolsearch db`: the database of the HTTP service, its schema and its catalog."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from toolsearch.cli.errors import EXIT_CODES, ExitCode
from toolsearch.cli.options import Json
from toolsearch.cli.output import say, show, show_json
from toolsearch.exceptions import ServerSettingsError

if TYPE_CHECKING:
    from toolsearch.postgres.url import DatabaseUrl

group = typer.Typer(help="The database of the HTTP service.", no_args_is_help=True, rich_markup_mode=None)

_VARIABLE = "TOOLSEARCH_SERVER_DATABASE"

Database: TypeAlias = Annotated[
    str,
    typer.Option(
        "--database",
        envvar=_VARIABLE,
        metavar="FILE|URL",
        help="An SQLite file, or postgresql://USER@HOST/NAME.",
        show_default=False,
    ),
]


def same_database(given: str) -> str:
    """What a command needs to mean the database that was given; it holds no password."""
    from toolsearch.postgres.url import DatabaseUrl

    if os.environ.get(_VARIABLE) == given:
        return f" ({_VARIABLE} names the database)"
    if DatabaseUrl.is_one(given) and not DatabaseUrl(given).is_without_secrets:
        return " --database postgresql://…, with the address that was given"
    return f" --database {shlex.quote(given)}"


@group.command("upgrade", epilog=EXIT_CODES)
def upgrade(database: Database) -> None:
    """Make the tables, or change those of an older release; what they hold stays.

    It may be run again, and by several processes at once. Services of the older release are to be stopped
    before, as they do not know the new tables.
    """
    from toolsearch.server.schemas import upgrade as upgraded

    place = _place(database)
    before, after = upgraded(place)
    say(f"{place} has schema {after}." if before == after else f"{place}: schema {before} is now {after}.")


@group.command("check", epilog=EXIT_CODES)
def check(database: Database, *, json: Json = False) -> None:
    """Say whether the tables are those that this release needs, and what catalog there is."""
    from toolsearch.server.schemas import state_of

    place = _place(database)
    state = state_of(place)
    if json:
        show_json({"schema": state.found, "needed": state.needed, "catalog": state.catalog})
    else:
        show(f"schema {state.found}, needed {state.needed}")
        if state.catalog is not None:
            show("catalog " + ", ".join(f"{name} {value}" for name, value in state.catalog.items()))
    if not state.is_current:
        newer = state.found > state.needed
        say(
            "It is of a newer release. Install that one."
            if newer
            else f"Run: toolsearch db upgrade{same_database(database)}"
        )
        raise typer.Exit(ExitCode.FOUND)


@group.command("load", epilog=EXIT_CODES)
def load(
    index: Annotated[Path, typer.Argument(metavar="DIR", help="The index folder.", show_default=False)],
    database: Database,
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Also in place of a catalog that is there, as one change.")
    ] = False,
) -> None:
    """Fill the catalog of a PostgreSQL database with an index; nothing is embedded."""
    from toolsearch.index.tool_index import ToolIndex
    from toolsearch.postgres.url import DatabaseUrl
    from toolsearch.server.opening import open_postgres

    place = _place(database)
    if not isinstance(place, DatabaseUrl):
        raise ServerSettingsError(
            f"An SQLite file holds no catalog. Serve the folder itself: toolsearch serve {index}"
        )
    loaded = ToolIndex.load(index)
    with open_postgres(place) as opened:
        from toolsearch.postgres.schema import check_schema
        from toolsearch.server.postgres_catalog import PostgresCatalog

        check_schema(opened)
        if not PostgresCatalog(opened).fill(loaded, replace=replace):
            raise ServerSettingsError(f"{place} has a catalog already. Put this one in its place: --replace")
    say(f"{place} has the {len(loaded)} tools of {index}.")


def _place(database: str) -> Path | DatabaseUrl:
    from toolsearch.server.settings import database_of

    return database_of(database)
