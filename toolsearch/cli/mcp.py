"""`toolsearch mcp`: tools of Python as an MCP server."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

import typer

from toolsearch.cli.errors import EXIT_CODES
from toolsearch.cli.output import counted, say

group = typer.Typer(help="Serve tools over MCP.", no_args_is_help=True, rich_markup_mode=None)


@group.command("serve", epilog=EXIT_CODES)
def serve(
    tools: Annotated[
        str,
        typer.Argument(
            metavar="MODULE[:NAME]",
            help="Tools of Python: a module such as shop, its file shop.py, or what is called so in it.",
            show_default=False,
        ),
    ],
    *,
    http: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Serve streamable HTTP there, not standard input.")
    ] = "",
    token_env: Annotated[
        str,
        typer.Option(metavar="NAME", help="Variable of the environment with the token that clients send."),
    ] = "",
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A Host that requests may name.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="An Origin that browsers may send.")
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="What the server calls itself.")] = "toolsearch",
) -> None:
    """Serve tools of Python to MCP clients, over standard input and output or HTTP.

    Beyond this machine HTTP is served only with a token.
    """
    from toolsearch.cli.executable import python_tools
    from toolsearch.serving.mcp_tools import mcp_server
    from toolsearch.serving.mcp_transports import PATH, http_app, serve_stdio

    given = python_tools(tools)
    server = mcp_server(given, name=name)
    if not http:
        asyncio.run(serve_stdio(server))
        return
    host, port, token = checked_address(http, token_env)
    import uvicorn

    app = http_app(server, token=token, hosts=allow_host or (), origins=allow_origin or ())
    shown = f"[{host}]" if ":" in host else host
    say(f"{counted(len(given), 'tool')} at http://{shown}:{port}{PATH}")
    uvicorn.run(app, host=host, port=port, log_level="warning")


def checked_address(http: str, token_env: str) -> tuple[str, int, str]:
    """Host, port and token to serve HTTP with.

    Raises:
        typer.BadParameter: they cannot be meant, or would let in whoever comes from elsewhere.
    """
    from toolsearch.serving.mcp_transports import LOOPBACK

    host, port = _address(http)
    token = os.environ.get(token_env, "") if token_env else ""
    if token_env and not token:
        raise typer.BadParameter(f"{token_env} is not set.", param_hint="--token-env")
    if host not in LOOPBACK and not token:
        raise typer.BadParameter("beyond this machine a token is needed.", param_hint="--token-env")
    return host, port, token


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise typer.BadParameter(f"{text!r} is no HOST:PORT, such as 127.0.0.1:8000.", param_hint="--http")
    return host.removeprefix("[").removesuffix("]"), int(port)
