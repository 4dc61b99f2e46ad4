"""`ServerSettings`: where the service listens, what it keeps where, and how much it takes."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, Field, SecretStr, ValidationError

from toolsearch.api.search import MAX_BATCH, MAX_K
from toolsearch.exceptions import ServerSettingsError
from toolsearch.naming import near_names
from toolsearch.postgres.url import DatabaseUrl
from toolsearch.server.proxy.settings import ProxySettings

ENVIRONMENT = "TOOLSEARCH_SERVER_"
"""Begins the names of environment variables: ``TOOLSEARCH_SERVER_PORT`` sets `port`."""


def database_of(text: str) -> Path | DatabaseUrl:
    """The SQLite file or the PostgreSQL database that a text means.

    Raises:
        ServerSettingsError: it is the address of something else, which may hold a password and is not told.
    """
    if DatabaseUrl.is_one(text):
        return DatabaseUrl(text)
    if "://" in text:
        scheme = text.partition("://")[0]
        raise ServerSettingsError(
            f"A database cannot be at {scheme}://… Give an SQLite file, or postgresql://USER@HOST/NAME."
        )
    return Path(text)


def _read_database(value: object) -> object:
    return database_of(value) if isinstance(value, str) else value


class ServerSettings(ProxySettings):
    """Settings of the service; every one has a default that is safe on a machine of one's own.

    Those of the proxies are told by `ProxySettings`.

    Attributes:
        host, port: Where it listens; port 0 takes a free one.
        embedder: As `load_embedder` takes it; empty for the default one.
        rerank: As `load_reranker` takes it; empty for none.
        database: The SQLite file of sessions, keys, feedback and usage; None keeps them in memory. Or the
            address of a PostgreSQL database (``postgresql://…``), which holds the catalog, too.
        api_key: A key that may do everything, beside those of the database.
        allow_host: Further values of ``Host`` that requests may have, such as ``tools.example.org``.
        allow_origin: Origins whose pages may ask, such as ``https://app.example.org``.
        read_only: Refuse every change of the catalog.
        save: Write changes of the catalog into the index folder before they are acknowledged.
        max_body_bytes, max_upload_bytes: Of a request, and of an upload of tools.
        max_results: The most hits of a search.
        max_batch: The most searches of a batch.
        max_running, max_waiting: Requests that work at once, and that wait for it; more are refused. By
            default one more works than there are processors: with many, what answers waits for its turn
            behind all of them. Where the embedder is asked over the network, take more.
        rate_per_s, rate_burst: Requests that each key may make a second, and at once; None for any number.
        max_per_key: Requests of a key that run at once; None for any number.
        timeout_s: Seconds that a request may take, and its body to come, and within which a client must take
            some of its answer.
        header_timeout_s: Seconds in which the headers of a request must have come.
        shutdown_s: Seconds that running requests have to finish when the service stops.
        session_ttl_s: Seconds without use after which a session is forgotten.
        max_sessions: The most sessions that are kept in memory.
        tool_limit: The most tools that one query of a session loads.
        max_tools: The most tools that are sent for a session; None for any number.
        call_timeout_s: Seconds that a called tool may take.
        learn: Lift tools that served like requests of the tenant before; see docs/learning.md.
        learn_reach: Towards how many times the best score these are lifted; 1 leaves the best hit as it is.
        keep_queries: Keep the text of requests that comes with feedback. What is learned needs none.
        feedback_days: Days after which feedback, and what was learned from it, is dropped.
        keep_rounds: Keep what sessions search for and are sent, round by round, as long as the sessions.
        ui: Serve the page at ``/ui``.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8400, ge=0, le=65535)
    embedder: str = ""
    rerank: str = ""
    database: Annotated[Path | DatabaseUrl | None, BeforeValidator(_read_database)] = None
    api_key: SecretStr | None = None
    allow_host: tuple[str, ...] = ()
    allow_origin: tuple[str, ...] = ()
    read_only: bool = False
    save: bool = True
    max_body_bytes: int = Field(default=1024 * 1024, ge=1024)
    max_upload_bytes: int = Field(default=64 * 1024 * 1024, ge=1024)
    max_results: int = Field(default=100, ge=1, le=MAX_K)
    max_batch: int = Field(default=MAX_BATCH, ge=1, le=MAX_BATCH)
    max_running: int = Field(default_factory=lambda: _processors() + 1, ge=1, le=256)
    max_waiting: int = Field(default=64, ge=0)
    rate_per_s: float | None = Field(default=None, gt=0)
    max_per_key: int | None = Field(default=None, ge=1)
    rate_burst: int = Field(default=50, ge=1)
    timeout_s: float = Field(default=30.0, gt=0)
    header_timeout_s: float = Field(default=10.0, gt=0)
    shutdown_s: int = Field(default=30, ge=0)
    session_ttl_s: float = Field(default=7 * 24 * 3600.0, gt=0)
    max_sessions: int = Field(default=10_000, ge=1)
    tool_limit: int = Field(default=5, ge=1, le=20)
    max_tools: int | None = Field(default=None, ge=4)
    call_timeout_s: float = Field(default=60.0, gt=0)
    learn: bool = False
    learn_reach: float = Field(default=1.05, ge=1, le=2)
    keep_queries: bool = False
    feedback_days: float = Field(default=365.0, gt=0)
    keep_rounds: bool = True
    ui: bool = True

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check_reach(self, *, has_keys: bool) -> None:
        """Does nothing where only this machine can reach the service, or keys guard it.

        Raises:
            ServerSettingsError: anybody in the network could do anything.
        """
        if not self.is_loopback and not has_keys:
            raise ServerSettingsError(
                f"Beyond this machine ({self.host!r}) a key is needed. Make one: toolsearch keys add NAME "
                f"--database FILE. Or put one into {ENVIRONMENT}API_KEY."
            )


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def made_settings(*layers: dict[str, Any]) -> ServerSettings:
    """The settings of `layers`; what a later one says goes first.

    Raises:
        ServerSettingsError: names what cannot be used, without the values.
    """
    values = {key: value for layer in layers for key, value in layer.items() if value is not None}
    try:
        return ServerSettings(**values)
    except ValidationError as exc:
        raise ServerSettingsError(f"The settings cannot be used: {_problems(exc)}.") from None


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, fault['loc']))}: {_said(fault)}"
        for fault in error.errors(include_input=False, include_url=False)
    )


