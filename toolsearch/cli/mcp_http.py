"""How commands serve MCP over HTTP: their options, and the address that these mean."""

from __future__ import annotations

import os
from typing import Annotated, TypeAlias

import typer

HttpAddress: TypeAlias = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="Serve streamable HTTP there, not standard input.")
]
TokenVariable: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="Variable of the environment with the token that clients send.")
]
AllowedHosts: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A Host that requests may name.")
]
AllowedOrigins: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="URL", help="An Origin that browsers may send.")
]


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


def shown_url(host: str, port: int) -> str:
    """Where clients reach what is served there."""
    from toolsearch.serving.mcp_transports import PATH

    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}{PATH}"


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise typer.BadParameter(f"{text!r} is no HOST:PORT, such as 127.0.0.1:8000.", param_hint="--http")
    return host.removeprefix("[").removesuffix("]"), int(port)
