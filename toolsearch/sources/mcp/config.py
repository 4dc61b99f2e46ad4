"""Configurations of MCP servers in the form that clients share: ``{"mcpServers": {NAME: {...}}}``.

Texts stay as they are written, with ``${VAR}``: values of variables are put in when a server is started, so
that no configuration holds a secret and one that is missing keeps no other server from starting.

Source: https://modelcontextprotocol.io/docs/develop/connect-local-servers; VS Code writes ``servers``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolsearch.checks import shown
from toolsearch.exceptions import CatalogFileError, McpConfigError
from toolsearch.sources.documents import read_documents
from toolsearch.sources.mcp.expansion import MissingVariableError, expanded
from toolsearch.sources.mcp.settings import McpSettings

Transport: TypeAlias = Literal["stdio", "http", "sse", "auto"]
"""``auto`` is streamable HTTP, or where a server does not know it, the older SSE."""

SERVERS_KEYS = ("mcpServers", "servers")
OWN_KEY = "toolsearch"

_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}


@dataclass(frozen=True, kw_only=True)
class McpServerConfig:
    """How one server is started or reached. Its `repr` shows no value that may be a secret.

    Attributes:
        name: Of the server, as the source of its tools.
        transport: What is spoken.
        command, args, env, cwd: The process, for ``stdio``.
        url, headers: Where it is, for the others.
        settings: What only this package reads.
    """

    name: str
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: McpSettings = field(default_factory=McpSettings)

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise McpConfigError(
                "it needs a command to start or a url to reach, and not both.", server=self.name
            )

    @property
    def prefix(self) -> str:
        """What the names of its tools and prompts begin with; empty for nothing."""
        return self.name if self.settings.prefix is None else self.settings.prefix

    @property
    def digest(self) -> str:
        """Names what is connected to, as 64 hex digits: another command or url has another one."""
        whole = json.dumps([self.command, self.args, dict(self.env), self.cwd, self.url], sort_keys=True)
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()

    def expanded(self, environment: Mapping[str, str]) -> McpServerConfig:
        """This configuration with the values of the variables that it names.

        Raises:
            McpConfigError: one of them is not set and has no default.
        """

        def text(value: str) -> str:
            return expanded(value, environment)

        def texts(values: Mapping[str, str]) -> dict[str, str]:
            return {key: text(value) for key, value in values.items()}

        try:
            return McpServerConfig(
                name=self.name,
                transport=self.transport,
                command=text(self.command),
                args=tuple(map(text, self.args)),
                env=texts(self.env),
                cwd=text(self.cwd),
                url=text(self.url),
                headers=texts(self.headers),
                settings=replace(self.settings, oauth=texts(self.settings.oauth)),
            )
        except MissingVariableError as exc:
            raise McpConfigError(f"{exc}.", server=self.name) from None


def is_mcp_config(data: Any) -> bool:
    """Whether a JSON value is a configuration of MCP servers."""
    return isinstance(data, dict) and any(_is_servers(data.get(key)) for key in SERVERS_KEYS)


def read_mcp_config(given: Path | str | Mapping[str, Any]) -> tuple[McpServerConfig, ...]:
    """The servers of a configuration, a file or a JSON object, in its order; disabled ones are left out.

    Keys that other clients have for themselves are passed over.

    Raises:
        McpConfigError: it cannot be read, or a server in it cannot be meant.
    """
    path = None if isinstance(given, Mapping) else given
    data = dict(given) if isinstance(given, Mapping) else dict(read_config(given))
    found = next((data[key] for key in SERVERS_KEYS if isinstance(data.get(key), dict)), None)
    if found is None:
        raise McpConfigError('it lists no servers. Give {"mcpServers": {NAME: {...}}}.', path=path)
    try:
        servers = tuple(_server(name, entry) for name, entry in found.items() if not _is_disabled(entry))
    except McpConfigError as exc:
        raise McpConfigError(exc.reason, server=exc.server, path=path) from exc.__cause__
    return servers


def check_prefixes(servers: Iterable[McpServerConfig], others: Iterable[str] = ()) -> None:
    """Returns where no two sources name their tools alike; `others` are those that are no MCP servers.

    Raises:
        McpConfigError: two do.
    """
    taken = {each: each or "tools of Python" for each in others}
    for server in servers:
        owner = taken.setdefault(server.prefix, server.name)
        if owner != server.name:
            begins = f"begin with {server.prefix!r}" if server.prefix else "have no prefix"
            raise McpConfigError(
                f"the names of its tools would {begins}, like those of {owner!r}. Give it another prefix "
                f"under {OWN_KEY!r}.",
                server=server.name,
            )


def read_config(path: Path | str) -> Mapping[str, Any]:
    """What a configuration file holds.

    Raises:
        McpConfigError: it cannot be read, or is no JSON object.
    """
    try:
        documents = list(read_documents(str(path)))
    except CatalogFileError as exc:
        raise McpConfigError(exc.reason, path=path) from exc
    value = documents[0].value if len(documents) == 1 else None
    if not isinstance(value, dict):
        raise McpConfigError("it is no JSON object.", path=path)
    return value


def _is_servers(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(entry, dict) and ("command" in entry or "url" in entry) for entry in value.values()
    )


def _is_disabled(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("disabled") is True


def _server(name: str, entry: Any) -> McpServerConfig:
    if not name.strip():
        raise McpConfigError("a server has a blank name.")
    try:
        return McpServerConfig(
            name=name,
            transport=_transport(entry),
            command=_text(entry, "command"),
            args=_list(entry, "args"),
            env=_mapping(entry, "env"),
            cwd=_text(entry, "cwd"),
            url=_text(entry, "url"),
            headers=_mapping(entry, "headers"),
            settings=McpSettings.read(entry.get(OWN_KEY, {})),
        )
    except McpConfigError:
        raise
    except (TypeError, ValueError) as exc:
        raise McpConfigError(str(exc), server=name) from exc


def _transport(entry: Any) -> Transport:
    if not isinstance(entry, dict):
        raise TypeError(f"it is {shown(entry)}. Give an object.")
    kind = entry.get("type", entry.get("transport"))
    if kind is None:
        return "auto" if "url" in entry else "stdio"
    if not isinstance(kind, str) or kind not in _TRANSPORTS:
        raise ValueError(f"its type is {kind!r}; it must be one of {', '.join(_TRANSPORTS)}.")
    return _TRANSPORTS[kind]


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key) or ""
    if not isinstance(value, str):
        raise TypeError(f"its {key} is {shown(value)}. Give a text.")
    return value


def _list(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TypeError(f"its {key} is {shown(value)}. Give a list of texts.")
    return tuple(value)


def _mapping(entry: Mapping[str, Any], key: str) -> dict[str, str]:
    value = entry.get(key) or {}
    if not isinstance(value, dict):
        raise TypeError(f"its {key} is {shown(value)}. Give an object of texts.")
    for name, each in value.items():
        if not isinstance(each, str):
            # The value may be a secret.
            raise TypeError(f"its {key} {name!r} is no text.")
    return dict(value)
