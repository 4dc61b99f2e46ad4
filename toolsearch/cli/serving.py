"""`toolsearch serve`: the search as an HTTP service."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolsearch.cli.listening import telling_what_is_taken
from toolsearch.cli.output import say
from toolsearch.cli.proxying import with_proxy_options
from toolsearch.postgres.url import DatabaseUrl

if TYPE_CHECKING:
    from toolsearch.embedders.base import Embedder
    from toolsearch.server.settings import ServerSettings

_KEY_VARIABLE = "TOOLSEARCH_SERVER_API_KEY"


def _option(*names: str, variable: str, metavar: str, help: str) -> Any:  # noqa: A002
    return typer.Option(
        *names, envvar=f"TOOLSEARCH_SERVER_{variable}", metavar=metavar, help=help, show_default=False
    )


def _switch(names: str, *, variable: str, help: str) -> Any:  # noqa: A002
    return typer.Option(names, envvar=f"TOOLSEARCH_SERVER_{variable}", help=help, show_default=False)


Whole = int | None


@with_proxy_options
def serve(
    index: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="The index folder. With PostgreSQL it fills an empty catalog, and may be left out.",
            show_default=False,
        ),
    ] = None,
    *,
    config: Annotated[
        Path | None,
        _option("--config", variable="CONFIG", metavar="FILE", help="Settings in TOML, YAML or JSON."),
    ] = None,
    host: Annotated[
        str | None,
        _option("--host", variable="HOST", metavar="ADDRESS", help="Where to listen; 127.0.0.1."),
    ] = None,
    port: Annotated[
        Whole, _option("--port", variable="PORT", metavar="N", help="8400; 0 takes a free one.")
    ] = None,
    database: Annotated[
        str | None,
        _option(
            "--database",
            variable="DATABASE",
            metavar="FILE|URL",
            help="Where sessions, keys, feedback and usage are kept: an SQLite file, or postgresql://…, "
            "which holds the catalog too. In memory without it.",
        ),
    ] = None,
    embedder: Annotated[
        str | None,
        _option("--embedder", variable="EMBEDDER", metavar="ID", help="As for toolsearch search."),
    ] = None,
    rerank: Annotated[
        str | None,
        _option("--rerank", variable="RERANK", metavar="ID", help="As for toolsearch search; none."),
    ] = None,
    call: Annotated[
        str | None,
        _option(
            "--call",
            variable="CALL",
            metavar="MODULE[:NAME]",
            help="Tools of Python that may be called; none without it.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        _option("--allow-host", variable="ALLOW_HOST", metavar="NAME", help="A Host that requests may name."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        _option(
            "--allow-origin",
            variable="ALLOW_ORIGIN",
            metavar="URL",
            help="An origin whose pages may ask; none without it.",
        ),
    ] = None,
    read_only: Annotated[
        bool | None,
        _switch("--read-only/--read-write", variable="READ_ONLY", help="Refuse changes of the catalog."),
    ] = None,
    save: Annotated[
        bool | None,
        _switch("--save/--no-save", variable="SAVE", help="Write changes into the index folder; on."),
    ] = None,
    max_results: Annotated[
        Whole, _option("--max-results", variable="MAX_RESULTS", metavar="N", help="Hits of a search; 100.")
    ] = None,
    max_batch: Annotated[
        Whole, _option("--max-batch", variable="MAX_BATCH", metavar="N", help="Searches of a batch; 64.")
    ] = None,
    max_body_bytes: Annotated[
        Whole,
        _option("--max-body-bytes", variable="MAX_BODY_BYTES", metavar="N", help="Of a request; 1 MiB."),
    ] = None,
    max_upload_bytes: Annotated[
        Whole,
        _option("--max-upload-bytes", variable="MAX_UPLOAD_BYTES", metavar="N", help="Of tools; 64 MiB."),
    ] = None,
    max_running: Annotated[
        Whole,
        _option(
            "--max-running",
            variable="MAX_RUNNING",
            metavar="N",
            help="Requests that work at once; one more than there are processors.",
        ),
    ] = None,
    max_waiting: Annotated[
        Whole,
        _option(
            "--max-waiting",
            variable="MAX_WAITING",
            metavar="N",
            help="Requests that wait; 64, and more are told to come again.",
        ),
    ] = None,
    rate_per_s: Annotated[
        float | None,
        _option(
            "--rate-per-s",
            variable="RATE_PER_S",
            metavar="N",
            help="Requests of each key a second; any number without it.",
        ),
    ] = None,
    rate_burst: Annotated[
        Whole, _option("--rate-burst", variable="RATE_BURST", metavar="N", help="Of them at once; 50.")
    ] = None,
    max_per_key: Annotated[
        Whole,
        _option(
            "--max-per-key",
            variable="MAX_PER_KEY",
            metavar="N",
            help="Requests of a key that run at once; any number without it.",
        ),
    ] = None,
    timeout_s: Annotated[
        float | None,
        _option("--timeout-s", variable="TIMEOUT_S", metavar="S", help="Seconds for a request; 30."),
    ] = None,
    header_timeout_s: Annotated[
        float | None,
        _option(
            "--header-timeout-s",
            variable="HEADER_TIMEOUT_S",
            metavar="S",
            help="Seconds for the headers of a request to come; 10.",
        ),
    ] = None,
    call_timeout_s: Annotated[
        float | None,
        _option(
            "--call-timeout-s", variable="CALL_TIMEOUT_S", metavar="S", help="Seconds for a called tool; 60."
        ),
    ] = None,
    shutdown_s: Annotated[
        Whole,
        _option(
            "--shutdown-s",
            variable="SHUTDOWN_S",
            metavar="S",
            help="Seconds for requests to finish when the service stops; 30.",
        ),
    ] = None,
    session_ttl_s: Annotated[
        float | None,
        _option(
            "--session-ttl-s",
            variable="SESSION_TTL_S",
            metavar="S",
            help="Seconds without use after which a session is forgotten; a week.",
        ),
    ] = None,
    max_sessions: Annotated[
        Whole,
        _option("--max-sessions", variable="MAX_SESSIONS", metavar="N", help="Sessions in memory; 10000."),
    ] = None,
    tool_limit: Annotated[
        Whole,
        _option(
            "--tool-limit",
            variable="TOOL_LIMIT",
            metavar="N",
            help="Tools that a query of a session loads; 5.",
        ),
    ] = None,
    max_tools: Annotated[
        Whole,
        _option(
            "--max-tools", variable="MAX_TOOLS", metavar="N", help="Tools sent for a session; any number."
        ),
    ] = None,
    keep_rounds: Annotated[
        bool | None,
        _switch(
            "--keep-rounds/--no-keep-rounds",
            variable="KEEP_ROUNDS",
            help="Keep what sessions search for, to watch them; on.",
        ),
    ] = None,
    ui: Annotated[bool | None, _switch("--ui/--no-ui", variable="UI", help="The page at /ui; on.")] = None,
    learn: Annotated[
        bool | None,
        _switch("--learn/--no-learn", variable="LEARN", help="Lift what served like requests before; off."),
    ] = None,
    learn_reach: Annotated[
        float | None,
        _option(
            "--learn-reach",
            variable="LEARN_REACH",
            metavar="X",
            help="Lift towards so many times the best score; 1.05.",
        ),
    ] = None,
    keep_queries: Annotated[
        bool | None,
        _switch(
            "--keep-queries/--no-keep-queries",
            variable="KEEP_QUERIES",
            help="Keep the text of requests that comes with feedback; off.",
        ),
    ] = None,
    feedback_days: Annotated[
        float | None,
        _option(
            "--feedback-days",
            variable="FEEDBACK_DAYS",
            metavar="N",
            help="Days after which feedback is dropped; 365.",
        ),
    ] = None,
    api_key_env: Annotated[
        str,
        typer.Option(metavar="NAME", help="Variable with one more key, which may do everything."),
    ] = _KEY_VARIABLE,
    log: Annotated[bool, typer.Option("--log", help="Log each request on standard error.")] = False,
    proxies: dict[str, Any],
) -> None:
    """Serve searches, the catalog and sessions over HTTP.

    Each setting is also one of the file (--config) and of the environment. What the command line says goes
    first, then the environment, then the file. Beyond this machine the service starts only with a key: make
    one with toolsearch keys.
    """
    import os

    from toolsearch.server.app import create_app
    from toolsearch.server.audit import LOGGER
    from toolsearch.server.running import make_server
    from toolsearch.server.settings import ServerSettings, made_settings, read_settings_file

    given = {**locals(), **proxies}
    flags = {name: given[name] for name in ServerSettings.model_fields if given.get(name, []) != []}

    def read_settings() -> ServerSettings:
        read = {} if config is None else read_settings_file(config)
        return made_settings(read, flags, {"api_key": os.environ.get(api_key_env) or None})

    settings = read_settings()
    tools = _python_tools(call)
    chosen = _embedder_for(index, settings)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger(LOGGER).setLevel(logging.INFO)
    if log:
        logging.getLogger("toolsearch.server").setLevel(logging.INFO)
    if settings.database is None:
        say("Sessions, keys and usage are kept in memory; --database FILE keeps them for longer.")
    openai = settings.upstreams.get("openai")
    if openai is not None and openai.path == "/":
        say(f"Chats go to {openai}/chat/completions. Most providers have that below /v1: is it {openai}/v1?")
    what = (
        index if index is not None and not isinstance(settings.database, DatabaseUrl) else settings.database
    )
    app = create_app(
        index, settings, embedder=chosen, tools=tools, read_settings=read_settings, own_process=True
    )
    server = make_server(app, settings, on_start=lambda url: say(f"Serving {what} at {url}"))
    with telling_what_is_taken(settings.host, settings.port, "--port N"):
        server.run()


def _embedder_for(index: Path | None, settings: ServerSettings) -> Embedder:
    """The embedder that is named, or else the default one where the catalog was built with it."""
    from toolsearch.cli.embedding import open_default_embedder, open_embedder, open_embedder_of
    from toolsearch.server.opening import built_with, nothing_to_serve

    stored = built_with(settings.database)
    if stored is not None:
        if settings.embedder:
            return open_embedder(settings.embedder, cache=False).embedder
        return open_default_embedder(stored, str(settings.database), cache=False).embedder
    if index is None:
        raise nothing_to_serve(settings.database)
    return open_embedder_of(index, settings.embedder, cache=False).embedder


def _python_tools(reference: str | None) -> Any:
    if not reference:
        return ()
    from toolsearch.cli.executable import python_tools

    return python_tools(reference, "--call")
