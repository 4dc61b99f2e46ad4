"""Runs the service: as a process of its own, or in a thread of another."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from toolsearch.exceptions import ServerSettingsError
from toolsearch.server.connections import Connections
from toolsearch.server.settings import ServerSettings

if TYPE_CHECKING:
    import socket

    import uvicorn
    from fastapi import FastAPI


def make_server(
    app: FastAPI,
    settings: ServerSettings,
    *,
    on_start: Callable[[str], None] | None = None,
    http: type[asyncio.Protocol] | None = None,
) -> uvicorn.Server:
    """A server of `app` to be run; `on_start` is given its URL once it takes requests.

    `http` is the protocol class of uvicorn that reads requests, by default the fastest one installed.

    When it is told to stop it takes no further requests and finishes those that run.

    Raises:
        ImportError: the extra ``server`` is not installed.
    """
    try:
        import uvicorn
        from uvicorn.protocols.http.auto import AutoHTTPProtocol
    except ImportError as exc:
        app.state.service.close()
        raise ImportError("The service needs uvicorn. Install it: pip install 'toolsearch[server]'") from exc

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                _reload_on_hangup(app)
            if on_start is not None and self.started:
                on_start(_url(self, settings))

    connections = Connections(lambda: app.state.service.settings, http or AutoHTTPProtocol)
    config = uvicorn.Config(
        app,
        http=connections.protocol,
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


@contextmanager
def serving(
    app: FastAPI, settings: ServerSettings | None = None, *, http: type[asyncio.Protocol] | None = None
) -> Iterator[str]:
    """The URL of `app`, which a thread serves within; by default at a free port of this machine.

    It lives at once, and is ready when its index is loaded: `Client.wait_until_ready`. `http` is as
    `make_server` takes it.

    Raises:
        ServerSettingsError: it cannot listen there.
    """
    told: list[str] = []
    started = threading.Event()

    def tell(url: str) -> None:
        told.append(url)
        started.set()

    server = make_server(app, settings or ServerSettings(port=0), on_start=tell, http=http)

    def run() -> None:
        try:
            server.run()
        except SystemExit:
            # How uvicorn ends where it cannot listen; it has said why.
            return
        finally:
            started.set()

    thread = threading.Thread(target=run, name="toolsearch-server")
    thread.start()
    started.wait()
    try:
        if not told:
            raise ServerSettingsError("The service cannot listen there; its log says why.")
        yield told[0]
    finally:
        server.should_exit = True
        thread.join()


def _reload_on_hangup(app: FastAPI) -> None:
    """Have a SIGHUP load the index again, where the service is a process of its own and has such signals."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    def reload() -> None:
        task = loop.create_task(app.state.service.reload())
        tasks.add(task)  # the loop itself keeps no hold of it
        task.add_done_callback(tasks.discard)

    loop.add_signal_handler(signal.SIGHUP, reload)


def _url(server: uvicorn.Server, settings: ServerSettings) -> str:
    port = server.servers[0].sockets[0].getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{port}"