def _said(fault: Mapping[str, Any]) -> str:
    """What the validator says, without its own terms."""
    if fault["type"] == "tuple_type":
        return _LIST
    return str(fault["msg"]).removeprefix("Value error, ").removesuffix(".")


_LIST = 'Input should be a list, such as ["x"]'


def _line(error: Exception) -> str:
    """Where a parser stopped, as far as it says so."""
    if isinstance(error, json.JSONDecodeError):
        return f" in line {error.lineno}"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f" in line {error.problem_mark.line + 1}"
    at = re.search(r"\(at line (\d+)", str(error)) if isinstance(error, tomllib.TOMLDecodeError) else None
    if at:
        return f" in line {at[1]}"
    return " at the end" if isinstance(error, tomllib.TOMLDecodeError) else ""


def _meant(unknown: str) -> str:
    near = near_names(unknown, ServerSettings.model_fields, limit=1)
    return f"{unknown} (did you mean {near[0]}?)" if near else unknown


def read_settings_file(path: Path) -> dict[str, Any]:
    """What a TOML, YAML or JSON file says, by setting.

    Raises:
        ServerSettingsError: it cannot be read, or holds something else than settings that can be used.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            values: Any = tomllib.loads(text)
        elif path.suffix in {".yaml", ".yml"}:
            values = yaml.safe_load(text) or {}
        else:
            values = json.loads(text)
    except (OSError, ValueError, yaml.YAMLError) as exc:
        # What a parser says may quote the line, which may hold a key.
        raise ServerSettingsError(f"{path} cannot be read ({type(exc).__name__}{_line(exc)}).") from None
    if not isinstance(values, dict):
        raise ServerSettingsError(f"{path} holds no settings. Give an object with them.")
    unknown = sorted(set(map(str, values)) - ServerSettings.model_fields.keys())
    if unknown:
        raise ServerSettingsError(f"{path} has the unknown settings {', '.join(map(_meant, unknown))}.")
    try:
        ServerSettings(**values)
    except ValidationError as exc:
        raise ServerSettingsError(f"{path} cannot be used: {_problems(exc)}.") from None
    return values
