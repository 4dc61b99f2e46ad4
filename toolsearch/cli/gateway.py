"""`toolsearch gateway`: many tool sources behind one MCP server."""

from __future__ import annotations

import asyncio
import os
import signal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from toolsearch.cli.errors import EXIT_CODES, ExitCode
from toolsearch.cli.listening import telling_what_is_taken
from toolsearch.cli.mcp_http import (
    AllowedHosts,
    AllowedOrigins,
    HttpAddress,
    TokenVariable,
    checked_address,
    shown_url,
)
from toolsearch.cli.options import EmbedderSpec
from toolsearch.cli.output import counted, say, show

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from toolsearch.gateway.gateway import Gateway

SERVE = "serve"


class ServeByDefault(TyperGroup):
    """A group for which ``gateway mcp.json`` is short for ``gateway serve mcp.json``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in {*self.commands, "--help"}:
            args = [SERVE, *args]
        return super().parse_args(ctx, args)


class GatewayMode(StrEnum):
    """How clients of a gateway are given tools."""

    BRIDGE = "bridge"
    DYNAMIC = "dynamic"
    ALL = "all"


class TrustWay(StrEnum):
    """What becomes of a tool that has changed."""

    HOLD = "hold"
    WARN = "warn"
    FOLLOW = "follow"


group = typer.Typer(
    help="Put MCP servers and OpenAPI documents behind one MCP server that searches their tools.",
    cls=ServeByDefault,
    rich_markup_mode=None,
)


@group.command(SERVE, epilog=EXIT_CODES)
def serve(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="Files with mcpServers, and OpenAPI documents (files or URLs). Without any, mcp.json in the "
            "folder of settings, which `gateway install --import` writes.",
            show_default=False,
        ),
    ] = None,
    *,
    python: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE[:NAME]", help="Tools of Python, beside the sources.", show_default=False
        ),
    ] = None,
    mode: Annotated[
        GatewayMode,
        typer.Option(
            help="bridge: tool_search, describe_tool and call_tool; dynamic: what a client finds is added to "
            "its tools; all: every tool."
        ),
    ] = GatewayMode.BRIDGE,
    http: HttpAddress = "",
    token_env: TokenVariable = "",
    allow_host: AllowedHosts = None,
    allow_origin: AllowedOrigins = None,
    trust: Annotated[
        TrustWay, typer.Option(help="What becomes of tools that change after they were first seen.")
    ] = TrustWay.HOLD,
    trust_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The trust file; trust.json in the folder of settings."),
    ] = None,
    no_trust: Annotated[
        bool, typer.Option("--no-trust", help="Use whatever tools the sources list.")
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the index is kept; one folder for each set of sources."),
    ] = None,
    embedder: EmbedderSpec = "",
    limit: Annotated[int, typer.Option(min=1, max=20, help="The most tools that a query finds.")] = 5,
) -> None:
    """Serve the tools of all sources to MCP clients, over standard input and output or HTTP.

    Beyond this machine HTTP is served only with a token.
    """
    from toolsearch.cli.embedding import open_embedder
    from toolsearch.cli.executable import python_tools
    from toolsearch.gateway.folders import state_folder
    from toolsearch.gateway.gateway import Gateway
    from toolsearch.gateway.sources import load_sources
    from toolsearch.sources.settings_folder import CONFIG_FILE, TRUST_FILE, config_folder
    from toolsearch.trust import TrustGuard

    address = checked_address(http, token_env) if http else None
    tools = [tool for reference in python or () for tool in python_tools(reference)]
    locations = sources or []
    if not locations and not tools:
        locations = [str(config_folder() / CONFIG_FILE)]
        if not Path(locations[0]).exists():
            raise typer.BadParameter(
                f"give a file with mcpServers or an OpenAPI document; there is no {locations[0]} either.",
                param_hint="SOURCE",
            )
    gateway = Gateway(
        load_sources(locations, tools),
        mode=mode.value,
        guard=None if no_trust else TrustGuard(trust_file or config_folder() / TRUST_FILE, trust.value),
        folder=state or state_folder([*locations, *(python or ())]),
        embedder=lambda: open_embedder(embedder, cache=True).embedder,
        limit=limit,
    )
    if address is None:
        asyncio.run(_over_stdio(gateway))
        return
    from toolsearch.serving.mcp_transports import http_app

    host, port, token = address
    app = http_app(gateway.server, token=token, hosts=allow_host or (), origins=allow_origin or ())
    with telling_what_is_taken(host, port, "--http HOST:PORT"):
        asyncio.run(_over_http(gateway, app, host, port))


async def _over_stdio(gateway: Gateway) -> None:
    """Serves until standard input ends or the process is told to; what it has started ends before it."""
    from toolsearch.serving.mcp_transports import serve_stdio

    loop = asyncio.get_running_loop()
    told: asyncio.Future[int] = loop.create_future()

    def tell(number: int) -> None:
        if not told.done():
            told.set_result(number)

    for kind in (signal.SIGTERM, signal.SIGINT):
        signal.signal(kind, lambda number, _: loop.call_soon_threadsafe(tell, number))
    async with gateway:
        serving = asyncio.create_task(serve_stdio(gateway.server))
        await asyncio.wait((serving, told), return_when=asyncio.FIRST_COMPLETED)
    if told.done():
        # Nothing ends the thread that waits for more input, and without that the interpreter would not.
        os._exit(0 if told.result() == signal.SIGTERM else 130)
    serving.result()


async def _over_http(gateway: Gateway, app: Starlette, host: str, port: int) -> None:
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=5)
    )
    # The server ends with the signal, and then sends it again, which would end the process at once.
    signal.signal(signal.SIGTERM, lambda *_: None)
    async with gateway:
        say(f"{counted(len(gateway.servers.servers), 'MCP server')} behind {shown_url(host, port)}")
        await server.serve()


class ClientChoice(StrEnum):
    """Clients whose configuration is known."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"
    WINDSURF = "windsurf"
    ZED = "zed"
    GEMINI_CLI = "gemini-cli"
    LM_STUDIO = "lm-studio"


