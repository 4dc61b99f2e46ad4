"""`toolsearch pins`: which tools a service had better send always."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from toolsearch.cli.options import Json
from toolsearch.cli.output import say, show_json, show_table


def pins(
    url: Annotated[str, typer.Argument(metavar="URL", help="Of the service.")] = "http://127.0.0.1:8400",
    *,
    days: Annotated[int, typer.Option(metavar="N", min=1, help="Look back so many days.")] = 30,
    rounds: Annotated[
        float | None, typer.Option(metavar="N", min=1, help="Of a session; counted without it.")
    ] = None,
    search_tokens: Annotated[
        float | None,
        typer.Option(metavar="N", min=1, help="What a search costs; counted without it."),
    ] = None,
    api_key_env: Annotated[
        str, typer.Option(metavar="NAME", help="Variable with the key, if the service needs one.")
    ] = "TOOLSEARCH_API_KEY",
    json: Json = False,
) -> None:
    """Say which tools so many sessions call that sending them always costs less than searching for them."""
    from toolsearch.client.synchronous import Client

    with Client(url, api_key=os.environ.get(api_key_env, "")) as client:
        found = client.get_pins(days=days, rounds=rounds, search_tokens=search_tokens)
    if json:
        show_json(found.model_dump(mode="json"))
        return
    search = f"a search costs {found.search_tokens:g} tokens"
    say(f"{found.sessions} sessions of {found.rounds:g} rounds; {search}.")
    if not found.pins:
        say("No tool is worth pinning by what is known.")
        return
    titles = ("sessions", "share", "tokens", "saves a session")
    show_table(
        [("tool", "left"), *((title, "right") for title in titles)],
        [
            (pin.name, str(pin.sessions), f"{pin.share:.0%}", str(pin.tokens), f"{pin.gain_tokens:.0f}")
            for pin in found.pins
        ],
    )
