"""Runs the service until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from toolsearch.server.settings import ServerSettings

if TYPE_CHECKING:
    import socket

    import uvicorn
    from fastapi import FastAPI


def make_server(
    app: FastAPI, settings: ServerSettings, *, on_start: Callable[[str], None] | None = None
) -> uvicorn.Server:
    """A server of `app` to be run; `on_start` is given its URL once it takes requests.

    When it is told to stop it takes no further requests and finishes those that run.

    Raises:
        ImportError: the extra ``server`` is not installed.
    """
    try:
        import uvicorn
    except ImportError as exc:
        raise ImportError("The service needs uvicorn. Install it: pip install 'toolsearch[server]'") from exc

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if on_start is not None and self.started:
                on_start(_url(self, settings))

    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,  # it has whole paths, and so names of tools
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_s,
    )
    return Server(config)


def _url(server: uvicorn.Server, settings: ServerSettings) -> str:
    port = server.servers[0].sockets[0].getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{port}"
