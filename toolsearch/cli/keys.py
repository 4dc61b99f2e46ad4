"""`toolsearch keys`: who may ask the HTTP service, and for what."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolsearch.api.scopes import KeyScope
from toolsearch.cli.database import Database, same_database
from toolsearch.cli.errors import EXIT_CODES
from toolsearch.cli.options import AllowedTools, DeniedTools, Json, OnlyServers
from toolsearch.cli.output import say, show, show_json, show_table

if TYPE_CHECKING:
    from toolsearch.server.keys import KeyStore

group = typer.Typer(help="Keys of the HTTP service.", no_args_is_help=True, rich_markup_mode=None)


@group.command("add", epilog=EXIT_CODES)
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.", show_default=False)],
    database: Database,
    *,
    scope: Annotated[list[KeyScope] | None, typer.Option(help="What it may do; search.")] = None,
    server: OnlyServers = None,
    allow: AllowedTools = None,
    deny: DeniedTools = None,
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="Whose sessions and usage it sees; its own without it.")
    ] = "",
    json: Json = False,
) -> None:
    """Make a key and print it, this once: only a hash of it is kept.

    Options with NAME or GLOB, and --scope, may be given several times.
    """
    from toolsearch.api.keys import NewKey
    from toolsearch.server.keys import make_key

    asked = NewKey(
        name=name,
        scopes=frozenset(scope or [KeyScope.SEARCH]),
        tenant=tenant,
        sources=tuple(server) if server else None,
        allow=tuple(allow) if allow else None,
        deny=tuple(deny or ()),
    )
    stored, made = make_key(asked, now=time.time())
    with _records(database) as store:
        store.add_key(stored)
    if server:
        say(f"Whether there is a source {' or '.join(server)} is not checked; GET /v1/sources lists them.")
    if json:
        show_json(made.model_dump(mode="json"))
        return
    say(f"{name}: {', '.join(made.key.scopes)}. It is shown this once:")
    show(made.secret)


@group.command("list", epilog=EXIT_CODES)
def list_(database: Database, *, json: Json = False) -> None:
    """Say which keys there are."""
    with _records(database, must_exist=True) as store:
        keys = [key.entry for key in store.stored_keys()]
    if json:
        show_json([key.model_dump(mode="json") for key in keys])
        return
    if not keys:
        say(f"There are no keys. Make one: toolsearch keys add NAME{same_database(database)}")
        return
    rows = [
        (
            key.id,
            key.name,
            ", ".join(key.scopes),
            ", ".join((*(key.sources or ()), *(key.allow or ()), *(f"not {glob}" for glob in key.deny))),
            datetime.fromtimestamp(key.created_at, UTC).strftime("%Y-%m-%d %H:%M"),
        )
        for key in keys
    ]
    show_table([(title, "left") for title in ("id", "name", "scopes", "tools", "made (UTC)")], rows)


@group.command("revoke", epilog=EXIT_CODES)
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Of the key.", show_default=False)],
    database: Database,
) -> None:
    """Have a key count no more; services on the database know within a second."""
    from toolsearch.exceptions import UnknownResourceError

    with _records(database, must_exist=True) as store:
        if not store.remove_key(key_id):
            named = [key.entry.id for key in store.stored_keys() if key.entry.name == key_id]
            if named:
                raise typer.BadParameter(
                    f"keys are revoked by id, and of the name {key_id!r} there is {', '.join(named)}.",
                    param_hint="ID",
                )
            raise UnknownResourceError("key", key_id)
    say(f"{key_id} is revoked.")


def _records(database: str, *, must_exist: bool = False) -> AbstractContextManager[KeyStore]:
    from toolsearch.exceptions import ServerSettingsError
    from toolsearch.server.opening import open_records
    from toolsearch.server.settings import database_of

    place = database_of(database)
    if must_exist and isinstance(place, Path) and not place.exists():
        raise ServerSettingsError(
            f"There is no database {place}. Look at the path; toolsearch keys add makes one."
        )
    return open_records(place)