@group.command("install", epilog=EXIT_CODES)
def install(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...", help="Sources of the gateway, as of serve.", show_default=False
        ),
    ] = None,
    *,
    client: Annotated[ClientChoice, typer.Option(help="The client.", show_default=False)],
    take_over: Annotated[
        bool,
        typer.Option("--import", help="Take over the servers that the client has: only the gateway is left."),
    ] = False,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A server that stays in the client.")
    ] = None,
    mode: Annotated[GatewayMode, typer.Option(help="As of serve.")] = GatewayMode.BRIDGE,
    name: Annotated[str, typer.Option(metavar="NAME", help="Of the gateway in the client.")] = "toolsearch",
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Another file of the client's, such as of a project.", show_default=False
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Write a gateway into the configuration of a client, after showing the change; a backup is kept."""
    from dataclasses import replace

    from toolsearch.gateway.client_files import client_file
    from toolsearch.gateway.install import plan_install
    from toolsearch.gateway.shown_change import shown_change
    from toolsearch.sources.settings_folder import CONFIG_FILE, config_folder

    for source in sources or []:
        if "://" not in source and not Path(source).is_file():
            raise typer.BadParameter(
                f"there is no file {source}. Give one with mcpServers or an OpenAPI document.",
                param_hint="SOURCE",
            )
    there = client_file(client.value)
    if file is not None:
        there = replace(there, path=file)
    plan = plan_install(
        there,
        config_folder() / CONFIG_FILE,
        sources or [],
        name=name,
        options=[] if mode is GatewayMode.BRIDGE else ["--mode", mode.value],
        take_over=take_over,
        keep=keep or (),
    )
    for change in plan.changes:
        show(shown_change(change))
    for each, reason in plan.left.items():
        say(f"{each!r} stays in the client: {reason}.")
    if plan.unsigned:
        named = ", ".join(plan.unsigned)
        say(f"Without credentials: {named}. If the client has signed in there, leave it with --keep NAME.")
    if not plan.changes:
        say("Nothing to change.")
        return
    if dry_run:
        return
    if not yes and not typer.confirm("Write this?", err=True):
        say("Nothing was changed.")
        raise typer.Exit(ExitCode.FOUND)
    for change in plan.changes:
        backup = change.apply()
        say(f"{change.path}: written." + ("" if backup is None else f" What was there: {backup}"))
    say(there.restart)
