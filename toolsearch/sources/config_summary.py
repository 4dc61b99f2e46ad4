"""Entries of a configuration as people may see them: what a source is, without what looks like a secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolsearch.exceptions import CatalogFileError
from toolsearch.http.secret_shapes import HIDDEN, redacted
from toolsearch.sources.mcp.config import read_mcp_config
from toolsearch.sources.mcp.expansion import variables
from toolsearch.sources.mcp.shown_command import shown_args, shown_command
from toolsearch.sources.openapi.config import OPENAPI_KEY, read_openapi_configs

_SECRET_PLACES = ("env", "headers", "oauth")


@dataclass(frozen=True)
class SourceSummary:
    """A source as a list shows it.

    Attributes:
        name: Of the source.
        kind: ``stdio``, ``http``, ``sse``, ``auto``, ``openapi``, or ``unusable``.
        what: Its command, its address or its document.
        is_enabled: Whether it is used.
    """

    name: str
    kind: str
    what: str
    is_enabled: bool

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def summary(name: str, key: str, entry: Any) -> SourceSummary:
    """What the entry of a source under `key` says; nothing is started or read for it."""
    if not isinstance(entry, dict):
        return SourceSummary(name, "unusable", "", is_enabled=False)
    is_enabled = entry.get("disabled") is not True
    if key == OPENAPI_KEY:
        return SourceSummary(name, "openapi", redacted(str(entry.get("document", ""))), is_enabled)
    try:
        (config,) = read_mcp_config({key: {name: {**entry, "disabled": False}}})
    except ValueError as exc:
        return SourceSummary(name, "unusable", str(exc), is_enabled=False)
    what = shown_command(config.command, config.args) if config.command else redacted(config.url)
    return SourceSummary(name, config.transport, what, is_enabled)


def checked_entry(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry, where it can be meant.

    Raises:
        McpConfigError, CatalogFileError: it cannot.
    """
    if "document" in entry:
        if not name.strip():
            raise CatalogFileError("OpenAPI document", "its name is blank")
        read_openapi_configs({OPENAPI_KEY: {name: dict(entry)}}, folder=Path())
    else:
        read_mcp_config({"mcpServers": {name: dict(entry)}})
    return dict(entry)


def without_secrets(entry: Any) -> Any:
    """The entry with ``[hidden]`` for what looks like a secret; a reference to a variable is none.

    Values of ``env``, ``headers`` and ``oauth`` that refer to no variable are hidden whatever they look like.
    """
    return _shown(entry, is_secret_place=False)


def _shown(value: Any, *, is_secret_place: bool) -> Any:
    if isinstance(value, dict):
        return {
            key: _shown(each, is_secret_place=is_secret_place or key in _SECRET_PLACES)
            for key, each in value.items()
        }
    if isinstance(value, list):
        if not is_secret_place and all(isinstance(each, str) for each in value):
            return list(shown_args(value))
        return [_shown(each, is_secret_place=is_secret_place) for each in value]
    if not isinstance(value, str) or variables(value):
        return value
    return HIDDEN if is_secret_place else redacted(value)
