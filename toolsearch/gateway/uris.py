"""Addresses of resources that say whose they are: ``toolsearch://SERVER/URI``."""

from __future__ import annotations

from urllib.parse import quote, unquote

_PREFIX = "toolsearch://"


def gateway_uri(server: str, uri: str) -> str:
    """The address under which clients know a resource, or a template of addresses, of a server.

    The server's own address stays as it is at the end, so what is put into a template fits it, too.
    """
    return f"{_PREFIX}{quote(server, safe='')}/{uri}"


def upstream_uri(uri: str) -> tuple[str, str] | None:
    """The server, and its own address; None for what `gateway_uri` cannot have made."""
    server, slash, own = uri.removeprefix(_PREFIX).partition("/")
    if not uri.startswith(_PREFIX) or not slash or not server or not own:
        return None
    return unquote(server), own
