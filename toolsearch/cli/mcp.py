"""`toolsearch mcp`: tools of Python as an MCP server."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from toolsearch.cli.errors import EXIT_CODES
from toolsearch.cli.listening import telling_what_is_taken
from toolsearch.cli.mcp_http import (
    AllowedHosts,
    AllowedOrigins,
    HttpAddress,
    TokenVariable,
    checked_address,
    shown_url,
)
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
    http: HttpAddress = "",
    token_env: TokenVariable = "",
    allow_host: AllowedHosts = None,
    allow_origin: AllowedOrigins = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="What the server calls itself.")] = "toolsearch",
) -> None:
    """Serve tools of Python to MCP clients, over standard input and output or HTTP.

    Beyond this machine HTTP is served only with a token.
    """
    from toolsearch.cli.executable import python_tools
    from toolsearch.serving.mcp_tools import mcp_server
    from toolsearch.serving.mcp_transports import http_app, serve_stdio

    given = python_tools(tools, "MODULE[:NAME]")
    server = mcp_server(given, name=name)
    if not http:
        asyncio.run(serve_stdio(server))
        return
    host, port, token = checked_address(http, token_env)
    import uvicorn

    app = http_app(server, token=token, hosts=allow_host or (), origins=allow_origin or ())
    say(f"{counted(len(given), 'tool')} at {shown_url(host, port)}")
    with telling_what_is_taken(host, port, "--http HOST:PORT"):
        uvicorn.run(app, host=host, port=port, log_level="warning")
