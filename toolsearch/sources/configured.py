"""`SourcesConfig`: every tool source that a configuration file names, MCP servers and OpenAPI documents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolsearch.exceptions import CatalogFileError, McpConfigError
from toolsearch.sources.documents import read_documents
from toolsearch.sources.mcp.config import (
    SERVERS_KEYS,
    McpServerConfig,
    check_prefixes,
    is_mcp_config,
    read_config,
    read_mcp_config,
)
from toolsearch.sources.openapi.config import (
    OPENAPI_KEY,
    OpenApiConfig,
    is_openapi_configs,
    read_openapi_configs,
)

_LARGEST = 1_000_000


@dataclass(frozen=True)
class SourcesConfig:
    """The sources of configuration files; disabled ones are not among them.

    Attributes:
        servers: MCP servers.
        documents: OpenAPI documents.
    """

    servers: tuple[McpServerConfig, ...] = ()
    documents: tuple[OpenApiConfig, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of all sources, servers first."""
        return (*(server.name for server in self.servers), *(document.name for document in self.documents))

    def only(self, names: Iterable[str]) -> SourcesConfig:
        """These sources alone."""
        wanted = frozenset(names)
        return replace(
            self,
            servers=tuple(each for each in self.servers if each.name in wanted),
            documents=tuple(each for each in self.documents if each.name in wanted),
        )


def read_sources(*paths: Path | str) -> SourcesConfig:
    """The sources that configuration files name, in their order.

    Raises:
        McpConfigError: a file cannot be read, a server in it cannot be meant, or two sources have one name.
        CatalogFileError: a document in it cannot be meant.
    """
    servers: list[McpServerConfig] = []
    documents: list[OpenApiConfig] = []
    for path in paths:
        data = read_config(path)
        if any(key in data for key in SERVERS_KEYS) or OPENAPI_KEY not in data:
            try:
                servers += read_mcp_config(data)
            except McpConfigError as exc:
                raise McpConfigError(exc.reason, server=exc.server, path=path) from exc.__cause__
        try:
            documents += read_openapi_configs(data, folder=Path(path).parent)
        except CatalogFileError as exc:
            raise CatalogFileError(f"{path}: {exc.path}", exc.reason) from exc.__cause__
    config = SourcesConfig(tuple(servers), tuple(documents))
    for place, name in enumerate(config.names):
        if name in config.names[:place]:
            raise McpConfigError(
                "there are two sources of this name. Rename one.", server=name, path=paths[-1]
            )
    try:
        check_prefixes(config.servers, (document.name for document in config.documents))
    except McpConfigError as exc:
        raise McpConfigError(exc.reason, server=exc.server, path=paths[-1]) from None
    return config


def is_config_file(path: Path | str) -> bool:
    """Whether this file configures tool sources; a folder does not, as reading one starts processes."""
    file = Path(path)
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return False
        text = file.read_text(encoding="utf-8", errors="replace")
        if not any(key in text for key in (*SERVERS_KEYS, OPENAPI_KEY)):
            return False
        documents = list(read_documents(str(path)))
    except (OSError, CatalogFileError):
        # Whoever reads it as a catalog says what is wrong with it.
        return False
    return len(documents) == 1 and is_config(documents[0].value)


def is_config(value: Any) -> bool:
    """Whether a JSON value is a configuration of tool sources."""
    return is_mcp_config(value) or (isinstance(value, dict) and is_openapi_configs(value.get(OPENAPI_KEY)))
